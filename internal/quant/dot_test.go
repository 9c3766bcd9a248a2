package quant

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/half"
)

// scalesAt is where a block has its f16 scales, and minima after them. All other
// bytes may be anything.
var scalesAt = map[Type][]int{
	Q4_0: {0}, Q4_1: {0, 2}, Q5_0: {0}, Q5_1: {0, 2}, Q8_0: {0}, Q2K: {80, 82}, Q3K: {108}, Q4K: {0, 2}, Q5K: {0, 2}, Q6K: {208},
	IQ2XXS: {0}, IQ2XS: {0}, IQ3XXS: {0}, IQ1S: {0}, IQ4NL: {0}, IQ3S: {0}, IQ2S: {0}, IQ4XS: {0}, TQ1_0: {52}, TQ2_0: {64}, Q1_0: {0}, Q2_0: {0},
}

// setScales gives a block the float scales that draw makes, as far as its
// format can say them.
func setScales(f *Format, blk []byte, draw func() float32) {
	for _, at := range scalesAt[f.Type] {
		putF16(blk[at:], draw())
	}
	switch f.Type {
	case MXFP4:
		blk[0] = byte(128 + math.Ilogb(float64(draw())+1e-9))
	case NVFP4:
		for i := range 4 {
			blk[i] = toUE4M3(draw() * 2)
		}
	case IQ1M:
		h := half.F16FromF32(draw())
		for i := range 4 {
			blk[48+2*i+1] = blk[48+2*i+1]&15 | byte(h>>(4*i)&15<<4)
		}
	}
}

// randomRow makes a row of n values: random codes under sane scales.
func randomRow(t *testing.T, rng *rand.Rand, f *Format, n int) []byte {
	t.Helper()
	size, err := f.RowBytes(n)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]byte, size)
	if f.BlockElems == 1 {
		f.Encode(row, normals(rng, n, 0.1))
		return row
	}
	for i := range row {
		row[i] = byte(rng.Uint32())
	}
	for b := 0; b < size; b += f.BlockBytes {
		setScales(f, row[b:b+f.BlockBytes], func() float32 { return float32(rng.NormFloat64() * 0.01) })
	}
	return row
}

// values returns what an Act stands for.
func (a *Act) values() []float64 {
	out := make([]float64, a.N)
	for i := range out {
		if len(a.F) > 0 {
			out[i] = float64(a.F[i])
		} else {
			out[i] = float64(a.Q[i]) * float64(a.D[i/a.Kind.BlockElems()])
		}
	}
	return out
}

// TestDotIsTheProductOfDecodedValues ties each dot to its decode: rounding
// apart, it is the sum of weight × activation.
func TestDotIsTheProductOfDecodedValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, f := range Formats() {
		for round := range 50 {
			n := 256 * (1 + round%4)
			if f.BlockElems == 1 {
				n -= round % 37
			}
			row := randomRow(t, rng, &f, n)
			w := make([]float32, n)
			f.Decode(w, row)
			var act Act
			act.Set(f.Act, normals(rng, n, 1))
			var want, size float64
			for i, x := range act.values() {
				want += float64(w[i]) * x
				size += math.Abs(float64(w[i]) * x)
			}
			gate := 2e-6 * size
			if f.Act == ActQ8x32S {
				gate = 1e-3 * size // its sums are rounded to f16
			}
			if got := float64(f.Dot(row, &act)); math.Abs(got-want) > gate {
				t.Fatalf("%s, %d values: %v, want %v ± %v", f.Name, n, got, want, gate)
			}
		}
	}
}

// TestDotBits pins the definitions: the order of the operations and where they
// round shows in the last bits. The numbers were computed with exact rational
// arithmetic, rounded where the definition rounds (see dotExact).
func TestDotBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, f := range Formats() {
		for range 30 {
			n := 512
			if f.BlockElems == 1 {
				n = 100
			}
			row := randomRow(t, rng, &f, n)
			var act Act
			act.Set(f.Act, normals(rng, n, 1))
			got, want := f.Dot(row, &act), dotExact(t, &f, row, &act)
			if math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("%s: %v (%#08x), by the definition %v (%#08x)", f.Name, got, math.Float32bits(got), want, math.Float32bits(want))
			}
		}
	}
}

func TestDotShowsNaNAndInfinity(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, f := range Formats() {
		row := randomRow(t, rng, &f, 512)
		for _, bad := range []float32{nan, inf, -inf} {
			for _, at := range []int{0, 255, 256, 511} {
				x := normals(rng, 512, 1)
				x[at] = bad
				var act Act
				act.Set(f.Act, x)
				if got := f.Dot(row, &act); !math.IsNaN(float64(got)) && !math.IsInf(float64(got), 0) {
					t.Errorf("%s: %v at %d gives %v", f.Name, bad, at, got)
				}
			}
		}
	}
}

// TestDotExtremes: the largest codes everywhere; integer sums must not wrap.
func TestDotExtremes(t *testing.T) {
	for _, f := range Formats() {
		if f.BlockElems == 1 {
			continue
		}
		for _, fill := range []byte{0x00, 0x7f, 0x80, 0xff} {
			row := make([]byte, f.BlockBytes*256/f.BlockElems)
			for i := range row {
				row[i] = fill
			}
			for b := 0; b < len(row); b += f.BlockBytes {
				setScales(&f, row[b:b+f.BlockBytes], func() float32 { return 1 })
			}
			w := make([]float32, 256)
			f.Decode(w, row)
			for _, x := range []float32{127, -127} {
				xs := make([]float32, 256)
				want := 0.0
				for i := range xs {
					xs[i] = x
					want += float64(w[i]) * float64(x)
				}
				var act Act
				act.Set(f.Act, xs)
				if got := float64(f.Dot(row, &act)); math.Abs(got-want) > 1e-6*math.Abs(want) {
					t.Errorf("%s, bytes %#02x, activations %v: %v, want %v", f.Name, fill, x, got, want)
				}
			}
		}
	}
}

func TestDotRefusesWrongActivations(t *testing.T) {
	for _, f := range Formats() {
		row := make([]byte, f.BlockBytes*256/f.BlockElems)
		for name, act := range map[string]func(*Act){
			"length": func(a *Act) { a.Set(f.Act, make([]float32, 512)) },
			"kind":   func(a *Act) { a.Set((f.Act+1)%4, make([]float32, 256)) },
		} {
			var a Act
			act(&a)
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: activations of the wrong %s were taken", f.Name, name)
					}
				}()
				f.Dot(row, &a)
			}()
		}
	}
}

func TestDotDoesNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, f := range Formats() {
		row := randomRow(t, rng, &f, 512)
		var act Act
		act.Set(f.Act, normals(rng, 512, 1))
		if n := testing.AllocsPerRun(10, func() { f.Dot(row, &act) }); n != 0 {
			t.Errorf("%s: %v allocations", f.Name, n)
		}
	}
}

func BenchmarkDot(b *testing.B) {
	for _, f := range Formats() {
		b.Run(f.Name+"/ref/k=4096", func(b *testing.B) {
			n, _ := f.RowBytes(4096)
			row := make([]byte, n)
			var act Act
			act.Set(f.Act, normals(rand.New(rand.NewPCG(1, 1)), 4096, 1))
			f.Encode(row, normals(rand.New(rand.NewPCG(2, 2)), 4096, 1))
			b.SetBytes(int64(n))
			for b.Loop() {
				f.Dot(row, &act)
			}
		})
	}
}

// TestDotBF16FlushesDenormals: products, the sum of the two chains and the
// row's sum are zero where they would be denormal.
func TestDotBF16FlushesDenormals(t *testing.T) {
	f, _ := Lookup(BF16)
	at := func(pairs map[int][2]float32) float32 {
		w, x := make([]float32, 64), make([]float32, 64)
		for i, p := range pairs {
			w[i], x[i] = p[0], p[1]
		}
		row := make([]byte, 128)
		f.Encode(row, w)
		var act Act
		act.Set(f.Act, x)
		return f.Dot(row, &act)
	}
	const least = 0x1p-126
	for name, c := range map[string]struct {
		pairs map[int][2]float32
		want  float32
	}{
		"least normal":       {map[int][2]float32{0: {0x1p-63, 0x1p-63}}, least},
		"denormal product":   {map[int][2]float32{0: {0x1p-64, 0x1p-63}}, 0},
		"denormal weight":    {map[int][2]float32{0: {0x1p-127, 0x1p10}}, 0},
		"denormal value":     {map[int][2]float32{0: {0x1p10, 0x1p-127}}, 0},
		"chains cancel":      {map[int][2]float32{0: {0x1p-63, 0x1.8p-63}, 1: {-0x1p-63, 0x1p-63}}, 0},
		"blocks cancel":      {map[int][2]float32{0: {0x1p-63, 0x1.8p-63}, 32: {-0x1p-63, 0x1p-63}}, 0},
		"blocks cancel less": {map[int][2]float32{0: {0x1p-63, 0x1.8p-62}, 32: {-0x1p-63, 0x1p-63}}, 2 * least},
	} {
		if got := at(c.pairs); got != c.want {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
}
