package quant

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/half"
)

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

func normals(rng *rand.Rand, n int, scale float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64() * scale)
	}
	return x
}

// TestQ8x256LikePeer: the usual arithmetic of this rounding carries the sign of
// the largest value; ours does not, and every q × d has the same bits.
func TestQ8x256LikePeer(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var act Act
	for round := range 200 {
		x := normals(rng, 256, math.Ldexp(1, round%60-30))
		if round%3 == 0 {
			x[round] = -x[0] // equal magnitudes
		}
		act.Set(ActQ8x256, x)
		largest := widest(x)
		inv := -127 / largest
		d := 1 / inv
		for i, v := range x {
			q := min(127, int(math.RoundToEven(float64(float32(inv*v)))))
			want, got := float32(float32(q)*d), float32(float32(act.Q[i])*act.D[0])
			if want == 0 {
				got, want = float32(math.Abs(float64(got))), 0
			}
			if math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("round %d, value %d: %d × %v, the peer has %d × %v", round, i, act.Q[i], act.D[0], q, d)
			}
		}
		for s, sum := range act.Sums {
			want := 0
			for _, q := range act.Q[s*16 : s*16+16] {
				want += int(q)
			}
			if int(sum) != want {
				t.Fatalf("sum %d is %d, want %d", s, sum, want)
			}
		}
	}
}

func TestQ8x32Definition(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var act Act
	for round := range 200 {
		x := normals(rng, 64, math.Ldexp(1, round%20-10))
		act.Set(ActQ8x32, x)
		for b := range 2 {
			var amax float32
			for _, v := range x[b*32 : b*32+32] {
				amax = max(amax, float32(math.Abs(float64(v))))
			}
			d := amax / 127
			id := 1 / d
			if want := half.F16ToF32(half.F16FromF32(d)); act.D[b] != want {
				t.Fatalf("scale %v, want %v", act.D[b], want)
			}
			for i, v := range x[b*32 : b*32+32] {
				if want := math.RoundToEven(float64(float32(v * id))); float64(act.Q[b*32+i]) != want {
					t.Fatalf("%v × %v is %d, want %v", v, id, act.Q[b*32+i], want)
				}
			}
		}
	}
}

// TestQ8x32SDefinition: quants and scales of ActQ8x32, and sums that are rounded
// to f16 as long as they fit.
func TestQ8x32SDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var act, plain Act
	for round := range 200 {
		x := normals(rng, 90, math.Ldexp(1, round%40-20))
		act.Set(ActQ8x32S, x)
		plain.Set(ActQ8x32, x)
		for i, q := range plain.Q {
			if act.Q[i] != q || act.D[i/32] != plain.D[i/32] {
				t.Fatalf("quant %d is %d × %v, want %d × %v", i, act.Q[i], act.D[i/32], q, plain.D[i/32])
			}
		}
		for b, got := range act.S {
			var sum int
			for _, q := range act.Q[32*b : 32*b+32] {
				sum += int(q)
			}
			amax := maxAbs(x[32*b : min(32*b+32, len(x))])
			want := float32(sum) * (amax / 127)
			if math.Abs(float64(want)) < 65520 {
				want = half.F16ToF32(half.F16FromF32(want))
			}
			if got != want || math.IsInf(float64(got), 0) {
				t.Fatalf("round %d: sum of block %d is %v, want %v", round, b, got, want)
			}
		}
	}
}

func TestActHalvesRoundToEven(t *testing.T) {
	x := make([]float32, 32)
	x[0], x[1], x[2], x[3], x[4] = 127, 0.5, 1.5, 2.5, -2.5
	var act Act
	act.Set(ActQ8x32, x)
	for i, want := range []int8{127, 0, 2, 2, -2} {
		if act.Q[i] != want {
			t.Errorf("%v becomes %d, want %d", x[i], act.Q[i], want)
		}
	}
}

// TestActExtremes: whatever comes in, quants stay within ±127, and NaN or
// infinity shows in the scale.
func TestActExtremes(t *testing.T) {
	huge, tiny := float32(math.MaxFloat32), float32(math.SmallestNonzeroFloat32)
	for _, kind := range []ActKind{ActQ8x32, ActQ8x256} {
		for name, c := range map[string]struct {
			x      []float32
			q0, q1 int8
			scale  func(d float32) bool
		}{
			"zero":      {[]float32{0, 0}, 0, 0, func(d float32) bool { return d == 0 }},
			"nan":       {[]float32{nan, 1}, 0, 0, func(d float32) bool { return d != d }},
			"late nan":  {[]float32{1, nan}, 0, 0, func(d float32) bool { return d != d }},
			"inf":       {[]float32{inf, 1}, 0, 0, func(d float32) bool { return d == inf }},
			"-inf":      {[]float32{1, -inf}, 0, 0, func(d float32) bool { return d == inf }},
			"denormal":  {[]float32{tiny, 0}, 127, 0, func(d float32) bool { return d == 0 }},
			"-denormal": {[]float32{0, -tiny}, 0, -127, func(d float32) bool { return d == 0 }},
			"huge":      {[]float32{huge, -huge}, 127, -127, func(d float32) bool { return d > 1e30 }},
		} {
			var act Act
			act.Set(kind, append(c.x, make([]float32, kind.BlockElems()-2)...))
			q0, q1 := c.q0, c.q1
			if kind == ActQ8x32 && strings.HasSuffix(name, "denormal") {
				q0, q1 = act.Q[0], act.Q[1] // the scale underflows first; only the range is fixed
			}
			if act.Q[0] != q0 || act.Q[1] != q1 || !c.scale(act.D[0]) {
				t.Errorf("%v, %s: quants %d, %d and scale %v", kind, name, act.Q[0], act.Q[1], act.D[0])
			}
		}
	}
}

func TestActPadsWithZeros(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, kind := range []ActKind{ActF32, ActBF16, ActQ8x32, ActQ8x256} {
		e := kind.BlockElems()
		var short, long Act
		// Memory with old values in it must not show.
		short.Set(kind, normals(rng, 3*e, 1))
		x := normals(rng, e+(e+1)/2, 1)
		short.Set(kind, x)
		long.Set(kind, append(x, make([]float32, 2*e-len(x))...))
		if short.N != len(x) || len(short.Q) != len(long.Q) || len(short.D) != len(long.D) || len(short.Sums) != len(long.Sums) || len(short.F) != len(long.F) {
			t.Fatalf("%v: lengths differ", kind)
		}
		for i := range short.Q {
			if short.Q[i] != long.Q[i] {
				t.Fatalf("%v: quant %d is %d, want %d", kind, i, short.Q[i], long.Q[i])
			}
		}
		for i := range short.F {
			if short.F[i] != long.F[i] {
				t.Fatalf("%v: value %d is %v, want %v", kind, i, short.F[i], long.F[i])
			}
		}
		for i := range short.Sums {
			if short.Sums[i] != long.Sums[i] {
				t.Fatalf("%v: sum %d is %d, want %d", kind, i, short.Sums[i], long.Sums[i])
			}
		}
	}
}

func TestRoundBF16FlushesFirst(t *testing.T) {
	// Just below the smallest normal: rounding alone would carry it up.
	below := math.Float32frombits(0x007fffff)
	dst := make([]float32, 4)
	RoundBF16(dst, []float32{below, -below, 1 + 1.0/256})
	for i, want := range []uint32{0, 0x80000000, 0x3f800000, 0} {
		if got := math.Float32bits(dst[i]); got != want {
			t.Errorf("value %d is %#08x, want %#08x", i, got, want)
		}
	}
}

func TestActSetWarmDoesNotAllocate(t *testing.T) {
	x := normals(rand.New(rand.NewPCG(4, 4)), 512, 1)
	for _, kind := range []ActKind{ActF32, ActBF16, ActQ8x32, ActQ8x256} {
		var act Act
		act.Set(kind, x)
		if n := testing.AllocsPerRun(20, func() { act.Set(kind, x) }); n != 0 {
			t.Errorf("%v: %v allocations", kind, n)
		}
	}
}
