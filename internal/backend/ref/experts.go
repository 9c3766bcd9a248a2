package ref

import (
	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/prog"
)

// experts runs each row through its experts, one after another.
func (r *runner) experts(op prog.Experts) {
	hidden := r.prog.Weights[op.Gate].Rows
	gate, up, down := make([]float32, hidden), make([]float32, hidden), make([]float32, r.prog.Bufs[op.Out].Width)
	for row := range r.rows(op.In) {
		in, out := r.row(op.In, row), r.row(op.Out, row)
		weights := r.row(op.Weights, row)
		clear(out)
		for k, id := range r.row(op.Ids, row) {
			r.part(gate, in, op.Gate, op.GateBias, int(id))
			r.part(up, in, op.Up, op.UpBias, int(id))
			join(op, gate, up)
			r.part(down, gate, op.Down, op.DownBias, int(id))
			for i, y := range down {
				out[i] = num.FMA32(y, weights[k], out[i])
			}
		}
	}
}

// part is out = matrix n of a stack · in (+ vector n of a stack).
func (r *runner) part(out, in []float32, w, bias prog.WeightID, n int) {
	weight, b := &r.weights[w], r.vector(bias)
	r.act.Set(weight.format.Act, in)
	for i := range out {
		out[i] = weight.format.Dot(weight.row(n*len(out)+i), &r.act)
		if b != nil {
			out[i] += b[n*len(out)+i]
		}
	}
}

// join is gate = act(gate, up).
func join(op prog.Experts, gate, up []float32) {
	for i, g := range gate {
		switch op.Act {
		case prog.ExpertSiLU:
			gate[i] = float32(num.SiLU32(g) * up[i])
		case prog.ExpertGELU:
			gate[i] = float32(num.GELU32(g) * up[i])
		case prog.ExpertClamped:
			u := min(max(up[i], -op.Limit), op.Limit)
			gate[i] = float32(num.SiLU32(float32(op.Alpha*min(g, op.Limit))) * float32((u+1)*(1/op.Alpha)))
		}
	}
}

// headLinear takes each head through its matrix and copies the rest.
func (r *runner) headLinear(op prog.HeadLinear) {
	w := r.prog.Weights[op.W]
	inHead := r.prog.Bufs[op.In].Width / w.Stack
	outHead := r.prog.Bufs[op.Out].Width / w.Stack
	for row := range r.rows(op.In) {
		for h := range w.Stack {
			in, out := r.row(op.In, row)[h*inHead:(h+1)*inHead], r.row(op.Out, row)[h*outHead:(h+1)*outHead]
			r.part(out[:w.Rows], in[:w.Cols], op.W, prog.NoWeight, h)
			copy(out[w.Rows:], in[w.Cols:])
		}
	}
}
