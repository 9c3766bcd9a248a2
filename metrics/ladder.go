package metrics

import (
	"fmt"
	"math"
)

// ladder is the bounds of a histogram. Observations are integers (nanoseconds or tokens), so that sums are exact and adding to
// one is a single atomic add; bounds are what the page shows.
type ladder struct {
	limits []uint64  // inclusive upper limits in the observation's unit, ascending
	bounds []float64 // the same in the page's unit (seconds or tokens)
	unit   float64   // observation units in one page unit
}

const perSecond = 1e9

// doubling returns n bounds first·2^i; first is in observation units, so that every bound prints as its shortest decimal.
func doubling(first uint64, n int, unit float64) *ladder {
	l := &ladder{unit: unit}
	for i := range n {
		limit := first << i
		l.limits = append(l.limits, limit)
		l.bounds = append(l.bounds, float64(limit)/unit)
	}
	return l
}

// seconds returns the ladder of bounds given in seconds, rounded down to whole nanoseconds.
func seconds(bounds []float64) (*ladder, error) {
	const maxBounds, maxSeconds = 64, 1e9
	if len(bounds) == 0 || len(bounds) > maxBounds {
		return nil, fmt.Errorf("metrics: %d bucket bounds, give 1 to %d", len(bounds), maxBounds)
	}
	l := &ladder{unit: perSecond, bounds: append([]float64(nil), bounds...)}
	for i, b := range bounds {
		if !(b > 0 && b <= maxSeconds) {
			return nil, fmt.Errorf("metrics: bucket bound %d is %v, give seconds above 0 and at most %g", i, b, maxSeconds)
		}
		limit := uint64(math.Round(b * perSecond))
		if limit > 0 && float64(limit)/perSecond > b { // the last nanosecond that is not above b, so that values shown in seconds agree
			limit--
		}
		if i > 0 && limit <= l.limits[i-1] {
			return nil, fmt.Errorf("metrics: bucket bound %d is %v, not above its predecessor %v", i, b, bounds[i-1])
		}
		l.limits = append(l.limits, limit)
	}
	return l, nil
}

// bucket returns the index of the bucket that v falls in; len(limits) is the one without a bound.
func (l *ladder) bucket(v uint64) int {
	for i, limit := range l.limits {
		if v <= limit {
			return i
		}
	}
	return len(l.limits)
}

// cells is how many words a histogram on this ladder takes: its buckets, the one without a bound, and the sum.
func (l *ladder) cells() int { return len(l.limits) + 2 }

// Buckets are the bounds, in seconds, of the three gen_ai_server_* histograms; nil ones are the ladder 0.01·2^i, i = 0..13. Each
// has 1 to 64 bounds, ascending, above 0.
type Buckets struct {
	Duration   []float64 // gen_ai_server_request_duration_seconds
	FirstToken []float64 // gen_ai_server_time_to_first_token_seconds
	PerToken   []float64 // gen_ai_server_time_per_output_token_seconds
}

// SpecBuckets returns the bounds that the semantic conventions give each of the three histograms.
func SpecBuckets() Buckets {
	return Buckets{
		Duration:   []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92},
		FirstToken: []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10},
		PerToken:   []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5},
	}
}
