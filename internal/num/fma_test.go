package num

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exact returns a×b+c without any rounding.
func exact(a, b, c float32) *big.Float {
	f := func(x float32) *big.Float { return new(big.Float).SetPrec(1024).SetFloat64(float64(x)) }
	p := f(a)
	p.Mul(p, f(b))
	return p.Add(p, f(c))
}

// oddFloat draws floats that meet in interesting ways: any bits, near powers of
// two, few mantissa bits, subnormals, zeros, infinities and NaN.
func oddFloat(rng *rand.Rand) float32 {
	b := rng.Uint32()
	switch rng.IntN(12) {
	case 0:
		return math.Float32frombits(b & 0x807fffff) // subnormal
	case 1:
		return math.Float32frombits(b & 0x80000000) // zero
	case 2:
		return math.Float32frombits(b&0x80000000 | 0x7f800000)
	case 3:
		return math.Float32frombits(b & 0xff800000)
	case 4:
		return math.Float32frombits(b&0xff800000 | b&7)
	case 5:
		return math.Float32frombits(b | 0x007ffff0)
	case 6, 7, 8, 9: // moderate, so that sums cancel and tie
		return math.Float32frombits(b&0x807fffff | (110+b>>8%32)<<23)
	}
	return math.Float32frombits(b)
}

// triple draws three floats, often so that the sum nearly cancels or ties.
func triple(rng *rand.Rand) (a, b, c float32) {
	a, b, c = oddFloat(rng), oddFloat(rng), oddFloat(rng)
	switch rng.IntN(4) {
	case 0:
		c = -(a * b)
	case 1:
		c = math.Float32frombits(math.Float32bits(a*b) ^ rng.Uint32()&3)
	case 2: // c far above the product: ties by half an ulp
		c = float32(math.Ldexp(float64(a)*float64(b), 20+rng.IntN(10)))
	}
	return a, b, c
}

func finite(x float32) bool { return x-x == 0 }

func sameFloat(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func TestFMA32(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	n := 1_000_000
	if testing.Short() {
		n = 200_000
	}
	inexact := 0
	for range n {
		a, b, c := triple(rng)
		got := FMA32(a, b, c)
		var want float32
		if finite(a) && finite(b) && finite(c) {
			var acc big.Accuracy
			want, acc = exact(a, b, c).Float32()
			if acc != big.Exact {
				inexact++
			}
		} else {
			// Infinities and NaN follow the same rules unrounded.
			want = float32(float64(a)*float64(b) + float64(c))
		}
		if !sameFloat(got, want) {
			t.Fatalf("FMA32(%#08x, %#08x, %#08x) = %v (%#08x), want %v (%#08x)", math.Float32bits(a), math.Float32bits(b), math.Float32bits(c),
				got, math.Float32bits(got), want, math.Float32bits(want))
		}
	}
	if inexact < n/10 {
		t.Errorf("only %d of %d cases had to round: the test is too easy", inexact, n)
	}
}

// Through float64 alone the second rounding errs at ties; these are such.
func TestFMA32RoundsOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	wrong := 0
	for range 2_000_000 {
		a, b, c := triple(rng)
		if !finite(a) || !finite(b) || !finite(c) {
			continue
		}
		if twice := float32(math.FMA(float64(a), float64(b), float64(c))); !sameFloat(twice, FMA32(a, b, c)) {
			wrong++
		}
	}
	if wrong == 0 {
		t.Error("rounding twice was never wrong: the draws don't reach the case that FMA32 exists for")
	}
}

// flushed is FMA32Flush by its definition: round to 24 bits with an unbounded
// exponent, then look.
func flushed(a, b, c float32) float32 {
	x := exact(Flush(a), Flush(b), Flush(c))
	r := new(big.Float).SetPrec(24).Set(x)
	f, _ := r.Float32()
	if r.MantExp(nil) <= -126 { // below 2⁻¹²⁶
		return float32(math.Copysign(0, float64(f)))
	}
	return f
}

func TestFMA32Flush(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	check := func(a, b, c float32) {
		t.Helper()
		if got, want := FMA32Flush(a, b, c), flushed(a, b, c); !sameFloat(got, want) {
			t.Fatalf("FMA32Flush(%#08x, %#08x, %#08x) = %v (%#08x), want %v (%#08x)", math.Float32bits(a), math.Float32bits(b), math.Float32bits(c),
				got, math.Float32bits(got), want, math.Float32bits(want))
		}
	}
	edge := 0
	for range 300_000 {
		a, b, c := triple(rng)
		if finite(a) && finite(b) && finite(c) {
			check(a, b, c)
		}
		// Products around the smallest normal number.
		a = math.Float32frombits(rng.Uint32()&0x807fffff | 64<<23)
		b = math.Float32frombits(math.Float32bits(float32(0x1p-126/float64(a))) + rng.Uint32N(8) - 4)
		check(a, b, 0)
		check(a, b, math.Float32frombits(rng.Uint32()&0x80000000|0x00800000|rng.Uint32()&7))
		if sum := FMA32(a, b, 0); sum == minNormal && FMA32Flush(a, b, 0) == 0 {
			edge++
		}
	}
	if edge == 0 {
		t.Error("no draw told tininess after rounding from tininess of the rounded")
	}
}

func TestFlush(t *testing.T) {
	for _, c := range []struct{ in, want uint32 }{
		{0x00000000, 0}, {0x80000000, 0x80000000}, {0x00000001, 0}, {0x807fffff, 0x80000000}, {0x00800000, 0x00800000},
		{0x80800000, 0x80800000}, {0x7f800000, 0x7f800000}, {0x7fc00000, 0x7fc00000}, {0x3f800000, 0x3f800000},
	} {
		if got := math.Float32bits(Flush(math.Float32frombits(c.in))); got != c.want {
			t.Errorf("Flush(%#08x) = %#08x, want %#08x", c.in, got, c.want)
		}
	}
}

func BenchmarkFMA32(b *testing.B) {
	x := float32(0)
	for b.Loop() {
		x = FMA32(1.000001, 0.5, x)
	}
	if x == 0 {
		b.Fatal("nothing was added")
	}
}
