package kern

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/race"
)

// Where there are fewer heads of keys than workers, the spans of a long sequence are
// attended to apart, by whoever is free, and joined when all are there, in the order
// that Attend joins them in: the bits are Attend's. What is kept of a span until then
// is a part:
//
//	┌─────────────┬─────────────┬────────────────────────────┐
//	│ m [queries] │ l [queries] │ acc [queries][VDim]        │
//	└─────────────┴─────────────┴────────────────────────────┘

// PartFloats is the length of a part of so many queries (rows × heads) with values of
// vdim. Safe for concurrent use.
func PartFloats(queries, vdim int) int { return queries * (2 + vdim) }

// Spans is the first span that holds a key that one of the rows sees, and how many
// there are up to the last: span i holds the positions from SpanKeys × i on. Safe for
// concurrent use.
func Spans(visible []KeyRange) (first, n int) {
	lo, hi := bounds(visible)
	if lo >= hi {
		return 0, 0
	}
	first = lo / SpanKeys
	return first, (hi-1)/SpanKeys + 1 - first
}

// AttendSpan is Attend for the keys of one span, and leaves what comes of it in part,
// of PartFloats: outputs are not written. Safe for concurrent use with distinct
// scratch and parts.
func (k *Kernels) AttendSpan(sc *AttendScratch, a *AttendArgs, span int, part []float32) {
	a.check(sc)
	lo, hi := a.bounds()
	from, to := max(lo, span*SpanKeys), min(hi, (span+1)*SpanKeys)
	if from >= to {
		panic(fmt.Sprintf("kern: no key of span %d is seen, those from %d to %d are", span, lo, hi-1))
	}
	if race.Enabled {
		a.watch(from, to)
	}
	k.attendSpan(sc, a, span*SpanKeys)
	nq := a.Rows * a.Heads
	part = part[:PartFloats(nq, a.VDim)]
	copy(part, sc.span.m[:nq])
	copy(part[nq:], sc.span.l[:nq])
	copy(part[2*nq:], sc.span.acc[:nq*a.VDim])
}

// JoinSpans joins the parts of all n spans that the rows see, in order, each stride
// floats behind the one before it, and writes the outputs. Safe for concurrent use
// with distinct scratch and outputs.
func (k *Kernels) JoinSpans(sc *AttendScratch, a *AttendArgs, parts []float32, stride, n int) {
	nq := a.Rows * a.Heads
	clear(sc.all.l[:nq])
	for i := range n {
		part := parts[i*stride:][:PartFloats(nq, a.VDim)]
		copy(sc.span.m, part[:nq])
		copy(sc.span.l, part[nq:2*nq])
		copy(sc.span.acc, part[2*nq:])
		for q := range nq {
			k.join(sc, q, a.VDim)
		}
	}
	k.finish(sc, a)
}
