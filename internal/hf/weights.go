package hf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/safetensors"
)

// weights is the gguf.Source of a folder: it makes a tensor's bytes when they are
// read, one tensor at a time and caller.
type weights struct {
	sets    []*safetensors.Set // the model's, then those of what is behind its pooling
	config  *config
	tensors map[string]*tensor
	names   []string // sorted
}

// Close implements gguf.Source.
func (w *weights) Close() error {
	var errs []error
	for _, s := range w.sets {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

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
		defer p.drop()
		return p.set.Read(p.name, func(_ safetensors.Tensor, data []byte) error { return fn(data) })
	}
	size := product(t.shape) / format.BlockElems * format.BlockBytes
	out := make([]byte, size*len(t.parts))
	for i, p := range t.parts {
		err := p.read(func(data []byte) error { return w.convert(out[i*size:(i+1)*size], data, t, p, format) })
		if err != nil {
			return fmt.Errorf("hf: tensor %q: %w", name, err)
		}
		p.drop()
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
	if len(t.parts) > 0 && t.parts[0].scales != "" { // put together first
		size += uint64(product(t.parts[0].shape) / 32 * (blockBytes + 1))
	}
	if t.by != nil && t.by.values != nil {
		size += 4 * uint64(n+product(t.parts[0].shape))
	}
	return size
}

// viewed tells whether a tensor is read in place.
func (t *tensor) viewed() bool {
	return len(t.parts) == 1 && t.by.still() && t.parts[0].scale == nil && t.parts[0].scales == "" && types[t.parts[0].typ] == t.to
}

// read calls fn with a part's bytes; of blocks and scales, with both put together.
func (p part) read(fn func(data []byte) error) error {
	var scales []byte
	if p.scales != "" { // copied: reads are not nested
		if err := p.set.Read(p.scales, func(_ safetensors.Tensor, data []byte) error {
			scales = slices.Clone(data)
			return nil
		}); err != nil {
			return err
		}
	}
	return p.set.Read(p.name, func(_ safetensors.Tensor, data []byte) error {
		if p.scales != "" {
			data = joinMXFP4(data, scales)
		}
		return fn(data)
	})
}

// drop lets go of a part's memory.
func (p part) drop() {
	p.set.Drop(p.name)
	if p.scales != "" {
		p.set.Drop(p.scales)
	}
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
func (w *weights) convert(out, data []byte, t *tensor, p part, to quant.Format) error {
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
		return put(out, to, dst)
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
		if err := put(dst, to, row); err != nil {
			return err
		}
	}
	return nil
}

// maxQ8_0 is the largest value of a block whose scale, 1/127 of it, is still a half.
const maxQ8_0 = 127 * 65504

// put encodes values. In a format of blocks one that is no number, or too large for the
// scale, would make others none, so it is refused there; single ones are what they are.
func put(dst []byte, to quant.Format, values []float32) error {
	if to.BlockElems > 1 {
		for _, v := range values {
			if !(v >= -maxQ8_0 && v <= maxQ8_0) {
				return fmt.Errorf("a value is %v, which %v has not: keep the weights as they are", v, to.Type)
			}
		}
	}
	to.Encode(dst, values)
	return nil
}

// encode is values in a format.
func encode(f quant.Format, values []float32) []byte {
	b := make([]byte, len(values)/f.BlockElems*f.BlockBytes)
	f.Encode(b, values)
	return b
}
