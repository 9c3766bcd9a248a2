package cuda

import (
	"fmt"
	"slices"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// plan is a program whose weights have their layouts and no memory yet. It is
// immutable.
type plan struct {
	device  *Device
	prog    *prog.Program
	weights []deviceWeight // at no address
	sizes   []int64        // by weight
}

// newPlan finds the first thing that the device does not run.
func newPlan(d *Device, p *prog.Program, src backend.Source) (*plan, error) {
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	pl := &plan{device: d, prog: p, weights: make([]deviceWeight, len(p.Weights))}
	for i, w := range p.Weights {
		t, err := src.Info(w.Tensor)
		if err != nil {
			return nil, fmt.Errorf("cuda: %w", err)
		}
		if _, err := backend.FormatOf(w, t); err != nil {
			return nil, fmt.Errorf("cuda: %w", err)
		}
		if w.Kind == prog.Matrix {
			if pl.weights[i].matrix, err = newMatrix(w, t.Type); err != nil {
				return nil, fmt.Errorf("tensor %q: %w", w.Tensor, err)
			}
		}
		var r regions
		pl.take(i, &r)
		pl.sizes = append(pl.sizes, r.total)
	}
	// The ops of the smallest runner are those of any, but for their sizes.
	if _, err := pl.measure(backend.Limits{Rows: 1, Seqs: 1, LogitRows: 1, Pages: 1, PageSize: 16, Context: 1}); err != nil {
		return nil, err
	}
	return pl, nil
}

// take gives weight i its place.
func (p *plan) take(i int, r *regions) {
	w := &p.weights[i]
	if w.matrix != nil {
		w.matrix.take(r)
		return
	}
	w.vector = r.take(backend.Product(4, int64(p.prog.Weights[i].Flat().Cols)))
}

// measure lays a runner out at no address.
func (p *plan) measure(l backend.Limits) (*rig, error) {
	r, _, err := p.ops(l)
	return r, err
}

// ops are those of a runner at no address.
func (p *plan) ops(l backend.Limits) (*rig, []op, error) {
	r := newRig(p.prog, l, p.device.facts, p.weights, &regions{}, p.device.opts.Apart)
	ops, err := r.compile()
	return r, ops, err
}

// kernelsOfAny names the kernels that runners use whatever the type of their cache.
func (p *plan) kernelsOfAny() []string {
	var all []string
	first := true
	for _, t := range backend.KVTypes() {
		l := backend.Limits{Rows: 1024, Seqs: 64, LogitRows: 64, Pages: 1, PageSize: 16, Context: 8192, KVType: t}
		_, ops, err := p.ops(l)
		if err != nil { // not a type for this device
			continue
		}
		names := kernelsOf(ops, l, p.device.opts.Unfused)
		if first {
			all, first = names, false
		}
		all = slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(names, name) })
	}
	return all
}

// CheckLimits implements backend.LimitChecker: of the types of the KV cache some are
// not there, and a grid has only so many blocks.
func (p *plan) CheckLimits(l backend.Limits) error {
	_, err := p.checked(l)
	return err
}

// checked lays a runner out at no address, if the device can do its steps.
func (p *plan) checked(l backend.Limits) (*rig, error) {
	r, ops, err := p.ops(l)
	if err != nil {
		return nil, err
	}
	return r, checkLaunches(ops, r.most(), r.card, p.device.opts.Unfused)
}

// WeightBytes implements backend.Sizes.
func (p *plan) WeightBytes() int64 { return backend.Sum(p.sizes...) }

// WeightSize implements backend.Plan.
func (p *plan) WeightSize(w prog.WeightID) int64 { return p.sizes[w] }

// LoadBytes implements backend.Plan: what Load takes beside the weights is memory of
// the host, a few staging buffers: pinned, at most maxLoaders of chunkBytes or of one
// group of rows each.
func (p *plan) LoadBytes() int64 { return 0 }

// RunnerBytes implements backend.Sizes: what is taken of the device. Beside that a
// runner has pinned memory of the host, one Step and LogitRows rows of output, which
// are not counted. Limits that no runner can be made for have the
// size of those parts that do not depend on ops.
func (p *plan) RunnerBytes(l backend.Limits) (kv, scratch int64) {
	r, _ := p.measure(l)
	kv = backend.KVBytes(p.prog, l)
	return kv, backend.Sum(r.regions.total, r.scratchMost) - min(kv, r.regions.total)
}
