package metrics

import (
	"math"
	"sync/atomic"

	dto "github.com/prometheus/client_model/go"
)

// native are a model's native histograms: the traced ones again, in buckets that grow by the eighth root of 2 (schema 3), so that
// a bucket is 9 % wide whatever the latency. They are counted here and not by the library's histograms, which allocate when a
// bucket first occurs, and lie behind the ledger's gate.
//
// Bucket k holds the observations above 2^((k-1)/8) and up to 2^(k/8) seconds. Nanoseconds of a time.Duration reach from bucket
// -239 to 265; an observation of 0 is in the bucket of zero.
//
//	│ combination 0                                │ combination 1 … │
//	│ histogram 0 …                     │ hist 1 … │
//	  │ zero │ bucket -239 │ … │ bucket 265 │
//
// A model has 15 combinations of 13 histograms of 506 words: 789,360 bytes in each half and in the totals, which aren't touched
// for histograms without observations.
type native struct {
	halves [2][]atomic.Uint64
	counts []uint64
}

const (
	nativeSchema  = 3
	nativeLowest  = -239
	nativeHighest = 265
	nativeCells   = nativeHighest - nativeLowest + 2
)

var (
	schema        = int32(nativeSchema)
	zeroThreshold = math.Ldexp(1, -128) // up to this an observation counts as zero
)

// nativeFractions are the bounds of buckets within a power of 2: 2^(i/8) / 2, to the last digit as Prometheus and its clients have
// them. They are written out because math.Exp2 gives other last digits on other processors.
var nativeFractions = [1 << nativeSchema]float64{
	0.5, 0.5452538663326288, 0.5946035575013605, 0.6484197773255048,
	0.7071067811865475, 0.7711054127039704, 0.8408964152537144, 0.9170040432046711,
}

func newNative() *native {
	const n = numCombinations * tracedHists * nativeCells
	return &native{halves: [2][]atomic.Uint64{make([]atomic.Uint64, n), make([]atomic.Uint64, n)}, counts: make([]uint64, n)}
}

// nativeCell is the place of an observation of v nanoseconds within its histogram.
func nativeCell(v uint64) int {
	if v == 0 {
		return 0
	}
	fraction, exp := math.Frexp(float64(v) / perSecond)
	i := 0
	for i < len(nativeFractions) && nativeFractions[i] < fraction {
		i++
	}
	bucket := (exp-1)<<nativeSchema + i
	return 1 + min(bucket, nativeHighest) - nativeLowest
}

// nativeBase is the first cell of histogram id of a combination.
func nativeBase(combination int, id histID) int {
	return (combination*tracedHists + int(id)) * nativeCells
}

// take moves what was pushed to the histogram whose cells begin at base into the totals.
func (n *native) take(half, base int) {
	cold := n.halves[half][base : base+nativeCells]
	for i := range cold {
		if v := cold[i].Load(); v != 0 {
			cold[i].Store(0)
			n.counts[base+i] += v
		}
	}
}

// show adds the native buckets of the histogram whose cells begin at base to h.
func (n *native) show(h *dto.Histogram, base int) {
	counts := n.counts[base : base+nativeCells]
	zero := counts[0]
	h.Schema, h.ZeroThreshold, h.ZeroCount = &schema, &zeroThreshold, &zero
	h.PositiveSpan, h.PositiveDelta = spans(counts[1:])
}

// spans writes counts as native histograms have them: runs of buckets, each as a distance from the run before and a length, and
// of each bucket the difference from the one before. A gap of one or two empty buckets is cheaper inside a run than between two.
func spans(counts []uint64) (spans []*dto.BucketSpan, deltas []int64) {
	const smallGap = 2
	end := -nativeLowest // where the run before ended: at bucket 0 before the first
	var last int64
	for i, n := range counts {
		if n == 0 {
			continue
		}
		if len(spans) == 0 || i-end > smallGap {
			offset, length := int32(i-end), uint32(0)
			spans = append(spans, &dto.BucketSpan{Offset: &offset, Length: &length})
			end = i
		}
		run := spans[len(spans)-1]
		for ; end < i; end++ {
			deltas = append(deltas, -last)
			last = 0
			*run.Length++
		}
		deltas = append(deltas, int64(n)-last)
		last = int64(n)
		*run.Length++
		end = i + 1
	}
	return spans, deltas
}
