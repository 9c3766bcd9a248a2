package cpu

import (
	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// queriesAtOnce is how many queries (rows × heads over one head of keys) go
// through attention together: each key and value that is read serves them all.
const queriesAtOnce = 16

// visitPlan is a shape of attention: layers of one shape share the lists that
// are made of a batch.
type visitPlan struct {
	heads  int // query heads over one head of keys
	rows   int // rows of a sequence taken together
	window int
	both   bool
}

func newVisitPlan(o prog.Attend) visitPlan {
	heads := o.Heads / o.KVHeads
	return visitPlan{heads: heads, rows: max(1, queriesAtOnce/heads), window: o.Window, both: o.Both}
}

// visit is a plan's lists for the step that is on.
type visit struct {
	visitPlan
	blocks  []block         // rows taken together
	visible []kern.KeyRange // row → the keys it sees
}

// block is some rows of one sequence.
type block struct{ seq, row0, row1 int32 }

func newVisit(p visitPlan, l backend.Limits) visit {
	return visit{visitPlan: p, blocks: make([]block, 0, l.Rows/p.rows+l.Seqs), visible: make([]kern.KeyRange, 0, l.Rows)}
}

// split is how many parts the heads of one head of keys are cut into, so that each
// still has about queriesAtOnce: the largest divisor of the heads that allows it.
func (v *visit) split() int {
	for parts := max(1, v.heads/queriesAtOnce); ; parts-- {
		if v.heads%parts == 0 {
			return parts
		}
	}
}

func (v *visit) prepare(b *prog.Batch) {
	v.blocks, v.visible = v.blocks[:0], v.visible[:0]
	for s := range b.Seqs() {
		for _, pos := range b.Pos[b.SeqStart[s]:b.SeqStart[s+1]] {
			if v.both {
				v.visible = append(v.visible, kern.Both(pos, int32(v.window), b.CtxLen[s]))
			} else {
				v.visible = append(v.visible, kern.Causal(pos, int32(v.window)))
			}
		}
		for row := b.SeqStart[s]; row < b.SeqStart[s+1]; row += int32(v.rows) {
			v.blocks = append(v.blocks, block{int32(s), row, min(row+int32(v.rows), b.SeqStart[s+1])})
		}
	}
}

// attend is a phase over blocks of rows and heads of keys. Where those are
// fewer than would keep the workers busy, the query heads of one head of keys
// are taken one by one.
func (r *runner) attend(c *compiled, o prog.Attend) phase {
	v := &r.visits[c.visitOf(o)]
	q, out, layer := &r.bufs[o.Q], &r.bufs[o.Out], &r.cache.layers[o.KV]
	dims, sinks := r.prog.KV[o.KV], r.vector(o.Sinks)
	parts := 1 // of a head of keys, in this step
	return phase{
		cost: func() Cost { return r.attendCost(v, o) },
		items: func() int {
			parts = 1
			if len(v.blocks)*o.KVHeads < 4*len(r.pool.workers) {
				parts = v.heads
				if dims.Prefix { // keys are turned round for each part
					parts = v.split()
				}
			}
			return len(v.blocks) * o.KVHeads * parts
		},
		run: func(w *worker, item int) {
			b := v.blocks[item/(o.KVHeads*parts)]
			kvHead := item / parts % o.KVHeads
			heads := v.heads / parts
			head := kvHead*v.heads + item%parts*heads
			args := &w.args
			*args = kern.AttendArgs{
				Q: q.values[int(b.row0)*q.stride+head*dims.KeyDim:], QStride: q.stride,
				Out: out.values[int(b.row0)*out.stride+head*dims.ValueDim:], OutStride: out.stride,
				Rows: int(b.row1 - b.row0), Heads: heads, KDim: dims.KeyDim, VDim: dims.ValueDim,
				Visible: v.visible[b.row0:b.row1], Scale: o.Scale, Cap: o.Cap,
				Type: quant.F32,
				K:    bytesOf(layer.keys[kvHead*dims.KeyDim*kern.GroupTokens:]), KStride: 4 * layer.keyStride,
				V: bytesOf(layer.valuesFrom(kvHead * dims.ValueDim * kern.GroupTokens)), VStride: 4 * layer.valStride,
				Groups: r.groupsOfSeq(int(b.seq)),
			}
			if sinks != nil {
				args.Sinks = sinks[head : head+heads]
			}
			r.kern.Attend(w.attend, args)
		},
	}
}
