package cpu

import (
	"sync/atomic"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
)

const (
	// queriesAtOnce is how many queries (rows × heads over one head of keys) go
	// through attention together: each key and value that is read serves them all.
	queriesAtOnce = 16
	// itemsAWorker is how many items attention is cut into for each worker, so that
	// none waits long for the last one.
	itemsAWorker = 4
	// maxPartBytes bounds the memory for spans that are attended to apart.
	maxPartBytes = 64 << 20
)

// visitPlan is a shape of attention: layers of one shape share the lists that
// are made of a batch.
type visitPlan struct {
	kvHeads  int
	heads    int // query heads over one head of keys
	rows     int // rows of a sequence taken together
	valueDim int
	inKeys   bool // values are in the keys
	window   int
	both     bool
}

func newVisitPlan(o prog.Attend, l prog.KVLayer) visitPlan {
	heads := o.Heads / o.KVHeads
	return visitPlan{kvHeads: o.KVHeads, heads: heads, rows: max(1, queriesAtOnce/heads), valueDim: l.ValueDim, inKeys: l.Prefix, window: o.Window, both: o.Both}
}

// partFloats is what the spans of one block take for each span, all heads.
func (v visitPlan) partFloats() int { return v.kvHeads * kern.PartFloats(v.rows*v.heads, v.valueDim) }

// maxSpans is the most spans that can be attended to apart in a step: the longest
// context's for each block that may be so long, within maxPartBytes.
func (v visitPlan) maxSpans(l backend.Limits, workers int) int {
	if workers == 1 {
		return 0
	}
	keys := l.Context
	if v.window > 0 {
		keys = min(keys, v.window+v.rows)
	}
	one := (keys-2)/kern.SpanKeys + 2 // they may begin anywhere in a span
	if one = min(one, (l.Context-1)/kern.SpanKeys+1); one < 2 {
		return 0
	}
	blocks := min((itemsAWorker*workers-1)/v.kvHeads+1, l.Rows/v.rows+l.Seqs)
	return min(blocks*one, maxPartBytes/(4*v.partFloats()))
}

// visit is a plan's lists for the step that is on.
//
// Blocks that see more spans of keys than would keep the workers evenly busy are
// attended to span by span: an item for each, first in order. Who finishes the last
// span of a block's head joins them. The other blocks are an item a head. Where items
// are still too few, the query heads of a head of keys are cut into parts, each of
// which reads the keys again.
type visit struct {
	visitPlan
	workers int
	blocks  []block         // rows taken together
	visible []kern.KeyRange // row → the keys it sees
	spans   []span          // attended to apart
	whole   []int32         // the other blocks
	parts   int             // of the heads over one head of keys
	splits  int             // blocks in spans
	left    []atomic.Int32  // [split][head of keys][part] → spans to be done yet
}

// block is some rows of one sequence.
type block struct{ seq, row0, row1 int32 }

// span is one span of a block.
type span struct {
	block, split int32
	number       int32 // of the span
	first, n     int32 // the block's spans: the place of the first in visit.spans, and how many
}

func newVisit(p visitPlan, l backend.Limits, workers int) visit {
	blocks, spans := l.Rows/p.rows+l.Seqs, p.maxSpans(l, workers)
	return visit{
		visitPlan: p, workers: workers, blocks: make([]block, 0, blocks), visible: make([]kern.KeyRange, 0, l.Rows),
		spans: make([]span, 0, spans), whole: make([]int32, 0, blocks), left: make([]atomic.Int32, spans/2*p.kvHeads*p.heads),
	}
}

// bytes is the memory of a visit's lists, and how many floats its spans' parts take.
func (v visitPlan) bytes(l backend.Limits, workers int) (lists int64, floats int) {
	blocks, spans := int64(l.Rows/v.rows+l.Seqs), v.maxSpans(l, workers)
	lists = 16*blocks + 8*int64(l.Rows) + 20*int64(spans) + 4*int64(spans/2*v.kvHeads*v.heads)
	return lists, spans * v.partFloats()
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
	v.cut()
}

// cut decides which blocks are attended to in spans, and in how many parts heads are.
func (v *visit) cut() {
	v.spans, v.whole, v.splits = v.spans[:0], v.whole[:0], 0
	grain := 1 << 30
	if cap(v.spans) > 0 {
		all := 0
		for _, b := range v.blocks {
			_, n := kern.Spans(v.visible[b.row0:b.row1])
			all += n
		}
		grain = max(1, all*v.kvHeads/(itemsAWorker*v.workers))
	}
	for i, b := range v.blocks {
		first, n := 0, 1
		if grain < 1<<30 {
			first, n = kern.Spans(v.visible[b.row0:b.row1])
		}
		if n <= grain || len(v.spans)+n > cap(v.spans) {
			v.whole = append(v.whole, int32(i))
			continue
		}
		at := len(v.spans)
		for s := range n {
			v.spans = append(v.spans, span{int32(i), int32(v.splits), int32(first + s), int32(at), int32(n)})
		}
		v.splits++
	}
	v.parts = v.partsOf((len(v.spans) + len(v.whole)) * v.kvHeads)
}

// partsOf is the number of parts of a head of keys with which so many of those take
// the busiest worker the least time. Reading the keys takes about as long as one query
// head's sums over them; turning round those that values lie in, as many heads'.
func (v *visit) partsOf(items int) int {
	read := 1
	if v.inKeys {
		read = queriesAtOnce
	}
	best, least := 1, 0
	for parts := 1; parts <= v.heads && (parts == 1 || items < itemsAWorker*v.workers); parts++ {
		if v.heads%parts != 0 {
			continue
		}
		rounds := (items*parts-1)/v.workers + 1
		if cost := rounds * (read + v.heads/parts); parts == 1 || cost < least {
			best, least = parts, cost
		}
	}
	return best
}

// begin counts the spans of a phase over the visit.
func (v *visit) begin() {
	for i := 0; i < len(v.spans); i += int(v.spans[i].n) {
		s := v.spans[i]
		units := v.left[int(s.split)*v.kvHeads*v.parts:][:v.kvHeads*v.parts]
		for u := range units {
			units[u].Store(s.n)
		}
	}
}
