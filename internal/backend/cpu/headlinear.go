package cpu

import (
	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// headPlan is a buffer whose heads are rounded each on its own, as far as the
// matrices of a HeadLinear reach.
type headPlan struct {
	buf         prog.BufID
	kind        quant.ActKind
	heads, cols int
}

func (c *compiled) headsOf(o prog.HeadLinear) int {
	w := c.model.prog.Weights[o.W]
	p := headPlan{o.In, c.model.weights[o.W].format().Act, w.Stack, w.Cols}
	return place(&c.heads, p, func(a, b headPlan) bool { return a == b })
}

// acts is the memory of a plan: the rows of each head together.
func (c *compiled) headActs(p headPlan, l backend.Limits) *kern.Acts {
	return kern.NewActs(p.kind, p.heads*rowsOf(c.model.prog.Bufs[p.buf].Rows, l), p.cols)
}

func (c *compiled) headBytes(p headPlan, l backend.Limits) int64 {
	return kern.ActBytes(p.kind, p.heads*rowsOf(c.model.prog.Bufs[p.buf].Rows, l), p.cols)
}

// headLinear is two phases: rows are rounded head by head, and what is beyond
// the matrices copied; then the products of all heads.
func (r *runner) headLinear(c *compiled, o prog.HeadLinear) []phase {
	in, out, kind := &r.bufs[o.In], &r.bufs[o.Out], r.prog.Bufs[o.In].Rows
	stack, acts := r.weights[o.W].stack, r.heads[c.headsOf(o)]
	m, heads, most := stack[0], len(stack), rowsOf(kind, r.limits)
	inHead, outHead := in.width/heads, out.width/heads
	views := make([]*kern.Acts, heads)
	for h := range views {
		views[h] = acts.View(h*most, most)
	}
	panels := panelsOfItem(m, rowsAtOnce)
	chunks := (m.Panels() + panels - 1) / panels
	blocks := func() int { return (r.rows(kind) + rowsAtOnce - 1) / rowsAtOnce }
	return []phase{
		r.rowPhase(kind, roundCost*in.width, func(_ *worker, row int) {
			x, y := in.row(row), out.row(row)
			for h := range heads {
				head := x[h*inHead : (h+1)*inHead]
				r.kern.Round(views[h], row, head[:m.Cols])
				copy(y[h*outHead+m.Rows:(h+1)*outHead], head[m.Cols:])
			}
		}),
		{
			cost: func() Cost {
				one := cost(m, r.rows(kind))
				return Cost{one.Bytes * int64(heads), one.Ints * int64(heads), one.Floats * int64(heads)}
			},
			items: func() int { return heads * chunks * blocks() },
			run: func(w *worker, item int) {
				n := blocks()
				h, chunk, row0 := item/(chunks*n), item/n%chunks, item%n*rowsAtOnce
				row1, panel0 := min(row0+rowsAtOnce, r.rows(kind)), chunk*panels
				r.kern.Linear(&w.linear, stack[h], views[h], row0, row1, panel0, min(panel0+panels, m.Panels()), out.values[h*outHead:], out.stride)
			},
		},
	}
}
