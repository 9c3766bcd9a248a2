package cpu

import (
	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/prog"
)

// ropeAppend rotates the heads of a row and puts its keys and values into the
// cache.
func (r *runner) ropeAppend(c *compiled, o prog.RopeAppend) phase {
	q, k := &r.bufs[o.Q], &r.bufs[o.K]
	layer := &r.cache.layers[o.KV]
	qNorm, kNorm := r.vector(o.QNorm), r.vector(o.KNorm)
	table, rotate := c.ropeOf(o.Rope), r.kern.RopePairs
	if o.Rope.Order == prog.Halves {
		rotate = r.kern.RopeHalves
	}
	heads := func(x, norm, cos, sin []float32) {
		for ; len(x) > 0; x = x[o.HeadDim:] {
			head := x[:o.HeadDim]
			if norm != nil {
				part := head[:len(norm)]
				r.kern.RMSNorm(part, part, norm, o.NormEps)
			}
			if table >= 0 {
				rotate(head[o.Rope.From:], cos, sin)
			}
		}
	}
	return r.rowPhase(prog.TokenRows, rotateCost*(q.width+k.width)+storeCost*2*k.width, func(_ *worker, row int) {
		var cos, sin []float32
		if table >= 0 {
			a := &r.ropes[table]
			n := len(a.rope.Freqs)
			cos, sin = a.cos[row*n:(row+1)*n], a.sin[row*n:(row+1)*n]
		}
		heads(q.row(row), qNorm, cos, sin)
		heads(k.row(row), kNorm, cos, sin)
		if o.Temp.Scale != 0 {
			warm(q.row(row), o.Temp, r.batch.Pos[row])
		}
		var values []float32
		if o.V != prog.NoBuf {
			values = r.bufs[o.V].row(row)
		}
		layer.put(r.kern, int(r.batch.Slots[row]), k.row(row), values)
	})
}

// warm multiplies queries by the temperature of their position.
func warm(q []float32, t prog.Temperature, pos int32) {
	f := float32(1 + float64(float64(t.Scale)*num.Log64(float64(1+int(pos)/t.Every))))
	for i := range q {
		q[i] = float32(q[i] * f)
	}
}
