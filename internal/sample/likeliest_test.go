package sample

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// likeliestOf is what a device would say of a row: k tokens, and the rest as wrong as
// it may be.
func likeliestOf(row []float32, k int, temperature float32, wrong float64) Likeliest {
	l := Likeliest{Vocab: len(row), NaN: -1, Error: 1e-3}
	ids := make([]int32, 0, len(row))
	for i, x := range row {
		if x != x && l.NaN < 0 {
			l.NaN = int32(i)
		}
		if !math.IsInf(float64(x), -1) {
			ids = append(ids, int32(i))
		}
	}
	slices.SortStableFunc(ids, func(a, b int32) int {
		switch {
		case row[a] > row[b]:
			return -1
		case row[a] < row[b]:
			return 1
		}
		return 0
	})
	for i, id := range ids {
		if i < k {
			l.Tokens, l.Logits = append(l.Tokens, id), append(l.Logits, row[id])
		} else if temperature > 0 {
			l.Rest += math.Exp(float64(row[id]-l.Logits[0]) / float64(temperature))
		}
	}
	l.Rest *= 1 + wrong*l.Error
	return l
}

// TestNextOf holds draws from the likeliest tokens against those from the whole row:
// where they are decided they are the same, and mostly they are decided.
func TestNextOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const vocab = 3000
	sc := NewScratch(vocab)
	row := make([]float32, vocab)
	for name, p := range map[string]Params{
		"greedy": {}, "temperature": {Temperature: 0.8}, "top k": {Temperature: 1, TopK: 40}, "top p": {Temperature: 1, TopP: 0.9},
		"min p": {Temperature: 1.3, MinP: 0.05}, "all": {Temperature: 0.9, TopK: 20, TopP: 0.95, MinP: 0.01},
		"beyond": {Temperature: 1, TopK: 100},
	} {
		decided, draws := 0, 600
		for n := range draws {
			spread := 1 + 4*rng.Float64()
			for i := range row {
				row[i] = float32(rng.NormFloat64() * spread)
				if n%5 == 0 {
					row[i] = float32(math.Round(float64(row[i])))
				}
				if n%7 == 0 && i%50 != 3 {
					row[i] = float32(math.Inf(-1))
				}
			}
			if n%11 == 0 {
				row[rng.IntN(vocab)] = float32(math.Inf(1))
			}
			p.Seed = rng.Uint64()
			s := New(p, nil)
			want, err := s.Next(row, n, 0, sc)
			if err != nil {
				t.Fatal(err)
			}
			got, ok, err := s.NextOf(likeliestOf(row, 64, p.Temperature, 2*rng.Float64()-1), n, sc)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				if decided++; got != want {
					t.Fatalf("%s, draw %d: token %d of the likeliest, %d of the row", name, n, got, want)
				}
			}
		}
		if least := map[string]int{"greedy": draws, "top k": draws, "all": draws, "temperature": draws / 5}[name]; decided < least {
			t.Errorf("%s: %d of %d draws were decided, at least %d are", name, decided, draws, least)
		}
		t.Logf("%s: %d of %d draws decided", name, decided, draws)
	}
}

// TestNextOfFaults holds the errors of rows that have no token to draw.
func TestNextOfFaults(t *testing.T) {
	sc, s := NewScratch(3), New(Params{Temperature: 1}, nil)
	for _, c := range []struct {
		row  []float32
		want error
	}{
		{[]float32{1, float32(math.NaN()), 2}, ErrNaN},
		{[]float32{float32(math.Inf(-1)), float32(math.Inf(-1)), float32(math.Inf(-1))}, ErrNoToken},
	} {
		_, _, err := s.NextOf(likeliestOf(c.row, 2, 1, 0), 5, sc)
		if _, whole := s.Next(c.row, 5, 0, sc); !errors.Is(err, c.want) || err.Error() != whole.Error() {
			t.Errorf("%v: %v, want %v", c.row, err, whole)
		}
	}
	if l := likeliestOf([]float32{1, 2, 3}, 2, 1, math.NaN()); true {
		if _, ok, err := s.NextOf(l, 5, sc); ok || err != nil {
			t.Errorf("a rest that is no number decides: %v, %v", ok, err)
		}
	}
}

// TestPlain holds what changes logits.
func TestPlain(t *testing.T) {
	for _, c := range []struct {
		p     Params
		plain bool
	}{
		{Params{}, true}, {Params{Temperature: 1, TopK: 3, TopP: 0.5, MinP: 0.1}, true}, {Params{Bias: []Bias{{1, 1}}}, false},
		{Params{Repetition: 1.1}, false}, {Params{Presence: 1}, false}, {Params{Frequency: 1}, false},
		{Params{MinTokens: 5, Ends: []int32{1}}, false}, {Params{MinTokens: 4, Ends: []int32{1}}, true},
	} {
		if got := New(c.p, nil).Plain(4); got != c.plain {
			t.Errorf("%+v: %v, want %v", c.p, got, c.plain)
		}
	}
}
