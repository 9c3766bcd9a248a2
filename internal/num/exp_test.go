package num

import (
	"math"
	"math/rand/v2"
	"testing"
)

// ulps is how many representable values lie between a and b.
func ulps(a, b float64) float64 {
	if a == b || (a != a && b != b) {
		return 0
	}
	if math.IsInf(a, 0) || math.IsInf(b, 0) || a != a || b != b {
		return math.Inf(1)
	}
	u := math.Nextafter(math.Abs(b), math.Inf(1)) - math.Abs(b)
	return math.Abs(a-b) / u
}

func TestExp32(t *testing.T) {
	worst := 0.0
	check := func(x float32) {
		got, want := Exp32(x), math.Exp(float64(x))
		if x < ExpMin {
			if got != 0 {
				t.Fatalf("Exp32(%v) = %v, want 0", x, got)
			}
			return
		}
		w := float32(want)
		if math.IsInf(float64(w), 1) {
			if got != w {
				t.Fatalf("Exp32(%v) = %v, want +Inf", x, got)
			}
			return
		}
		u := float64(math.Nextafter32(w, float32(math.Inf(1))) - w)
		worst = max(worst, math.Abs(float64(got)-want)/u)
	}
	for x := float32(-90); x < 90; x += 0.00137 {
		check(x)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200000 {
		check(float32(r.NormFloat64()))
		check(float32(r.NormFloat64()) * 1e-6)
	}
	for _, x := range []float32{0, 1, -1, ExpMax, ExpMin, 89, -88, float32(math.Inf(1)), float32(math.Inf(-1))} {
		check(x)
	}
	if worst > 1.1 {
		t.Errorf("Exp32 is off by %.3f ulp", worst)
	}
	if got := Exp32(float32(math.NaN())); got == got {
		t.Errorf("Exp32(NaN) = %v", got)
	}
	if Exp32(0) != 1 {
		t.Error("Exp32(0) != 1")
	}
	t.Logf("worst %.3f ulp", worst)
}

func TestExpLog64(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var we, wl float64
	for range 300000 {
		x := (r.Float64() - 0.5) * 1400
		if r.IntN(2) == 0 {
			x = r.NormFloat64()
		}
		we = max(we, ulps(Exp64(x), math.Exp(x)))
		y := math.Exp((r.Float64() - 0.5) * 1300)
		if r.IntN(2) == 0 {
			y = 1 + r.NormFloat64()*0.01
		}
		wl = max(wl, ulps(Log64(y), math.Log(y)))
	}
	if we > 3 || wl > 3 {
		t.Errorf("Exp64 off by %.1f ulp, Log64 by %.1f", we, wl)
	}
	t.Logf("worst against math: exp %.1f ulp, log %.1f ulp", we, wl)
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct{ got, want float64 }{
		{Exp64(inf), inf}, {Exp64(-inf), 0}, {Exp64(nan), nan}, {Exp64(0), 1}, {Exp64(710), inf}, {Exp64(-746), 0},
		{Log64(0), -inf}, {Log64(-1), nan}, {Log64(inf), inf}, {Log64(nan), nan}, {Log64(1), 0},
	} {
		if ulps(c.got, c.want) != 0 {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
	for _, x := range []float64{-745, -740, -710, -708.5} {
		if d := math.Abs(Exp64(x) - math.Exp(x)); d > 2*math.SmallestNonzeroFloat64+1e-15*math.Exp(x) {
			t.Errorf("Exp64(%v) = %v, want %v", x, Exp64(x), math.Exp(x))
		}
	}
	// math.Log is assembly on amd64 and wrong for subnormals: fixed values.
	for _, c := range []struct{ x, want float64 }{{5e-324, -744.4400719213812}, {math.MaxFloat64, 709.782712893384}} {
		if u := ulps(Log64(c.x), c.want); u > 2 {
			t.Errorf("Log64(%v) off by %v ulp", c.x, u)
		}
	}
}

func TestPow64(t *testing.T) {
	worst := 0.0
	for _, base := range []float64{10000, 500000, 1e6, 8e6, 1.5, 0.25, 2} {
		for _, dim := range []int{8, 48, 64, 128, 256} {
			for i := 0; i < dim; i += 2 {
				y := -float64(i) / float64(dim)
				worst = max(worst, ulps(Pow64(base, y), math.Pow(base, y)))
			}
		}
	}
	if worst > 16 {
		t.Errorf("Pow64 off by %.1f ulp", worst)
	}
	t.Logf("worst %.1f ulp", worst)
	if Pow64(3, 0) != 1 || Pow64(0, 2) != 0 || !math.IsNaN(Pow64(-1, 0.5)) || !math.IsInf(Pow64(1e300, 1e10), 1) {
		t.Error("special values of Pow64")
	}
}

func TestSinCos64(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	worst := 0.0
	for i := range 400000 {
		x := float64(r.IntN(1<<20)) * float64(float32(Pow64(10000, -r.Float64())))
		if i%3 == 0 {
			x = r.NormFloat64()
		}
		if i%3 == 1 {
			x = -x
		}
		s, c := SinCos64(x)
		ws, wc := math.Sincos(x)
		// Near a zero of either, math's own three-part reduction is the weaker
		// one, so the yardstick there is an ulp of 2⁻¹⁰.
		floor := math.Ldexp(1, -62)
		for _, d := range []struct{ got, want float64 }{{s, ws}, {c, wc}} {
			u := max(math.Nextafter(math.Abs(d.want), 2)-math.Abs(d.want), floor)
			worst = max(worst, math.Abs(d.got-d.want)/u)
		}
	}
	if worst > 3 {
		t.Errorf("SinCos64 off by %.1f ulp", worst)
	}
	t.Logf("worst %.2f ulp", worst)
	if s, c := SinCos64(0); s != 0 || c != 1 {
		t.Errorf("SinCos64(0) = %v, %v", s, c)
	}
	if s, c := SinCos64(math.Inf(1)); s == s || c == c {
		t.Errorf("SinCos64(+Inf) = %v, %v", s, c)
	}
}

func TestActivations(t *testing.T) {
	for x := float64(-30); x < 30; x += 0.0173 {
		f := float32(x)
		x64 := float64(f)
		silu := x64 / (1 + math.Exp(-x64))
		x64 = float64(RoundHalf(f)) // the table that GELU32 stands for
		gelu := x64 * 0.5 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x64+0.044715*x64*x64*x64)))
		if f >= 10 {
			gelu = float64(f)
		}
		if d := math.Abs(float64(SiLU32(f)) - silu); d > 1e-6*math.Abs(silu)+1e-12 {
			t.Fatalf("SiLU32(%v) = %v, want %v", f, SiLU32(f), silu)
		}
		if d := math.Abs(float64(GELU32(f)) - gelu); d > 4.9e-4*math.Abs(gelu)+3.1e-8 { // the result has 11 bits, at least 2⁻²⁴
			t.Fatalf("GELU32(%v) = %v, want %v", f, GELU32(f), gelu)
		}
	}
	inf := float32(math.Inf(1))
	for _, c := range []struct{ got, want float32 }{
		{SiLU32(inf), inf}, {SiLU32(0), 0}, {SiLU32(-1e30), 0}, {GELU32(1e30), 1e30}, {GELU32(-1e30), 0}, {GELU32(0), 0},
	} {
		if c.got != c.want {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
}

// TestRoundHalf holds the rounding against all halves: each is itself, what lies
// between two goes to the nearer one, the middle to the even one.
func TestRoundHalf(t *testing.T) {
	value := func(h uint16) float32 { // of a finite positive half
		if h < 0x400 {
			return float32(h) * 0x1p-24
		}
		return math.Float32frombits(uint32(h)<<13 + 112<<23)
	}
	for h := uint16(0); h < 0x7bff; h++ {
		low, high := value(h), value(h+1)
		middle := (low + high) / 2
		even := low
		if h&1 == 1 {
			even = high
		}
		for _, c := range []struct{ x, want float32 }{
			{low, low}, {math.Nextafter32(middle, 0), low}, {middle, even}, {math.Nextafter32(middle, high), high},
		} {
			if got := RoundHalf(c.x); got != c.want {
				t.Fatalf("RoundHalf(%v) = %v, want %v", c.x, got, c.want)
			}
			if got := RoundHalf(-c.x); math.Float32bits(got) != math.Float32bits(-c.want) {
				t.Fatalf("RoundHalf(%v) = %v, want %v", -c.x, got, -c.want)
			}
		}
	}
	if v := RoundHalf(math.Float32frombits(0x7fffffff)); v == v {
		t.Errorf("RoundHalf(NaN) = %v", v)
	}
}

func TestSoftcap32(t *testing.T) {
	for _, limit := range []float32{8, 30, 50} {
		for x := float32(-300); x < 300; x += 0.37 {
			want := float64(limit) * math.Tanh(float64(x)/float64(limit))
			if d := math.Abs(float64(Softcap32(x, limit)) - want); d > 4e-7*float64(limit) {
				t.Fatalf("Softcap32(%v, %v) = %v, want %v", x, limit, Softcap32(x, limit), want)
			}
		}
	}
	inf := float32(math.Inf(1))
	if Softcap32(inf, 8) != 8 || Softcap32(-inf, 8) != -8 || Softcap32(0, 8) != 0 {
		t.Errorf("Softcap32 at +Inf, −Inf and 0: %v, %v, %v", Softcap32(inf, 8), Softcap32(-inf, 8), Softcap32(0, 8))
	}
	if v := Softcap32(inf-inf, 8); v == v {
		t.Errorf("Softcap32(NaN) = %v", v)
	}
}

func TestTree16(t *testing.T) {
	// Halves meet first: 2²⁴ + 1 would be lost in any order that adds neighbours.
	l := [16]float32{0: 1 << 24, 8: -1 << 24, 1: 1, 9: 2}
	if got := Tree16(&l); got != 3 {
		t.Errorf("Tree16 = %v, want 3", got)
	}
}
