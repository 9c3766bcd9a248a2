package main

import "slices"

// spread is what several runs gave: the middle, and how far it goes either way.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// spreadOf is the zero spread where nothing was measured.
func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	v := slices.Sorted(slices.Values(values))
	return spread{median(v), v[0], v[len(v)-1]}
}

// median of sorted values: between the middle two where they are even in number.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// quantile of sorted values: the least that at least the share q of all is no more
// than.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := 0
	for float64(at+1) < q*float64(len(sorted)) {
		at++
	}
	return sorted[at]
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}
