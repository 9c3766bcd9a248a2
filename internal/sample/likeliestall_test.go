package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// device is what the kernels of pick_slices and pick_rows make of a row's rest: all in
// float32, slice by slice.
func device(row []float32, l *Likeliest, temperature float32) float32 {
	const slice = 2048
	inverse := float32(0)
	if temperature > 0 {
		inverse = 1 / temperature
	}
	share := func(x, top float32) float32 {
		if top-top != 0 {
			return 0
		}
		return float32(math.Exp(float64((x - top) * inverse)))
	}
	var sum float32
	head := map[int32]bool{}
	for _, id := range l.Tokens {
		head[id] = true
	}
	for from := 0; from < len(row) && len(l.Logits) > 0; from += slice {
		part := row[from:min(from+slice, len(row))]
		top, rest := slices.Max(part), float32(0)
		for i, x := range part {
			if !head[int32(from+i)] {
				rest += share(x, top)
			}
		}
		if rest != 0 {
			sum += rest * share(top, l.Logits[0])
		}
	}
	return sum
}

// rowsOf are rows of every kind that is hard: ties over the bound of what is known, flat
// ones, few tokens, infinities, and values at the ends of float32.
var rowsOf = []func(rng *rand.Rand, row []float32){
	func(rng *rand.Rand, row []float32) { fill(row, func() float64 { return 4 * rng.NormFloat64() }) },
	func(rng *rand.Rand, row []float32) {
		fill(row, func() float64 { return math.Round(2 * rng.NormFloat64()) })
	},
	func(rng *rand.Rand, row []float32) { fill(row, func() float64 { return 0.01 * rng.NormFloat64() }) },
	func(rng *rand.Rand, row []float32) { fill(row, func() float64 { return 5 }) },
	func(rng *rand.Rand, row []float32) { fill(row, func() float64 { return 1e-41 * rng.Float64() }) },
	func(rng *rand.Rand, row []float32) { fill(row, func() float64 { return 1e-37 * rng.NormFloat64() }) },
	func(rng *rand.Rand, row []float32) { fill(row, func() float64 { return 3e38 * (2*rng.Float64() - 1) }) },
	func(rng *rand.Rand, row []float32) { fill(row, func() float64 { return 30000 + rng.Float64() }) },
	func(rng *rand.Rand, row []float32) { // as many tied as are known, or one more or less
		fill(row, func() float64 { return -30 })
		for range 62 + rng.IntN(5) {
			row[rng.IntN(len(row))] = 1
		}
	},
	func(rng *rand.Rand, row []float32) { // few tokens
		fill(row, func() float64 { return math.Inf(-1) })
		for range rng.IntN(130) {
			row[rng.IntN(len(row))] = float32(rng.NormFloat64())
		}
	},
	func(rng *rand.Rand, row []float32) { // zeros of both signs
		fill(row, func() float64 { return math.Copysign(0, rng.NormFloat64()) })
	},
	func(rng *rand.Rand, row []float32) {
		fill(row, func() float64 { return rng.NormFloat64() })
		for range 1 + rng.IntN(70) {
			row[rng.IntN(len(row))] = float32(math.Inf(1 - 2*rng.IntN(2)))
		}
		if rng.IntN(3) == 0 {
			row[rng.IntN(len(row))] = float32(math.NaN())
		}
	},
}

func fill(row []float32, value func() float64) {
	for i := range row {
		row[i] = float32(value())
	}
}

// TestNextOfWhatever: whatever the parameters and the row, what the likeliest tokens
// decide is what the whole row does, errors too; the rest is the device's own, or as
// wrong as it may be.
func TestNextOfWhatever(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	const vocab = 2500
	sc := NewScratch(vocab)
	row := make([]float32, vocab)
	of := func(list ...float32) float32 { return list[rng.IntN(len(list))] }
	decided, draws := 0, 6000
	if testing.Short() {
		draws = 2000
	}
	for n := range draws {
		kind := rng.IntN(len(rowsOf))
		rowsOf[kind](rng, row)
		p := Params{
			Temperature: of(0, 1e-45, 1e-42, 1e-38, 1e-30, 1e-3, 0.05, 0.7, 1, 1, 1.3, 2, 1000),
			TopK:        int(of(0, 0, 1, 2, 40, 63, 64, 65, 100, vocab, 2*vocab)),
			TopP:        of(0, 0, 1e-6, 0.1, 0.5, 0.9, 0.999, 0.99999994, 1),
			MinP:        of(0, 0, 0, 1e-6, 0.05, 0.5, 1),
			Seed:        rng.Uint64(),
		}
		s := New(p, nil)
		l := likeliestOf(row, 64, p.Temperature, float64(of(-1, 0, 1)))
		if rng.IntN(2) == 0 {
			l.Rest = float64(device(row, &l, p.Temperature))
		}
		want, fault := s.Next(row, n, 0, sc)
		got, ok, err := s.NextOf(l, n, sc)
		if err != nil || fault != nil {
			if fmt.Sprint(err) != fmt.Sprint(fault) {
				t.Fatalf("draw %d, %+v, row %d: error %v of the likeliest, %v of the row", n, p, kind, err, fault)
			}
			continue
		}
		if ok {
			decided++
			if got != want {
				t.Fatalf("draw %d, %+v, row %d: token %d (%v) of the likeliest, %d (%v) of the row", n, p, kind, got, row[got], want, row[want])
			}
		}
	}
	t.Logf("%d of %d draws decided", decided, draws)
	if decided < draws/3 {
		t.Errorf("only %d of %d draws are decided", decided, draws)
	}
}

// TestRestAsWrongAsMayBe: a draw that falls just behind the head, with a rest that is
// told as small as it may be, is not taken for the head's.
func TestRestAsWrongAsMayBe(t *testing.T) {
	row := []float32{1, 1, 1}
	for _, wrong := range []float64{-1, 1} {
		l := likeliestOf(row, 1, 1, wrong) // the first one weighs 1, the rest 2
		for seed := uint64(0); ; seed++ {
			// Just beyond the head where the rest is told too small, just within it where too
			// large: the bound is 1/3 in truth.
			u := uniform(seed, 0, 0)
			if off := (u - 1.0/3) * -wrong; off <= 0 || off > 1e-7 {
				continue
			}
			sc, s := NewScratch(3), New(Params{Temperature: 1, Seed: seed}, nil)
			want, err := s.Next(row, 0, 0, sc)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok, err := s.NextOf(l, 0, sc); err != nil || ok && got != want {
				t.Errorf("wrong by %v: token %d, %v, want %d or no decision", wrong, got, err, want)
			}
			break
		}
	}
}
