package kern

import (
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/race"
)

// SpanKeys is the number of absolute positions of one attention span.
const SpanKeys = 512

// GroupTokens is the number of tokens of a KV group.
const GroupTokens = 16

// KeyRange is the visible keys of a query: positions From ≤ key < To.
type KeyRange struct{ From, To int32 }

// Causal is what a query at position pos sees: itself and all before it, or
// with window > 0 the last window positions up to it.
func Causal(pos, window int32) KeyRange {
	r := KeyRange{From: 0, To: pos + 1}
	if window > 0 && r.To > window {
		r.From = r.To - window
	}
	return r
}

// Both is what a query at position pos of a whole sequence of n tokens sees: all
// of it, or with window > 0 window/2 positions to either side.
func Both(pos, window, n int32) KeyRange {
	if window <= 0 {
		return KeyRange{To: n}
	}
	return KeyRange{From: max(0, pos-window/2), To: min(n, pos+window/2+1)}
}

// Around is what a query at position pos of a sequence of ctx tokens sees that
// looks both ways: all of it, or with window > 0 what is at most window ÷ 2 away.
func Around(pos, ctx, window int32) KeyRange {
	if window <= 0 {
		return KeyRange{From: 0, To: ctx}
	}
	half := window / 2
	return KeyRange{From: max(0, pos-half), To: int32(min(int64(ctx), int64(pos)+int64(half)+1))}
}

// AttendArgs is the work of one kv head for a block of rows of one sequence:
// Rows × Heads queries, all over the same keys.
//
// The cache lies in groups of 16 tokens, of KeyBytes and ValueBytes for this
// head, laid out as StoreKey and StoreValue write them. Group i of the sequence
// (positions 16i … 16i+15) has its K at Groups[i] × KStride in K and its V at
// Groups[i] × VStride in V: the caller cuts K and V so that they begin at this
// head's part of the first group.
// Positions that no query sees may hold anything, NaN included.
type AttendArgs struct {
	Q       []float32 // row r, head h: at r × QStride + h × KDim
	QStride int
	Out     []float32 // row r, head h: at r × OutStride + h × VDim
	OutStride,
	Rows, Heads,
	KDim, VDim int
	Visible []KeyRange // one a row
	Scale   float32
	Cap     float32   // of scores: num.Softcap32; 0: none
	Sinks   []float32 // one a head: a score whose weight counts in the sum alone; nil: none

	Type             quant.Type // of K and V: one of quant.KVTypes
	K, V             []byte     // V nil: values are the first VDim dimensions of the keys
	KStride, VStride int        // bytes from one group to the next
	Groups           []int32
}

// AttendScratch is a worker's memory for attention. One goroutine uses it at a
// time.
type AttendScratch struct {
	queries, vdim int
	p             []float32 // [queries][512] scores, then weights
	all, span     partial
	keys          inKeys
	tile          keyTile
	calls         attendCalls
}

// partial is attention over some keys for each query, not yet divided: the
// largest score, the sum of the weights, the weighted values. l is 0 where no
// key was visible.
type partial struct {
	m, l []float32
	acc  []float32 // [queries][VDim]
}

// NewAttendScratch makes scratch for calls of at most queries (rows × heads)
// queries with values of at most vdim.
func NewAttendScratch(queries, vdim int) *AttendScratch {
	part := func() partial {
		return partial{make([]float32, queries), make([]float32, queries), make([]float32, queries*vdim)}
	}
	return &AttendScratch{queries: queries, vdim: vdim, p: make([]float32, queries*SpanKeys), all: part(), span: part()}
}

// AttendScratchBytes is the memory that NewAttendScratch takes.
func AttendScratchBytes(queries, vdim int) int64 {
	return 4 * int64(queries) * int64(SpanKeys+2*(2+vdim))
}

// Attend computes softmax(scale × q·k) · v for every query of a, where k and v
// are what the cache holds, widened exactly: a type only changes their values.
//
// The keys are taken in spans of 512 absolute positions, each on its own:
//
//	s = scale × Σ q[d]·k[d]     d in order, fused, from +0; then one product
//	s = num.Softcap32(s, cap)   with a cap
//	m = max s,  p = Exp32(s − m)  over visible keys only
//	l = Σ p                     key j in lane j mod 16, in order, then num.Tree16
//	acc = Σ p·v                 keys in order, fused, from +0
//
// Spans that hold a visible key are joined from left to right, the first as it
// is; (m, l, acc) with (m2, l2, acc2), where M is the larger of m and m2:
//
//	a = Exp32(m − M),  b = Exp32(m2 − M)
//	l = FMA32(l2, b, l × a),  acc = FMA32(acc2, b, acc × a)
//
// A sink is joined last, as a span with its score, l2 = 1 and acc2 = 0. The result
// is acc × (1 ÷ l). A query that sees nothing gets zeros. Safe for
// concurrent use with distinct scratch and outputs.
func (k *Kernels) Attend(sc *AttendScratch, a *AttendArgs) {
	a.check(sc)
	lo, hi := a.bounds()
	if race.Enabled {
		a.watch(lo, hi)
	}
	nq := a.Rows * a.Heads
	clear(sc.all.l[:nq])
	for s := lo / SpanKeys * SpanKeys; s < hi; s += SpanKeys {
		k.attendSpan(sc, a, s)
		for q := range nq {
			k.join(sc, q, a.VDim)
		}
	}
	k.finish(sc, a)
}

// finish writes the outputs of what is joined.
func (k *Kernels) finish(sc *AttendScratch, a *AttendArgs) {
	for q := range a.Rows * a.Heads {
		out := a.Out[q/a.Heads*a.OutStride+q%a.Heads*a.VDim:][:a.VDim]
		if sc.all.l[q] == 0 {
			clear(out)
			continue
		}
		if a.Sinks != nil {
			k.sink(sc, q, a.VDim, a.Sinks[q%a.Heads])
		}
		inv := 1 / sc.all.l[q]
		for i, v := range sc.all.acc[q*a.VDim : (q+1)*a.VDim] {
			out[i] = v * inv
		}
	}
}

// check panics where the arguments do not fit together.
func (a *AttendArgs) check(sc *AttendScratch) {
	if a.Sinks != nil && len(a.Sinks) < a.Heads {
		panic(fmt.Sprintf("kern: attention of %d heads with %d sinks", a.Heads, len(a.Sinks)))
	}
	if nq := a.Rows * a.Heads; nq > sc.queries || a.VDim > sc.vdim || len(a.Visible) < a.Rows {
		panic(fmt.Sprintf("kern: attention of %d × %d queries with values of %d and %d ranges; scratch is for %d with values of %d", a.Rows, a.Heads, a.VDim, len(a.Visible), sc.queries, sc.vdim))
	}
	if !quant.IsKV(a.Type) {
		panic(fmt.Sprintf("kern: attention over a cache of %v", a.Type))
	}
	if a.V == nil {
		a.checkInKeys(sc)
	}
	_, hi := a.bounds()
	if need := (hi + GroupTokens - 1) / GroupTokens; need > len(a.Groups) {
		panic(fmt.Sprintf("kern: attention up to position %d over %d groups of 16", hi, len(a.Groups)))
	}
}

// watch tells the race detector what attention to the keys from lo to hi reads of the
// cache and the queries; outputs are written where the detector sees it.
func (a *AttendArgs) watch(lo, hi int) {
	for r := range a.Rows {
		race.ReadSlice(a.Q[r*a.QStride:][:a.Heads*a.KDim])
	}
	for key := lo; key < hi; key++ {
		g := int(a.Groups[key/GroupTokens])
		if a.V != nil {
			watchValue(a.V[g*a.VStride:], a.Type, key%GroupTokens, a.VDim)
		}
		watchKey(a.K[g*a.KStride:], a.Type, key%GroupTokens, a.KDim)
	}
}

// bounds is the range of keys that any query sees.
func (a *AttendArgs) bounds() (lo, hi int) { return bounds(a.Visible[:a.Rows]) }

func bounds(visible []KeyRange) (lo, hi int) {
	lo = math.MaxInt
	for _, r := range visible {
		if r.From < r.To {
			lo, hi = min(lo, int(r.From)), max(hi, int(r.To))
		}
	}
	return min(lo, hi), hi
}

// unseen leaves keys out of what follows, whatever their scores.
func unseen(s []float32) {
	for i := range s {
		s[i] = float32(math.Inf(-1))
	}
}

// inSpan is the visible positions of row r that lie in the span at s.
func (a *AttendArgs) inSpan(r, s int) (from, to int) {
	v := a.Visible[r]
	return max(int(v.From), s), min(int(v.To), s+SpanKeys)
}

// join adds query q's span to what the spans before it gave.
func (k *Kernels) join(sc *AttendScratch, q, vdim int) {
	all, span := &sc.all, &sc.span
	acc, acc2 := all.acc[q*vdim:(q+1)*vdim], span.acc[q*vdim:(q+1)*vdim]
	switch {
	case span.l[q] == 0:
	case all.l[q] == 0:
		all.m[q], all.l[q] = span.m[q], span.l[q]
		copy(acc, acc2)
	default:
		top := all.m[q]
		if span.m[q] > top {
			top = span.m[q]
		}
		x, y := num.Exp32(all.m[q]-top), num.Exp32(span.m[q]-top)
		all.m[q] = top
		all.l[q] = num.FMA32(span.l[q], y, float32(all.l[q]*x))
		k.attend.merge(acc, acc2, x, y)
	}
}

// sink joins a score without a value to query q.
func (k *Kernels) sink(sc *AttendScratch, q, vdim int, score float32) {
	sc.span.m[q], sc.span.l[q] = score, 1
	clear(sc.span.acc[q*vdim : (q+1)*vdim])
	k.join(sc, q, vdim)
}
