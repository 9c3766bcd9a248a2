package cpu

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
)

// plan is a program whose weights have their formats and no memory yet.
type plan struct {
	model *model
	sizes []int64 // by weight
	load  int64
}

// Plan implements backend.Device.
func (d *Device) Plan(p *prog.Program, src backend.Source) (backend.Plan, error) {
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	pl := &plan{model: &model{device: d, prog: p, weights: make([]weight, len(p.Weights))}, sizes: make([]int64, len(p.Weights))}
	var made, panels int64 // the largest tensor that is made to be read; all panels
	for i, w := range p.Weights {
		t, err := src.Info(w.Tensor)
		if err != nil {
			return nil, fmt.Errorf("cpu: %w", err)
		}
		if _, err := backend.FormatOf(w, t); err != nil {
			return nil, fmt.Errorf("cpu: %w", err)
		}
		made = max(made, t.Made)
		if w.Kind == prog.Vector {
			pl.sizes[i] = 4 * int64(w.Flat().Cols)
			continue
		}
		format, ok := kern.Lookup(t.Type)
		if !ok {
			return nil, fmt.Errorf("cpu: %w", noPanels(w, t))
		}
		_, pl.sizes[i] = panelBytes(format, w)
		panels = backend.Sum(panels, pl.sizes[i])
		m := &kern.Matrix{Format: format, Rows: w.Rows, Cols: w.Cols}
		if w.Stack > 0 {
			pl.model.weights[i].stack = []*kern.Matrix{m} // one stands for all: their sizes are alike
		} else {
			pl.model.weights[i].matrix = m
		}
	}
	pl.model.bytes = backend.Sum(pl.sizes...)
	// Each worker has a chunk of the file in memory that is dropped behind it, and
	// of tensors that are made one as a whole, with the one before that the collector
	// has not taken yet.
	pl.load = backend.Sum(min(panels, int64(d.threads)*chunkBytes), backend.Product(2, int64(d.threads), made))
	return pl, nil
}

func (p *plan) WeightBytes() int64                          { return p.model.bytes }
func (p *plan) WeightSize(w prog.WeightID) int64            { return p.sizes[w] }
func (p *plan) LoadBytes() int64                            { return p.load }
func (p *plan) RunnerBytes(l backend.Limits) (int64, int64) { return p.model.RunnerBytes(l) }

// noPanels is a weight in a format that only other backends run.
func noPanels(w prog.Weight, t backend.Tensor) error {
	return &backend.TensorError{Tensor: w.Tensor, Type: t.Type, What: "this backend has no panels for the format"}
}
