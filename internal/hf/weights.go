package hf

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/safetensors"
)

// weights is the gguf.Source of a folder: it makes a tensor's bytes when they are
// read, one tensor at a time and caller.
type weights struct {
	set     *safetensors.Set
	config  *config
	tensors map[string]*tensor
	names   []string // sorted
}

// Close implements gguf.Source.
func (w *weights) Close() error { return w.set.Close() }

// ReadTensor implements gguf.Source. What is kept as it is, is viewed in place.
func (w *weights) ReadTensor(name string, fn func(data []byte) error) error {
	t := w.tensors[name]
	if t == nil {
		return fmt.Errorf("hf: no tensor %q", name)
	}
	format, ok := quant.Lookup(t.to)
	if !ok || t.cols()%format.BlockElems != 0 {
		return fmt.Errorf("hf: tensor %q: %d columns can't be %v", name, t.cols(), t.to)
	}
	if t.values != nil {
		return fn(encode(format, t.values))
	}
	if t.viewed() {
		p := t.parts[0]
		defer w.set.Drop(p.name)
		return w.set.Read(p.name, func(_ safetensors.Tensor, data []byte) error { return fn(data) })
	}
	size := product(t.shape) / format.BlockElems * format.BlockBytes
	out := make([]byte, size*len(t.parts))
	for i, p := range t.parts {
		err := w.set.Read(p.name, func(_ safetensors.Tensor, data []byte) error {
			w.convert(out[i*size:(i+1)*size], data, t, p, format)
			return nil
		})
		if err != nil {
			return err
		}
		w.set.Drop(p.name)
	}
	return fn(out)
}

// Made implements gguf.Source: the bytes of the tensor, and where values are made of
// values both in F32.
func (w *weights) Made(name string) uint64 {
	t := w.tensors[name]
	if t == nil || t.viewed() {
		return 0
	}
	format, ok := quant.Lookup(t.to)
	if !ok {
		return 0
	}
	n := product(t.shape)
	size := uint64(n/format.BlockElems*format.BlockBytes) * uint64(max(len(t.parts), 1))
	if t.by != nil && t.by.values != nil {
		size += 4 * uint64(n+product(t.parts[0].shape))
	}
	return size
}

// viewed tells whether a tensor is read in place.
func (t *tensor) viewed() bool {
	return len(t.parts) == 1 && t.by.still() && t.parts[0].scale == nil && types[t.parts[0].typ] == t.to
}

// product is the number of values of a shape.
func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// still tells whether a tensor's bytes are what they were.
func (t *transform) still() bool { return t == nil || t.row == nil && t.values == nil }

// convert writes one part in the format that is asked for.
func (w *weights) convert(out, data []byte, t *tensor, p part, to quant.Format) {
	cols := p.shape[len(p.shape)-1]
	if len(p.shape) == 1 && !t.by.still() {
		cols = 1 // each value is a row
	}
	rows := product(p.shape) / cols
	in := len(data) / rows
	from, _ := quant.Lookup(types[p.typ]) // not for FP8, which no other format is like
	decode := func(dst []float32, r int) {
		line := data[r*in : (r+1)*in]
		if p.scale != nil {
			p.scale.decode(dst, line, r)
			return
		}
		from.Decode(dst, line)
	}
	if t.by != nil && t.by.values != nil {
		src := make([]float32, rows*cols)
		for r := range rows {
			decode(src[r*cols:(r+1)*cols], r)
		}
		dst := make([]float32, len(out)/to.BlockBytes*to.BlockElems)
		t.by.values(w.config, p.shape, dst, src)
		to.Encode(out, dst)
		return
	}
	wide := cols / to.BlockElems * to.BlockBytes
	row := make([]float32, cols)
	for r := range len(out) / wide {
		src, dst := r, out[r*wide:(r+1)*wide]
		if t.by != nil && t.by.row != nil {
			src = t.by.row(w.config, p.shape, r)
		}
		if p.scale == nil && from.Type == to.Type {
			copy(dst, data[src*in:(src+1)*in])
			continue
		}
		decode(row, src)
		to.Encode(dst, row)
	}
}

// encode is values in a format.
func encode(f quant.Format, values []float32) []byte {
	b := make([]byte, len(values)/f.BlockElems*f.BlockBytes)
	f.Encode(b, values)
	return b
}
