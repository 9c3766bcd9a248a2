package model

import (
	"math"
	"testing"

	"github.com/paddock-go/paddock/internal/prog"
)

func TestExact(t *testing.T) {
	for _, x := range []float64{1e-300, 0.1, 0.5, 1, 1.5, math.E, 10, 10000, 1e6, 5e5, 1e300} {
		ln, _ := bigLn(bigOf(x)).Float64()
		if d := math.Abs(ln - math.Log(x)); d > 2e-16*max(1, math.Abs(ln)) {
			t.Errorf("ln %v = %v, math has %v", x, ln, math.Log(x))
		}
		for _, n := range []int{1, 2, 5, 32, 64} {
			root := bigRoot(bigOf(x), n)
			back, _ := bigPow(root, n).Float64()
			if back != x {
				t.Errorf("root %d of %v, to that power, is %v", n, x, back)
			}
		}
	}
}

// TestFreqs holds the frequencies against float64 arithmetic: equal but for
// the last bit of float32.
func TestFreqs(t *testing.T) {
	s := &ropeSpec{dim: 128, base: 500000, scaling: ropeNone, factor: 1}
	for i, f := range s.lower(prog.Halves).Freqs {
		want := math.Pow(500000, -2*float64(i)/128)
		if math.Abs(float64(f)/want-1) > 6e-8 {
			t.Errorf("frequency %d is %v, want %v", i, f, want)
		}
	}
	none := (&ropeSpec{scaling: ropeNone, factor: 1, base: 10000}).lower(prog.Halves)
	if none.Dim != 0 || len(none.Freqs) != 0 {
		t.Errorf("no rotation lowered to %+v", none)
	}
}

// TestYaRNEnds: a pair that turns often keeps its frequency, one that turns
// less than once is stretched by the whole factor.
func TestYaRNEnds(t *testing.T) {
	s := &ropeSpec{dim: 64, base: 10000, scaling: ropeNone, factor: 4, original: 4096, extFactor: 1, attnFactor: 1, betaFast: 32, betaSlow: 1}
	plain := s.lower(prog.Halves).Freqs
	s.scaling = ropeYaRN
	yarn := s.lower(prog.Halves)
	if yarn.Freqs[0] != plain[0] || yarn.Freqs[31] != plain[31]/4 {
		t.Errorf("ends are %v and %v, plain %v and %v", yarn.Freqs[0], yarn.Freqs[31], plain[0], plain[31])
	}
	if want := float32(1 + 0.1*math.Log(4)); yarn.Mag != want {
		t.Errorf("magnitude %v, want %v", yarn.Mag, want)
	}
	for i := 1; i < 32; i++ {
		if yarn.Freqs[i] >= yarn.Freqs[i-1] {
			t.Errorf("frequency %d does not fall", i)
		}
	}
}

// TestYaRNBetween: by gpt-oss' own numbers, whose ramp begins and ends between two
// pairs, each frequency is the published formula's.
func TestYaRNBetween(t *testing.T) {
	s := &ropeSpec{dim: 64, base: 150000, scaling: ropeYaRN, factor: 32, original: 4096, extFactor: 1, attnFactor: 1, betaFast: 32, betaSlow: 1}
	rounded := s.lower(prog.Halves).Freqs
	s.between = true
	differ := 0
	for i, f := range s.lower(prog.Halves).Freqs {
		at := func(turns float64) float64 {
			return 64 * math.Log(4096/(turns*2*math.Pi)) / (2 * math.Log(150000))
		}
		ramp := min(1, max(0, (float64(i)-at(32))/(at(1)-at(32))))
		plain := math.Pow(150000, -2*float64(i)/64)
		if want := plain/32*ramp + plain*(1-ramp); math.Abs(float64(f)/want-1) > 1e-7 {
			t.Errorf("frequency %d is %v, want %v", i, f, want)
		}
		if f != rounded[i] {
			differ++
		}
	}
	if differ < 5 {
		t.Errorf("%d frequencies differ from a ramp of whole pairs", differ)
	}
}
