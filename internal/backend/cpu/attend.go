package cpu

import (
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
)

// attend is a phase over blocks of rows, or their spans, and heads of keys, or parts
// of their queries.
func (r *runner) attend(c *compiled, o prog.Attend) phase {
	v := &r.visits[c.visitOf(o)]
	q, out, layer := &r.bufs[o.Q], &r.bufs[o.Out], &r.cache.layers[o.KV]
	dims, sinks := r.prog.KV[o.KV], r.vector(o.Sinks)
	args := func(a *kern.AttendArgs, b block, kvHead, part int) {
		heads := v.heads / v.parts
		head := kvHead*v.heads + part*heads
		*a = kern.AttendArgs{
			Q: q.values[int(b.row0)*q.stride+head*dims.KeyDim:], QStride: q.stride,
			Out: out.values[int(b.row0)*out.stride+head*dims.ValueDim:], OutStride: out.stride,
			Rows: int(b.row1 - b.row0), Heads: heads, KDim: dims.KeyDim, VDim: dims.ValueDim,
			Visible: v.visible[b.row0:b.row1], Scale: o.Scale, Cap: o.Cap,
			Type: layer.format, K: layer.keysFrom(kvHead), KStride: layer.keyStride,
			V: layer.valuesFrom(kvHead), VStride: layer.valueStride,
			Groups: r.groupsOfSeq(int(b.seq)),
		}
		if sinks != nil {
			a.Sinks = sinks[head : head+heads]
		}
	}
	return phase{
		cost: func() Cost { return r.attendCost(v, o) },
		items: func() int {
			v.begin()
			return (len(v.spans) + len(v.whole)) * o.KVHeads * v.parts
		},
		run: func(w *worker, item int) {
			units := o.KVHeads * v.parts // of a block, or a span of it
			at, unit := item/units, item%units
			a, kvHead, part := &w.args, unit/v.parts, unit%v.parts
			if at >= len(v.spans) {
				args(a, v.blocks[v.whole[at-len(v.spans)]], kvHead, part)
				r.kern.Attend(w.attend, a)
				return
			}
			s := v.spans[at]
			args(a, v.blocks[s.block], kvHead, part)
			stride, size := v.partFloats(), v.partFloats()/units
			r.kern.AttendSpan(w.attend, a, int(s.number), r.parts[at*stride+unit*size:][:size])
			if v.left[int(s.split)*units+unit].Add(-1) == 0 { // all of the block's spans are there
				r.kern.JoinSpans(w.attend, a, r.parts[int(s.first)*stride+unit*size:], stride, int(s.n))
			}
		},
	}
}
