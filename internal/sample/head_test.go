package sample

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/num"
)

// TestDrawEqualsWhole holds the draw that sorts the likeliest only against the one
// that sorts all, over rows of many forms, and asks that it seldom needs the other.
func TestDrawEqualsWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	const vocab = 20000
	sc, whole := NewScratch(vocab), NewScratch(vocab)
	forms := []struct {
		name string
		most float64 // share of draws that may need the whole row
		next func(i int) float32
	}{
		{"normal", 0.1, func(int) float32 { return float32(rng.NormFloat64() * 2) }},
		{"peaked", 0.02, func(i int) float32 { return float32(rng.NormFloat64() + 30/float64(1+i)) }},
		{"far apart", 0.02, func(int) float32 { return float32(rng.NormFloat64() * 100) }},
		{"ties", 0.3, func(int) float32 { return float32(rng.IntN(60)) / 4 }},
		{"excluded", 0.05, func(i int) float32 {
			if i%3 != 0 {
				return float32(math.Inf(-1))
			}
			return float32(rng.NormFloat64() * 2)
		}},
		{"huge", 1, func(int) float32 { return float32(rng.NormFloat64() * 1e37) }},
		{"large and near", 1, func(int) float32 { return 1e6 + float32(rng.IntN(20))/8 }},
		{"flat", 1, func(int) float32 { return 0 }},
	}
	row := make([]float32, vocab)
	for _, f := range forms {
		const draws = 150
		before := sc.whole
		for d := range draws {
			if d%10 == 0 {
				for i := range row {
					row[i] = f.next(i)
				}
			}
			p := Params{Temperature: []float32{0.3, 0.8, 1, 1.5}[rng.IntN(4)], Seed: rng.Uint64()}
			if rng.IntN(2) == 0 {
				p.TopP = []float32{0.1, 0.5, 0.9, 0.95}[rng.IntN(4)]
			}
			if rng.IntN(3) == 0 {
				p.TopK = 1 + rng.IntN(100)
			}
			if rng.IntN(3) == 0 {
				p.MinP = float32(rng.Float64() * rng.Float64() * 0.2)
			}
			s := New(p, nil)
			got, err := s.Next(row, d, d, sc)
			want, err2 := s.drawWhole(row, uniform(p.Seed, p.Choice, d), whole)
			if err != nil || err2 != nil || got != want {
				t.Fatalf("%s, %+v: got %d, %v, want %d, %v", f.name, p, got, err, want, err2)
			}
		}
		if n := sc.whole - before; float64(n) > f.most*draws {
			t.Errorf("%s: %d of %d draws sorted the whole row, at most %v were to", f.name, n, draws, f.most*draws)
		} else {
			t.Logf("%s: %d of %d draws sorted the whole row", f.name, n, draws)
		}
	}
}

// TestDrawAtTheEdge puts the draw on the boundary between two tokens and to both
// sides of it by a unit in the last place, where bounds can't decide: the token is
// the definition's.
func TestDrawAtTheEdge(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 2))
	const vocab = 3000
	sc := NewScratch(vocab)
	row := make([]float32, vocab)
	for i := range row {
		row[i] = float32(rng.NormFloat64() * 2)
	}
	s := New(Params{Temperature: 1}, nil)
	top, _, _ := largest(row)
	if _, err := s.drawWhole(row, 0.5, sc); err != nil { // fills sc.prob
		t.Fatal(err)
	}
	p := append([]float64(nil), sc.prob...)
	total, at := sum(p), 0.0
	for i := range 200 {
		at += p[i]
		for _, u := range []float64{at / total, math.Nextafter(at/total, 0), math.Nextafter(at/total, 1)} {
			want, err := s.drawWhole(row, u, sc)
			got, err2 := s.draw(row, top, u, sc)
			if err != nil || err2 != nil || got != want {
				t.Fatalf("boundary %d, u = %v: got %d, %v, want %d, %v", i, u, got, err2, want, err)
			}
		}
	}
}

// TestLogprobsEqualDefinition holds log probabilities from bounds against those from
// the sum in order, and asks that the bounds mostly decide.
func TestLogprobsEqualDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 3))
	row := make([]float32, 4001)
	undecided := 0
	const rows = 300
	for d := range rows {
		for i := range row {
			row[i] = float32(rng.NormFloat64() * math.Pow(10, float64(d%5-2)))
		}
		row[7], row[8], row[9] = row[3], row[3], float32(math.Inf(-1))
		z, token := logSumExp(row), int32(rng.IntN(len(row)))
		top, want := make([]Alternative, d%7), make([]Alternative, d%7)
		lp := Logprobs(row, token, top)
		wantLP, _ := logprobs(row, token, want, z, z)
		if lp != wantLP || !slices.Equal(top, want) {
			t.Fatalf("row %d: %v %v, want %v %v", d, lp, top, wantLP, want)
		}
		most, _, _ := largest(row)
		low, high := bounds(row, most)
		if z < low || z > high {
			t.Fatalf("row %d: the sum is %v, not in %v to %v", d, z, low, high)
		}
		if _, ok := logprobs(row, token, top, low, high); !ok {
			undecided++
		}
	}
	if undecided > rows/4 { // where a probability is near 1, its logarithm has digits that bounds lack
		t.Errorf("of %d rows %d were not decided by the bounds", rows, undecided)
	}
	t.Logf("of %d rows %d were not decided by the bounds", rows, undecided)
}

func TestQuickExp(t *testing.T) {
	worst := 0.0
	for x := 0.0; x > -299; x -= 0.00371 {
		want := num.Exp64(x)
		worst = max(worst, math.Abs(quickExp(x)-want)/want)
	}
	if worst > 2e-13 {
		t.Errorf("off by %g of itself", worst)
	}
	if quickExp(math.Inf(-1)) != 0 || quickExp(0) != 1 {
		t.Error("at its ends")
	}
}
