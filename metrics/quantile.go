package metrics

import "math"

// quantile estimates the q-quantile of a histogram as PromQL's histogram_quantile does, to the bit: the observations of a bucket lie
// evenly between its bounds, those of the first one from 0 on, and the last finite bound stands for all that lies above it. counts has
// one entry more than bounds, and isn't cumulative, so that there is nothing to make monotonic. It is NaN without observations.
func quantile(q float64, bounds []float64, counts []uint64) float64 {
	switch {
	case math.IsNaN(q):
		return q
	case q < 0:
		return math.Inf(-1)
	case q > 1:
		return math.Inf(1)
	}
	var all uint64
	for _, n := range counts {
		all += n
	}
	if all == 0 || len(bounds) == 0 {
		return math.NaN()
	}
	rank := q * float64(all)
	var below uint64
	for i, bound := range bounds {
		upTo := below + counts[i]
		if float64(upTo) < rank {
			below = upTo
			continue
		}
		lower := 0.0
		if i > 0 {
			lower = bounds[i-1]
		} else if bound <= 0 {
			return bound
		}
		return lower + (bound-lower)*((rank-float64(below))/(float64(upTo)-float64(below)))
	}
	return bounds[len(bounds)-1]
}
