package cpu

import "testing"

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		quota, period string
		want          float64
		ok            bool
	}{{"250000", "100000", 2.5, true}, {"max", "100000", 0, false}, {"-1", "100000", 0, false}, {"5", "0", 0, false}, {"", "", 0, false}} {
		if got, ok := ratio(c.quota, c.period); got != c.want || ok != c.ok {
			t.Errorf("ratio(%q, %q) = %v, %v", c.quota, c.period, got, ok)
		}
	}
}
