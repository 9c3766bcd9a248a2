package hf

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/safetensors"
)

// factorsName is the tensor that a config's rope_scaling becomes.
const factorsName = "rope_freqs.weight"

// weights is the gguf.Source of a folder: it makes a tensor's bytes when they are
// read, one tensor at a time and caller.
type weights struct {
	set     *safetensors.Set
	tensors map[string]*tensor
	names   []string  // sorted
	factors []float32 // nil: none
}

// Close implements gguf.Source.
func (w *weights) Close() error { return w.set.Close() }

// ReadTensor implements gguf.Source. What is kept as it is, is viewed in place.
func (w *weights) ReadTensor(name string, fn func(data []byte) error) error {
	if name == factorsName && w.factors != nil {
		return fn(encode(quant.F32, w.factors))
	}
	t := w.tensors[name]
	if t == nil {
		return fmt.Errorf("hf: no tensor %q", name)
	}
	if p := t.parts[0]; len(t.parts) == 1 && t.heads == 0 && p.scale == nil && types[p.typ] == t.to {
		defer w.set.Drop(p.name)
		return w.set.Read(p.name, func(_ safetensors.Tensor, data []byte) error { return fn(data) })
	}
	format, ok := quant.Lookup(t.to)
	if !ok || t.cols%format.BlockElems != 0 {
		return fmt.Errorf("hf: tensor %q: %d columns can't be %v", name, t.cols, t.to)
	}
	size := t.rows * (t.cols / format.BlockElems * format.BlockBytes)
	out := make([]byte, size*len(t.parts))
	for i, p := range t.parts {
		err := w.set.Read(p.name, func(_ safetensors.Tensor, data []byte) error {
			t.convert(out[i*size:(i+1)*size], data, p, format)
			return nil
		})
		if err != nil {
			return err
		}
		w.set.Drop(p.name)
	}
	return fn(out)
}

// convert writes the rows of one part, each to its place, in the format that is asked
// for.
func (t *tensor) convert(out, data []byte, p part, to quant.Format) {
	row := make([]float32, t.cols)
	from, _ := quant.Lookup(types[p.typ]) // not for FP8, which no other format is like
	in, wide := len(data)/t.rows, len(out)/t.rows
	for r := range t.rows {
		src := r
		if !t.vector {
			src = t.source(r)
		}
		line, dst := data[src*in:(src+1)*in], out[r*wide:(r+1)*wide]
		switch {
		case p.scale != nil:
			p.scale.decode(row, line, src)
		case from.Type == to.Type && !t.vector:
			copy(dst, line)
			continue
		default:
			from.Decode(row, line)
		}
		if t.vector && t.heads > 0 {
			turned := make([]float32, len(row))
			for i := range turned {
				turned[i] = row[t.source(i)]
			}
			row = turned
		}
		to.Encode(dst, row)
	}
}

// source is the row there that is row r here. A head's pair that rotates together is
// there (i, i+½), as here (2i, 2i+1):
//
//	there  a b c d A B C D      here  a A b B c C d D
func (t *tensor) source(r int) int {
	if t.heads == 0 {
		return r
	}
	wide := t.length() / t.heads
	head, i := r/wide, r%wide
	return head*wide + i%2*(wide/2) + i/2
}

// encode is values in a format of blocks of one.
func encode(to quant.Type, values []float32) []byte {
	f, _ := quant.Lookup(to)
	b := make([]byte, len(values)*f.BlockBytes)
	f.Encode(b, values)
	return b
}
