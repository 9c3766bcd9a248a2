package ref

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// plan is a program whose weights are not read yet.
type plan struct {
	model *model
	sizes []int64 // by weight
	load  int64
}

// Plan implements backend.Device.
func (d *Device) Plan(p *prog.Program, src backend.Source) (backend.Plan, error) {
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("ref: %w", err)
	}
	pl := &plan{model: &model{opts: d.opts, prog: p}, sizes: make([]int64, len(p.Weights))}
	for i, w := range p.Weights {
		t, err := src.Info(w.Tensor)
		if err != nil {
			return nil, fmt.Errorf("ref: %w", err)
		}
		f, err := backend.FormatOf(w, t)
		if err != nil {
			return nil, fmt.Errorf("ref: %w", err)
		}
		pl.load = max(pl.load, backend.Product(2, t.Made)) // with the one before, which the collector has not taken yet
		flat := w.Flat()
		if w.Kind == prog.Vector || d.opts.F32 {
			f, _ = quant.Lookup(quant.F32)
		}
		pl.sizes[i] = backend.Product(int64(flat.Rows), int64(flat.Cols/f.BlockElems), int64(f.BlockBytes))
	}
	return pl, nil
}

func (p *plan) WeightBytes() int64                          { return backend.Sum(p.sizes...) }
func (p *plan) WeightSize(w prog.WeightID) int64            { return p.sizes[w] }
func (p *plan) LoadBytes() int64                            { return p.load }
func (p *plan) RunnerBytes(l backend.Limits) (int64, int64) { return p.model.RunnerBytes(l) }
