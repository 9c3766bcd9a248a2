package backendtest

import (
	"math"
	"testing"
)

// TestDifference: a NaN is near a NaN only, an infinity near itself only.
func TestDifference(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		want, got []float32
		diff      float64
		at        int
	}{
		{[]float32{1, 3}, []float32{1, 1}, 0.5, 1},
		{[]float32{nan, 0}, []float32{nan, 0}, 0, 0},
		{[]float32{0, nan}, []float32{0, 1}, math.Inf(1), 1},
		{[]float32{0, 1}, []float32{0, nan}, math.Inf(1), 1},
		{[]float32{0, inf}, []float32{0, inf}, 0, 0},
		{[]float32{0, inf}, []float32{0, -inf}, math.Inf(1), 1},
		{[]float32{inf, 1}, []float32{inf, 3}, 1, 1},
	} {
		if diff, at := difference(c.want, c.got); diff != c.diff || at != c.at {
			t.Errorf("%v beside %v: %v at %d, want %v at %d", c.want, c.got, diff, at, c.diff, c.at)
		}
	}
}
