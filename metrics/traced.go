package metrics

import (
	"math"

	dto "github.com/prometheus/client_model/go"
)

// traced gives the ledger of a model of r its exemplars and, where they are on, its native histograms.
func (l *ledger) traced(r *Recorder) {
	l.exemplars = newExemplars(l.layout, r.wall)
	if r.opts.NativeHistograms {
		l.native = newNative()
	}
}

// observeTraced is observe1 for the histograms that have exemplars: the newest traced observation of a bucket stays.
func (e entry) observeTraced(base int, id histID, v uint64, rec *Record) {
	e.observe1(base, id, v)
	if e.native != nil {
		e.native.halves[e.half][nativeBase(base/e.stride, id)+nativeCell(v)].Add(1)
	}
	if e.exemplars != nil && rec.TraceID != [16]byte{} {
		e.exemplars.halves[e.half][e.slot(base, id)+e.ladders[id].bucket(v)].put(v, rec)
	}
}

// slot is the first exemplar of the histogram id of the combination whose words begin at base.
func (l *ledger) slot(base int, id histID) int { return base/l.stride*l.exemplars.traced + l.at[id] }

// takeTraced moves the exemplars and the native buckets of what the cold half has observed.
func (l *ledger) takeTraced(half int) {
	if l.exemplars == nil {
		return
	}
	cold := l.halves[half]
	for combination := range numCombinations {
		base := combination * l.stride
		for id := range histID(tracedHists) {
			observed := false
			for bucket := range len(l.ladders[id].limits) + 1 {
				if cold[base+l.at[id]+bucket].Load() > 0 {
					observed = true
					l.exemplars.take(half, l.slot(base, id)+bucket)
				}
			}
			if observed && l.native != nil {
				l.native.take(half, nativeBase(combination, id))
			}
		}
	}
}

var infinity = math.Inf(1)

// showTraced adds the exemplars and the native buckets of histogram id to h, which has its bounds and its count. The bucket without
// a bound is written out where it has an exemplar.
func (l *ledger) showTraced(h *dto.Histogram, base int, id histID) {
	if l.exemplars == nil || int(id) >= tracedHists {
		return
	}
	first, bounds := l.slot(base, id), len(h.Bucket)
	for i, b := range h.Bucket {
		b.Exemplar = l.exemplars.of(first + i)
	}
	if x := l.exemplars.of(first + bounds); x != nil {
		h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &infinity, CumulativeCount: h.SampleCount, Exemplar: x})
	}
	if l.native != nil {
		l.native.show(h, nativeBase(base/l.stride, id))
	}
}
