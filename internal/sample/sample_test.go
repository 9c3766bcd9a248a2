package sample

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

func row(n int, rng *rand.Rand) []float32 {
	r := make([]float32, n)
	for i := range r {
		r[i] = float32(rng.NormFloat64() * 3)
	}
	return r
}

// naive is the definition written the slow way: a comparison sort and plain sums.
func naive(logits []float32, p Params, u float64) int32 {
	type tok struct {
		id int32
		x  float64
	}
	var ts []tok
	for i, x := range logits {
		if !math.IsInf(float64(x), -1) {
			ts = append(ts, tok{int32(i), float64(x)})
		}
	}
	sort.SliceStable(ts, func(i, j int) bool { return ts[i].x > ts[j].x })
	if p.TopK > 0 && p.TopK < len(ts) {
		ts = ts[:p.TopK]
	}
	var pr []float64
	total := 0.0
	for i := range ts {
		v := math.Exp((ts[i].x - ts[0].x) / float64(p.Temperature))
		if v < float64(p.MinP) {
			break
		}
		pr = append(pr, v)
		total += v
	}
	if p.TopP > 0 && p.TopP < 1 {
		sum := 0.0
		for i := range pr {
			sum += pr[i]
			if sum >= float64(p.TopP)*total {
				pr, total = pr[:i+1], sum
				break
			}
		}
	}
	sum := 0.0
	for i := range pr {
		sum += pr[i]
		if sum > u*total {
			return ts[i].id
		}
	}
	return ts[len(pr)-1].id
}

func TestDrawEqualsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sc := NewScratch(300)
	for i := range 2000 {
		p := Params{
			Temperature: float32(rng.Float64()*2 + 0.01), TopK: rng.IntN(20), TopP: float32(rng.Float64()),
			MinP: float32(rng.Float64() * 0.2), Seed: rng.Uint64(), Choice: rng.IntN(4), Logprobs: -1,
		}
		logits := row(1+rng.IntN(300), rng)
		if len(logits) > 3 && i%3 == 0 { // ties and exclusions
			logits[2] = logits[1]
			logits[0] = float32(math.Inf(-1))
		}
		got, err := New(p, nil).Next(logits, i, 0, sc)
		if err != nil {
			t.Fatal(err)
		}
		if want := naive(logits, p, uniform(p.Seed, p.Choice, i)); got != want {
			t.Fatalf("case %d %+v: got %d, want %d", i, p, got, want)
		}
	}
}

// TestDistribution draws often and holds the counts against the softmax with a
// chi-squared bound that a correct sampler passes with near certainty.
func TestDistribution(t *testing.T) {
	logits := []float32{0, 1, 2, -1, 0.5}
	want := make([]float64, len(logits))
	z := 0.0
	for i, x := range logits {
		want[i] = math.Exp(float64(x))
		z += want[i]
	}
	const n = 40000
	counts := make([]int, len(logits))
	sc := NewScratch(len(logits))
	s := New(Params{Temperature: 1, Seed: 7}, nil)
	for pos := range n {
		id, err := s.Next(logits, pos, pos, sc)
		if err != nil {
			t.Fatal(err)
		}
		counts[id]++
	}
	chi := 0.0
	for i, c := range counts {
		e := want[i] / z * n
		chi += (float64(c) - e) * (float64(c) - e) / e
	}
	if chi > 30 { // 4 degrees of freedom: p < 1e-5
		t.Errorf("chi squared %.1f, counts %v", chi, counts)
	}
}

func TestUniformDependsOnEachArgument(t *testing.T) {
	base := uniform(1, 2, 3)
	for _, other := range []float64{uniform(2, 2, 3), uniform(1, 3, 3), uniform(1, 2, 4)} {
		if other == base {
			t.Error("a draw ignores one of its arguments")
		}
	}
	if base < 0 || base >= 1 {
		t.Errorf("draw %v outside [0, 1)", base)
	}
}

func TestGreedy(t *testing.T) {
	sc := NewScratch(4)
	inf := float32(math.Inf(-1))
	for _, c := range []struct {
		name   string
		p      Params
		prompt []int32
		out    []int32
		logits []float32
		want   int32
	}{
		{"ties go to the lower id", Params{}, nil, nil, []float32{1, 3, 3, 2}, 1},
		{"bias", Params{Bias: []Bias{{2, 5}}}, nil, nil, []float32{1, 3, 0, 2}, 2},
		{"repetition of the prompt", Params{Repetition: 2}, []int32{1}, nil, []float32{1, 3, 0, 2}, 3},
		{"repetition of a negative logit", Params{Repetition: 2}, []int32{1}, nil, []float32{-3, -2, -5, -6}, 0},
		{"presence", Params{Presence: 1.5}, nil, []int32{1, 1}, []float32{1, 3, 0, 2}, 3},
		{"presence leaves the prompt alone", Params{Presence: 1.5}, []int32{1}, nil, []float32{1, 3, 0, 2}, 1},
		{"frequency counts", Params{Frequency: 0.6}, nil, []int32{1, 1}, []float32{1, 3, 0, 2}, 3},
		{"frequency once is not enough", Params{Frequency: 0.6}, nil, []int32{1}, []float32{1, 3, 0, 2}, 1},
		{"minimum length", Params{MinTokens: 2, Ends: []int32{1}}, nil, nil, []float32{1, 3, inf, 2}, 3},
		{"minimum length reached", Params{MinTokens: 2, Ends: []int32{1}}, nil, []int32{0, 0}, []float32{1, 3, 0, 2}, 1},
	} {
		s := New(c.p, See(c.p, c.prompt))
		for _, o := range c.out {
			s.Accept(o)
		}
		before := slices.Clone(c.logits)
		got, err := s.Next(c.logits, 9, len(c.out), sc)
		if err != nil || got != c.want {
			t.Errorf("%s: got %d, %v, want %d", c.name, got, err, c.want)
		}
		if !slices.Equal(before, c.logits) {
			t.Errorf("%s: the row was changed", c.name)
		}
	}
}

func TestBadRows(t *testing.T) {
	sc := NewScratch(2)
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, temp := range []float32{0, 1} {
		s := New(Params{Temperature: temp}, nil)
		if _, err := s.Next([]float32{1, nan}, 0, 0, sc); !errors.Is(err, ErrNaN) {
			t.Errorf("temperature %v: NaN gave %v", temp, err)
		}
		if _, err := s.Next([]float32{inf, inf}, 0, 0, sc); !errors.Is(err, ErrNoToken) {
			t.Errorf("temperature %v: nothing left gave %v", temp, err)
		}
		if id, err := s.Next([]float32{0, float32(math.Inf(1))}, 0, 0, sc); err != nil || id != 1 {
			t.Errorf("temperature %v: +Inf gave %d, %v", temp, id, err)
		}
	}
}

func TestLogprobs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		logits := row(50, rng)
		logits[7] = logits[8]
		var z float64
		for _, x := range logits {
			z += math.Exp(float64(x))
		}
		z = math.Log(z)
		top := make([]Alternative, 6)
		got := Logprobs(logits, 3, top)
		if want := float64(logits[3]) - z; math.Abs(float64(got)-want) > 1e-5 {
			t.Fatalf("logprob %v, want %v", got, want)
		}
		ids := make([]int, len(logits))
		for i := range ids {
			ids[i] = i
		}
		sort.SliceStable(ids, func(i, j int) bool { return logits[ids[i]] > logits[ids[j]] })
		for i, a := range top {
			if int(a.Token) != ids[i] {
				t.Fatalf("alternative %d is %d, want %d", i, a.Token, ids[i])
			}
		}
	}
}

func TestSortKeys(t *testing.T) {
	xs := []float32{float32(math.Inf(1)), 3, 1, 1e-40, 0, float32(math.Copysign(0, -1)), -1e-40, -1, -7, float32(math.Inf(-1))}
	for i := range xs[1:] {
		if a, b := descending(xs[i]), descending(xs[i+1]); a > b || a == b && xs[i] != xs[i+1] {
			t.Errorf("%v and %v are out of order", xs[i], xs[i+1])
		}
		if got := (entry{key: descending(xs[i])}).logit(); got != xs[i] {
			t.Errorf("%v came back as %v", xs[i], got)
		}
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	logits := row(5000, rng)
	sc := NewScratch(5000)
	p := Params{Temperature: 0.8, TopK: 40, TopP: 0.9, Repetition: 1.1, Presence: 0.1}
	s := New(p, See(p, []int32{1, 2, 3}))
	s.Accept(4)
	top := make([]Alternative, 5)
	if n := testing.AllocsPerRun(20, func() {
		if _, err := s.Next(logits, 5, 1, sc); err != nil {
			t.Fatal(err)
		}
		Logprobs(logits, 9, top)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkNext(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	logits := row(151936, rng)
	sc := NewScratch(len(logits))
	for _, c := range []struct {
		name string
		p    Params
	}{
		{"greedy", Params{}}, {"temperature", Params{Temperature: 1}}, {"top-p", Params{Temperature: 0.8, TopP: 0.95}},
		{"top-k", Params{Temperature: 0.8, TopK: 40, TopP: 0.95}}, {"min-p", Params{Temperature: 1, MinP: 0.05}},
		{"penalties", Params{Repetition: 1.1, Temperature: 0.8, TopP: 0.95}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, pos := New(c.p, See(c.p, []int32{1, 2, 3})), 0
			for b.Loop() {
				if _, err := s.Next(logits, pos, 1, sc); err != nil {
					b.Fatal(err)
				}
				pos++
			}
		})
	}
}

func BenchmarkLogprobs(b *testing.B) {
	logits, top := row(151936, rand.New(rand.NewPCG(5, 6))), make([]Alternative, 5)
	for b.Loop() {
		Logprobs(logits, 77, top)
	}
}
