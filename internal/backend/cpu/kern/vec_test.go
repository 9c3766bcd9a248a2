package kern

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/quant"
)

var rowLengths = []int{1, 7, 15, 16, 17, 31, 32, 33, 64, 100, 255, 256, 257, 300, 512, 576, 1537}

// rowFillers make rows of every character that the kernels meet.
var rowFillers = []struct {
	name string
	fill func(*rand.Rand, []float32)
}{
	{"normal", normalActs(1)},
	{"wide", func(r *rand.Rand, x []float32) {
		for i := range x {
			x[i] = float32(r.NormFloat64() * math.Exp(r.NormFloat64()*20))
		}
	}},
	{"exp range", normalActs(50)},
	{"tiny", normalActs(1e-40)},
	{"zero", func(_ *rand.Rand, x []float32) { clear(x) }},
	{"minus zero", func(_ *rand.Rand, x []float32) {
		for i := range x {
			x[i] = float32(math.Copysign(0, -1))
		}
	}},
	{"any", anyFloats},
	{"halves", func(r *rand.Rand, x []float32) { // ties of the rounding to 8 bit
		for i := range x {
			x[i] = float32(r.IntN(509)-254) / 2
		}
		x[0] = 127
	}},
	{"infinities", func(r *rand.Rand, x []float32) {
		normalActs(1)(r, x)
		x[r.IntN(len(x))] = float32(math.Inf(1 - 2*r.IntN(2)))
	}},
	{"edges of gelu", func(r *rand.Rand, x []float32) {
		for i := range x {
			edge := []float32{10, -10, 0, 0x1p-14, -0x1p-14, 0x1p-24, 1, -5}[r.IntN(8)]
			x[i] = math.Float32frombits(math.Float32bits(edge) + uint32(r.IntN(0x4000)) - 0x2000)
		}
	}},
	{"edges of exp", func(r *rand.Rand, x []float32) {
		for i := range x {
			edge := []float32{num.ExpMax, num.ExpMin, -num.ExpMax, -num.ExpMin, 0, 88, -88}[r.IntN(7)]
			x[i] = math.Float32frombits(math.Float32bits(edge) + uint32(r.IntN(7)) - 3)
		}
	}},
}

// vecCase is a call of one kernel on rows a, b, c that writes dst.
var vecCases = []struct {
	name string
	run  func(k *Kernels, dst, a, b, c []float32)
}{
	{"RMSNorm", func(k *Kernels, dst, a, b, c []float32) { k.RMSNorm(dst, a, b, 1e-5) }},
	{"LayerNorm", func(k *Kernels, dst, a, b, c []float32) { k.LayerNorm(dst, a, b, c, 1e-5) }},
	{"LayerNorm without bias", func(k *Kernels, dst, a, b, c []float32) { k.LayerNorm(dst, a, b, nil, 1e-5) }},
	{"Add", func(k *Kernels, dst, a, b, c []float32) { copy(dst, a); k.Add(dst, b) }},
	{"AddScaled", func(k *Kernels, dst, a, b, c []float32) { copy(dst, a); k.AddScaled(dst, b, 0.22) }},
	{"Softcap", func(k *Kernels, dst, a, b, c []float32) { copy(dst, a); k.Softcap(dst, 30) }},
	{"SiLUMul", func(k *Kernels, dst, a, b, c []float32) { k.SiLUMul(dst, a, b) }},
	{"GELUMul", func(k *Kernels, dst, a, b, c []float32) { k.GELUMul(dst, a, b) }},
	{"RopeHalves", func(k *Kernels, dst, a, b, c []float32) { copy(dst, a); k.RopeHalves(dst, b[:len(dst)/2], c) }},
	{"RopePairs", func(k *Kernels, dst, a, b, c []float32) { copy(dst, a); k.RopePairs(dst, b[:len(dst)/2], c) }},
	{"SiLUMul in place", func(k *Kernels, dst, a, b, c []float32) { copy(dst, a); k.SiLUMul(dst, dst, b) }},
}

func TestVecAgainstPortable(t *testing.T) {
	portable := New(Portable)
	eachLevel(t, func(t *testing.T, k *Kernels) {
		for _, c := range vecCases {
			r := rand.New(rand.NewPCG(20, 21))
			for _, fill := range rowFillers {
				for _, n := range rowLengths {
					rows := make([][]float32, 5)
					for i := range rows {
						rows[i] = make([]float32, n+1)
						fill.fill(r, rows[i][1:]) // off any alignment
						rows[i] = rows[i][1:]
					}
					c.run(k, rows[0], rows[2], rows[3], rows[4])
					c.run(portable, rows[1], rows[2], rows[3], rows[4])
					wantBits(t, fmt.Sprintf("%s, %s, %d values", c.name, fill.name, n), rows[0], rows[1])
				}
			}
		}
	})
}

func TestNormsAgainstFloat64(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 23))
	eachLevel(t, func(t *testing.T, k *Kernels) {
		n := 576
		x, w, b, got := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
		normalActs(3)(r, x)
		normalActs(1)(r, w)
		normalActs(1)(r, b)
		var sum, ss float64
		for _, v := range x {
			sum += float64(v)
			ss += float64(v) * float64(v)
		}
		mean := sum / float64(n)
		rms := math.Sqrt(ss/float64(n) + 1e-5)
		dev := math.Sqrt(ss/float64(n) - mean*mean + 1e-5)
		k.RMSNorm(got, x, w, 1e-5)
		for i := range got {
			if want := float64(x[i]) / rms * float64(w[i]); math.Abs(float64(got[i])-want) > 1e-5 {
				t.Fatalf("RMSNorm: value %d is %v, want %v", i, got[i], want)
			}
		}
		k.LayerNorm(got, x, w, b, 1e-5)
		for i := range got {
			if want := (float64(x[i])-mean)/dev*float64(w[i]) + float64(b[i]); math.Abs(float64(got[i])-want) > 1e-5 {
				t.Fatalf("LayerNorm: value %d is %v, want %v", i, got[i], want)
			}
		}
	})
}

func TestRoundAgainstQuant(t *testing.T) {
	eachLevel(t, func(t *testing.T, k *Kernels) {
		r := rand.New(rand.NewPCG(24, 25))
		var ref quant.Act
		for _, fill := range rowFillers {
			for _, n := range rowLengths {
				x := make([]float32, n)
				fill.fill(r, x)
				for _, kind := range []quant.ActKind{quant.ActF32, quant.ActBF16, quant.ActQ8x32, quant.ActQ8x256, quant.ActQ8x32S} {
					what := fmt.Sprintf("%v, %s, %d values", kind, fill.name, n)
					a := NewActs(kind, 2, n)
					for i := range a.q { // what an earlier step left
						a.q[i] = 99
					}
					k.Round(a, 1, x)
					ref.Set(kind, x)
					wantBits(t, what, a.f[len(a.f)/2:], ref.F)
					wantBits(t, what+", scales", a.d[len(a.d)/2:], ref.D)
					q := a.q[len(a.q)/2:]
					for i, v := range ref.Q {
						if q[i] != v {
							t.Fatalf("%s: quant %d is %d, want %d", what, i, q[i], v)
						}
					}
					wantBits(t, what+", sums", a.sum[len(a.sum)/2:], ref.S)
					checkSums(t, what, a, ref.Q)
				}
			}
		}
	})
}

// checkSums compares the sums of row 1 of a with those of its quants.
func checkSums(t *testing.T, what string, a *Acts, q []int8) {
	t.Helper()
	sum := func(from, n int) (s int32) {
		for _, v := range q[from : from+n] {
			s += int32(v)
		}
		return s
	}
	for b, s := range a.s[len(a.s)/2:] {
		if want := sum(32*b, 32); s != want {
			t.Fatalf("%s: sum of block %d is %d, want %d", what, b, s, want)
		}
	}
	sub := a.sub[len(a.sub)/2:]
	for b := 0; b < len(sub)/subSums; b++ {
		for j := range 16 {
			if got, want := int32(sub[b*subSums+j]), sum(256*b+16*j, 16); got != want {
				t.Fatalf("%s: block %d, sum %d of 16 is %d, want %d", what, b, j, got, want)
			}
		}
		for j := range 8 {
			if got, want := int32(sub[b*subSums+16+j]), sum(256*b+32*j, 32); got != want {
				t.Fatalf("%s: block %d, sum %d of 32 is %d, want %d", what, b, j, got, want)
			}
		}
	}
}

func TestRope(t *testing.T) {
	r := rand.New(rand.NewPCG(26, 27))
	eachLevel(t, func(t *testing.T, k *Kernels) {
		const n = 24 // values that rotate, of 32
		cos, sin := make([]float32, n/2), make([]float32, n/2)
		for i := range cos {
			s, c := num.SinCos64(float64(i) * 0.37)
			cos[i], sin[i] = float32(c), float32(s)
		}
		for _, rope := range []struct {
			name string
			run  func(x, cos, sin []float32)
			pair func(i int) (int, int)
		}{
			{"halves", k.RopeHalves, func(i int) (int, int) { return i, i + n/2 }},
			{"pairs", k.RopePairs, func(i int) (int, int) { return 2 * i, 2*i + 1 }},
		} {
			x := make([]float32, 32)
			normalActs(1)(r, x)
			was := append([]float32(nil), x...)
			rope.run(x, cos, sin)
			for i := range n / 2 {
				a, b := rope.pair(i)
				z := complex(float64(was[a]), float64(was[b])) * complex(float64(cos[i]), float64(sin[i]))
				if math.Abs(real(z)-float64(x[a])) > 1e-6 || math.Abs(imag(z)-float64(x[b])) > 1e-6 {
					t.Fatalf("%s: pair %d is %v, %v, want %v", rope.name, i, x[a], x[b], z)
				}
			}
			wantBits(t, rope.name+" beyond the rotated part", x[n:], was[n:])
		}
	})
}

func TestVecAllocatesNothing(t *testing.T) {
	rows := make([][]float32, 4)
	for i := range rows {
		rows[i] = make([]float32, 100)
	}
	eachLevel(t, func(t *testing.T, k *Kernels) {
		for _, c := range vecCases {
			if n := testing.AllocsPerRun(5, func() { c.run(k, rows[0], rows[1], rows[2], rows[3]) }); n != 0 {
				t.Errorf("%s: %v allocations", c.name, n)
			}
		}
	})
}
