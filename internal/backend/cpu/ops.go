package cpu

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/prog"
)

// phases writes the program down as phases over a runner's memory.
func (c *compiled) phases(r *runner) []phase {
	var list []phase
	for i, op := range c.model.prog.Ops {
		if alone := c.alone[i]; len(alone) > 0 {
			buf := c.acts[alone[0]].buf
			p := r.rowPhase(c.model.prog.Bufs[buf].Rows, roundCost*r.bufs[buf].width, func(w *worker, row int) {
				r.round(alone, row)
			})
			p.name = "round"
			list = append(list, p)
		}
		from := len(list)
		if before := r.before(op); before != nil {
			list = append(list, *before)
		}
		list = append(list, r.phasesOf(c, op, c.round[i])...)
		for j := range list[from:] {
			list[from+j].name = nameOf(c.model.prog, op)
		}
	}
	if len(list) > maxPhases {
		panic(fmt.Sprintf("cpu: a program of %d phases, at most %d are possible", len(list), maxPhases))
	}
	return list
}

// phasesOf is one op, mostly in one phase.
func (r *runner) phasesOf(c *compiled, op prog.Op, round []int) []phase {
	switch o := op.(type) {
	case prog.Experts:
		return r.experts(c, o, round)
	case prog.HeadLinear:
		return r.headLinear(c, o)
	}
	return []phase{r.phase(c, op, round)}
}

// phase is one op of one phase. The acts in round are filled from the row that the op wrote.
func (r *runner) phase(c *compiled, op prog.Op, round []int) phase {
	switch o := op.(type) {
	case prog.Embed:
		return r.embed(o, round)
	case prog.Norm:
		return r.norm(o, round)
	case prog.Linear:
		var parts []product
		for _, p := range o.Parts {
			parts = append(parts, r.product(c, o.In, p.W, p.Bias, p.Out))
		}
		return r.linear(r.prog.Bufs[o.In].Rows, parts)
	case prog.Head:
		p := r.product(c, o.In, o.W, o.Bias, prog.NoBuf)
		p.scale, p.cap = o.Scale, o.Cap
		return r.linear(prog.LogitRows, []product{p})
	case prog.RopeAppend:
		return r.ropeAppend(c, o)
	case prog.Attend:
		return r.attend(c, o)
	case prog.GateMul:
		return r.gateMul(o, round)
	case prog.Activate:
		return r.activate(o, round)
	case prog.AddTo:
		dst, src := &r.bufs[o.Dst], &r.bufs[o.Src]
		return r.rowPhase(r.prog.Bufs[o.Dst].Rows, addCost*dst.width, func(_ *worker, row int) {
			r.kern.AddScaled(dst.row(row), src.row(row), o.Scale)
			r.round(round, row)
		})
	case prog.ShortConv:
		return r.shortConv(o, round)
	case prog.Pool:
		return r.poolRows(o, round)
	case prog.Output:
		in := &r.bufs[o.In]
		return r.rowPhase(prog.LogitRows, addCost*in.width, func(_ *worker, row int) {
			copy(r.logits[row*in.width:(row+1)*in.width], in.row(row))
		})
	case prog.Route:
		return r.route(o)
	case prog.RowScale:
		return r.rowScale(o, round)
	case prog.TakeRows:
		out, in := &r.bufs[o.Out], &r.bufs[o.In]
		return r.rowPhase(prog.LogitRows, addCost*out.width, func(_ *worker, row int) {
			copy(out.row(row), in.row(int(r.batch.Logits[row])))
			r.round(round, row)
		})
	}
	panic("cpu: op " + op.Kind() + " is unknown to this backend")
}

// What an op costs a value, in sixteenths of a nanosecond on a machine with
// wide vectors: only to decide how much a worker takes at once.
const (
	addCost    = 2
	roundCost  = 4
	normCost   = 6 // with the rounding after it
	gateCost   = 12
	embedCost  = 16
	angleCost  = 400 // a sine and a cosine
	rotateCost = 12
	storeCost  = 16 // a key's lane is a line of its own

	itemCost = 16 * 4000 // of an item, at least: taking one costs some hundred ns
)

// rowPhase is a phase of rows that cost about cost each, several to an item
// where they are cheap.
func (r *runner) rowPhase(rows prog.RowKind, cost int, do func(w *worker, row int)) phase {
	block := max(1, itemCost/max(cost, 1))
	return phase{
		items: func() int { return (r.rows(rows) + block - 1) / block },
		grain: func() int { return 1 },
		run: func(w *worker, item int) {
			for row := item * block; row < min((item+1)*block, r.rows(rows)); row++ {
				do(w, row)
			}
		},
	}
}

// round fills row of each of the acts from its buffer.
func (r *runner) round(acts []int, row int) {
	for _, id := range acts {
		r.kern.Round(r.acts[id], row, r.rounded[id].row(row))
	}
}

func (r *runner) vector(id prog.WeightID) []float32 {
	if id == prog.NoWeight {
		return nil
	}
	return r.weights[id].vector
}

// embed widens the row of each token, and makes the angles of its position,
// which all layers share.
func (r *runner) embed(o prog.Embed, round []int) phase {
	out, m := &r.bufs[o.Out], r.weights[o.W].matrix
	cost, kind := embedCost*out.width, r.vector(o.Type)
	for i := range r.ropes {
		cost += angleCost * len(r.ropes[i].rope.Freqs)
	}
	return r.rowPhase(prog.TokenRows, cost, func(w *worker, row int) {
		values := out.row(row)
		m.Row(w.row, int(r.batch.Tokens[row]))
		copy(values, w.row)
		if o.Scale != 1 {
			for i := range values {
				values[i] = float32(values[i] * o.Scale)
			}
		}
		if o.Pos != prog.NoWeight {
			r.weights[o.Pos].matrix.Row(w.row, int(r.batch.Pos[row]))
			r.kern.Add(values, w.row[:len(values)])
		}
		if kind != nil {
			r.kern.Add(values, kind)
		}
		for i := range r.ropes {
			r.ropes[i].set(row, r.batch.Pos[row])
		}
		r.round(round, row)
	})
}

func (r *runner) norm(o prog.Norm, round []int) phase {
	in, out := &r.bufs[o.In], &r.bufs[o.Out]
	w, bias := r.vector(o.W), r.vector(o.Bias)
	return r.rowPhase(r.prog.Bufs[o.In].Rows, normCost*in.width, func(_ *worker, row int) {
		x, y := in.row(row), out.row(row)
		if o.Add != prog.NoBuf {
			r.kern.Add(x, r.bufs[o.Add].row(row))
		}
		if o.Norm == prog.LayerNorm {
			r.kern.LayerNorm(y, x, w, bias, o.Eps)
		} else {
			r.kern.RMSNorm(y, x, w, o.Eps)
			if bias != nil {
				r.kern.Add(y, bias)
			}
		}
		r.round(round, row)
	})
}

// gate is act(gate) × up.
func (r *runner) gate(a prog.Act) func(dst, gate, up []float32) {
	switch a {
	case prog.GELU:
		return r.kern.GELUMul
	case prog.Tanh:
		return tanhMul
	}
	return r.kern.SiLUMul
}

// activate is a gate over ones, whose product is exact.
func (r *runner) activate(o prog.Activate, round []int) phase {
	in, out, act := &r.bufs[o.In], &r.bufs[o.Out], r.gate(o.Act)
	ones := make([]float32, out.width)
	for i := range ones {
		ones[i] = 1
	}
	return r.rowPhase(r.prog.Bufs[o.Out].Rows, gateCost*out.width, func(_ *worker, row int) {
		act(out.row(row), in.row(row), ones)
		r.round(round, row)
	})
}

func (r *runner) gateMul(o prog.GateMul, round []int) phase {
	gate, up, out := &r.bufs[o.Gate], &r.bufs[o.Up], &r.bufs[o.Out]
	mul := r.gate(o.Act)
	return r.rowPhase(r.prog.Bufs[o.Out].Rows, gateCost*out.width, func(_ *worker, row int) {
		mul(out.row(row), gate.row(row), up.row(row))
		r.round(round, row)
	})
}

// angles are the cosines and sines of a rotary table for the rows of a step.
type angles struct {
	rope     prog.Rope
	cos, sin []float32 // [row][pair]
}

func (a *angles) set(row int, pos int32) {
	n := len(a.rope.Freqs)
	cos, sin := a.cos[row*n:(row+1)*n], a.sin[row*n:(row+1)*n]
	for i, f := range a.rope.Freqs {
		s, c := num.SinCos64(float64(float64(pos) * float64(f)))
		cos[i], sin[i] = float32(float32(c)*a.rope.Mag), float32(float32(s)*a.rope.Mag)
	}
}
