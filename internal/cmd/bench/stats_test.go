package main

import "testing"

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   spread
	}{
		{nil, spread{}},
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{9, 1}, spread{5, 1, 9}},
		{[]float64{9, 1, 2}, spread{2, 1, 9}},
		{[]float64{4, 9, 1, 2}, spread{3, 1, 9}},
	} {
		if got := spreadOf(c.values); got != c.want {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
	values := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for q, want := range map[float64]float64{0.5: 5, 0.9: 9, 0.91: 10, 0.99: 10, 1: 10, 0: 1} {
		if got := quantile(values, q); got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	if got := mean([]float64{1, 2, 6}); got != 3 {
		t.Errorf("mean %v, want 3", got)
	}
}

// TestRatio asks that above 1 ours is better in every unit.
func TestRatio(t *testing.T) {
	for _, c := range []struct {
		unit         unit
		ours, theirs float64
		want         float64
	}{
		{tokensPerSecond, 30, 10, 3},
		{seconds, 1, 4, 4},
		{megabytes, 100, 50, 0.5},
		{tokensPerSecond, 30, 0, 0}, // there is no figure of theirs
	} {
		if got := c.unit.ratio(c.ours, c.theirs); got != c.want {
			t.Errorf("%v against %v %v: %v, want %v", c.ours, c.theirs, c.unit, got, c.want)
		}
	}
}

func TestPeaksDiffer(t *testing.T) {
	a := peaks{Read: 100, FMA: 50}
	for _, c := range []struct {
		b    peaks
		want float64
	}{
		{peaks{Read: 100, FMA: 50}, 0},
		{peaks{Read: 80, FMA: 50}, 0.2},
		{peaks{Read: 125, FMA: 50}, 0.2},
		{peaks{Read: 100, FMA: 40}, 0.2},
		{peaks{Read: 100, FMA: 50, Tile: 1}, 1}, // one that was not there before
	} {
		if got := a.differ(c.b); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%v against %v: %v, want %v", a, c.b, got, c.want)
		}
	}
}
