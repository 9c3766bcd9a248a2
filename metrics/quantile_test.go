package metrics

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestQuantile(t *testing.T) {
	bounds := []float64{1, 2, 4}
	nan, inf := math.NaN(), math.Inf(1)
	for _, row := range []struct {
		name   string
		q      float64
		bounds []float64
		counts []uint64
		want   float64
	}{
		{"the middle of the first bucket, from 0 on", 0.5, bounds, []uint64{10, 0, 0, 0}, 0.5},
		{"the end of the first bucket", 1, bounds, []uint64{10, 0, 0, 0}, 1},
		{"between two buckets the lower one has it", 0.5, bounds, []uint64{5, 5, 0, 0}, 1},
		{"inside the second", 0.75, bounds, []uint64{5, 5, 0, 0}, 1.5},
		{"an empty bucket before", 0.5, bounds, []uint64{0, 0, 8, 0}, 3},
		{"an empty bucket between", 0.75, bounds, []uint64{2, 0, 2, 0}, 3},
		{"above all bounds: the last bound", 0.99, bounds, []uint64{1, 0, 0, 9}, 4},
		{"all above: the last bound", 0.01, bounds, []uint64{0, 0, 0, 9}, 4},
		{"no observation", 0.5, bounds, []uint64{0, 0, 0, 0}, nan},
		{"no bound", 0.5, nil, []uint64{3}, nan},
		{"q below 0", -0.1, bounds, []uint64{1, 0, 0, 0}, -inf},
		{"q above 1", 1.1, bounds, []uint64{1, 0, 0, 0}, inf},
		{"q is none", nan, bounds, []uint64{1, 0, 0, 0}, nan},
		{"q 0 of a first bucket that is empty: 0 / 0", 0, bounds, []uint64{0, 1, 0, 0}, nan},
		{"q 0", 0, bounds, []uint64{1, 0, 0, 0}, 0},
		{"a first bound of 0 is the quantile", 0.5, []float64{0, 1}, []uint64{5, 1, 0}, 0},
		{"counts beyond 2^53", 0.5, bounds, []uint64{1 << 60, 1 << 60, 0, 0}, 1},
	} {
		got := quantile(row.q, row.bounds, row.counts)
		if got != row.want && !(math.IsNaN(got) && math.IsNaN(row.want)) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}

// An independent way: the observations are laid out evenly in their buckets, one by one, and the line through their ranks is followed.
func TestQuantileFollowsTheObservations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounds := rapid.SliceOfNDistinct(rapid.Float64Range(0.001, 100), 1, 8, rapid.ID[float64]).Draw(t, "bounds")
		slices.Sort(bounds)
		counts := rapid.SliceOfN(rapid.Uint64Range(0, 20), len(bounds)+1, len(bounds)+1).Draw(t, "counts")
		q := rapid.Float64Range(1e-9, 1).Draw(t, "q")
		var ends []float64 // the i-th observation is the upper end of its share of its bucket
		lower := 0.0
		for i, bound := range bounds {
			for k := range counts[i] {
				ends = append(ends, lower+(bound-lower)*float64(k+1)/float64(counts[i]))
			}
			lower = bound
		}
		finite := len(ends)
		all := finite + int(counts[len(bounds)])
		got := quantile(q, bounds, counts)
		rank := q * float64(all)
		switch {
		case all == 0:
			if !math.IsNaN(got) {
				t.Fatalf("%v of nothing", got)
			}
		case rank > float64(finite):
			if got != lower {
				t.Fatalf("%v, want the last bound %v", got, lower)
			}
		default:
			i := int(math.Ceil(rank)) - 1 // the observation at or above the rank
			before := startOf(i, bounds, counts)
			if i > 0 && ends[i-1] > before {
				before = ends[i-1]
			}
			want := before + (ends[i]-before)*(rank-float64(i))
			if math.Abs(got-want) > 1e-9*want {
				t.Fatalf("%v of %v on %v is %v, want %v", q, counts, bounds, got, want)
			}
		}
	})
}

// startOf is the lower bound of the bucket that observation i lies in.
func startOf(i int, bounds []float64, counts []uint64) float64 {
	lower := 0.0
	for b, bound := range bounds {
		if i -= int(counts[b]); i < 0 {
			break
		}
		lower = bound
	}
	return lower
}
