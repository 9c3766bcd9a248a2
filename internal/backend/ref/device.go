// Package ref is the backend that defines what every op computes: slow, obvious
// Go, one row and one value at a time. The other backends must give its bits.
//
// Where the order of additions matters it is the order of sixteen virtual
// lanes: value i belongs to lane i mod 16, and lanes are added by num.Tree16.
package ref

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// Options choose the arithmetic.
type Options struct {
	// F32 widens all weights to float32 and leaves activations as they are:
	// the model as its weights say it, free of the rounding of activations.
	// It holds a lowering against other engines; it is no other backend's
	// definition.
	F32 bool
}

// Device is the reference backend. Its methods are safe for concurrent use.
type Device struct{ opts Options }

// New returns the reference backend. Safe for concurrent use.
func New(o Options) *Device { return &Device{opts: o} }

// Name implements backend.Device.
func (d *Device) Name() string { return "ref" }

// Close implements backend.Device; there is nothing to give back.
func (d *Device) Close() error { return nil }

// Load implements backend.Device: weights are copied as they are in the file.
func (d *Device) Load(p *prog.Program, src backend.Source, progress func(done, total int64)) (backend.Model, error) {
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("ref: %w", err)
	}
	m := &model{opts: d.opts, prog: p, weights: make([]weight, len(p.Weights))}
	for i, w := range p.Weights {
		if err := src.Read(w.Tensor, func(t backend.Tensor) error {
			f, rows, err := backend.Rows(w, t)
			if err != nil {
				return err
			}
			m.weights[i] = newWeight(w.Flat(), f, rows, d.opts)
			return nil
		}); err != nil {
			return nil, fmt.Errorf("ref: %w", err)
		}
		if progress != nil {
			progress(int64(i+1), int64(len(p.Weights)))
		}
	}
	return m, nil
}

// weight is a matrix in its file's format, or a vector of float32.
type weight struct {
	format   quant.Format
	rows     int
	cols     int
	rowBytes int
	data     []byte
	vector   []float32
}

func newWeight(w prog.Weight, f quant.Format, rows []byte, o Options) weight {
	if w.Kind == prog.Vector || o.F32 {
		values := make([]float32, w.Rows*w.Cols)
		f.Decode(values, rows)
		if w.Kind == prog.Vector {
			return weight{vector: values}
		}
		f, _ = quant.Lookup(quant.F32)
		rows = make([]byte, 4*len(values))
		f.Encode(rows, values)
	}
	return weight{format: f, rows: w.Rows, cols: w.Cols, rowBytes: len(rows) / w.Rows, data: append([]byte(nil), rows...)}
}

// row is the bytes of output i.
func (w *weight) row(i int) []byte { return w.data[i*w.rowBytes : (i+1)*w.rowBytes] }

type model struct {
	opts    Options
	prog    *prog.Program
	weights []weight
}

// WeightBytes implements backend.Model.
func (m *model) WeightBytes() int64 {
	var n int64
	for _, w := range m.weights {
		n += int64(len(w.data)) + 4*int64(len(w.vector))
	}
	return n
}

// RunnerBytes implements backend.Model.
func (m *model) RunnerBytes(l backend.Limits) (kv, scratch int64) {
	return backend.KVBytes(m.prog, l), m.prog.BufferBytes(l.Rows, l.LogitRows)
}

// NewRunner implements backend.Model.
func (m *model) NewRunner(l backend.Limits) (backend.Runner, error) {
	if err := l.Check(m.prog); err != nil {
		return nil, err
	}
	r := &runner{model: m, limits: l, bufs: make([][]float32, len(m.prog.Bufs))}
	for i, b := range m.prog.Bufs {
		n := l.Rows
		if b.Rows == prog.LogitRows {
			n = l.LogitRows
		}
		r.bufs[i] = make([]float32, n*b.Width)
	}
	slots := l.Pages * l.PageSize
	for _, k := range m.prog.KV {
		r.keys = append(r.keys, make([]float32, slots*k.Heads*k.KeyDim))
		r.values = append(r.values, make([]float32, slots*k.Heads*k.OwnValues()))
	}
	return r, nil
}

// Close implements backend.Model; there is nothing to give back.
func (m *model) Close() error { return nil }
