package ptxsim

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/paddock-go/paddock/internal/half"
)

func sample(t testing.TB) *Module {
	t.Helper()
	src, err := os.ReadFile("testdata/sample.ptx")
	must(t, err)
	m, err := Parse(string(src))
	must(t, err)
	return m
}

// upload writes values of 4 bytes to new memory.
func upload[T uint32 | int32 | float32](t testing.TB, x *Machine, v []T) uint64 {
	t.Helper()
	b := make([]byte, 4*len(v))
	for i, e := range v {
		switch e := any(e).(type) {
		case uint32:
			binary.LittleEndian.PutUint32(b[4*i:], e)
		case int32:
			binary.LittleEndian.PutUint32(b[4*i:], uint32(e))
		case float32:
			binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(e))
		}
	}
	p, err := x.Alloc(int64(len(b)))
	must(t, err)
	must(t, x.Write(p, b))
	return p
}

func download(t testing.TB, x *Machine, p uint64, n int) []uint32 {
	t.Helper()
	b := make([]byte, 4*n)
	must(t, x.Read(p, b))
	out := make([]uint32, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out
}

// pack64 lays parameters out: uint64 at 8 bytes, int32 at 4.
func pack64(v ...any) []byte {
	var b []byte
	for _, e := range v {
		switch e := e.(type) {
		case uint64:
			for len(b)%8 != 0 {
				b = append(b, 0)
			}
			b = binary.LittleEndian.AppendUint64(b, e)
		case int:
			b = binary.LittleEndian.AppendUint32(b, uint32(e))
		}
	}
	return b
}

// dots prepares dot_rows: its parameters, where it writes and what it must write.
func dots(t testing.TB, x *Machine, rows, words int) (params []byte, out uint64, want []float32) {
	rng := rand.New(rand.NewPCG(7, 8))
	draw := func(n int) []uint32 {
		v := make([]uint32, n)
		for i := range v {
			v[i] = rng.Uint32()
		}
		return v
	}
	w, v := draw(rows*words), draw(words)
	scale := make([]float32, rows)
	want = make([]float32, rows)
	for r := range rows {
		scale[r] = rng.Float32()
		sum := int32(0)
		for i := range words {
			for j := range 4 {
				sum += int32(int8(w[r*words+i]>>(8*j))) * int32(int8(v[i]>>(8*j)))
			}
		}
		want[r] = scale[r] * float32(sum)
	}
	out, err := x.Alloc(int64(4 * rows))
	must(t, err)
	return pack64(upload(t, x, w), upload(t, x, v), upload(t, x, scale), out, words), out, want
}

func TestDotRows(t *testing.T) {
	k := sample(t).Kernel("dot_rows")
	for seed := range uint64(3) {
		x := NewMachine(Options{Seed: seed})
		params, out, want := dots(t, x, 32, 100)
		must(t, x.Launch(k, [3]uint32{4, 1, 1}, [3]uint32{256, 1, 1}, 0, params))
		for r, got := range download(t, x, out, 32) {
			if math.Float32frombits(got) != want[r] {
				t.Errorf("row %d: %v, must be %v", r, math.Float32frombits(got), want[r])
			}
		}
		if s := x.Stats(); s.Launches != 1 || s.Blocks != 4 || s.Lanes < 100*32*4 || s.Warps*32 < s.Lanes {
			t.Errorf("stats %+v", s)
		}
	}
}

func TestSoftmax(t *testing.T) {
	k := sample(t).Kernel("softmax")
	const rows, n = 3, 301
	rng := rand.New(rand.NewPCG(1, 2))
	v := make([]float32, rows*n)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	for seed := range uint64(3) {
		x := NewMachine(Options{Seed: seed})
		p := upload(t, x, v)
		must(t, x.Launch(k, [3]uint32{rows, 1, 1}, [3]uint32{128, 1, 1}, 0, pack64(p, n)))
		got := download(t, x, p, len(v))
		for r := range rows {
			sum := 0.0
			for i := range n {
				sum += math.Exp(float64(v[r*n+i]))
			}
			for i := range n {
				want := math.Exp(float64(v[r*n+i])) / sum
				if d := math.Abs(float64(math.Float32frombits(got[r*n+i]))/want - 1); !(d < 1e-5) {
					t.Fatalf("row %d, column %d: off by %v", r, i, d)
				}
			}
		}
	}
}

func TestTile(t *testing.T) {
	k := sample(t).Kernel("tile")
	const depth = 96
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func(rows int) (words []uint32, v []float32) {
		v = make([]float32, rows*depth)
		words = make([]uint32, rows*depth/2)
		for i := range v {
			v[i] = float32(rng.IntN(9) - 4)
			words[i/2] |= uint32(half.F16FromF32(v[i])) << (16 * (i % 2))
		}
		return words, v
	}
	aw, a := draw(16)
	bw, b := draw(8)
	for seed := range uint64(3) {
		x := NewMachine(Options{Seed: seed})
		c, err := x.Alloc(16 * 8 * 4)
		must(t, err)
		must(t, x.Launch(k, [3]uint32{1, 1, 1}, [3]uint32{32, 1, 1}, 0, pack64(upload(t, x, aw), upload(t, x, bw), c, depth)))
		for i, got := range download(t, x, c, 128) {
			want := float32(0)
			for j := range depth {
				want += a[i/8*depth+j] * b[i%8*depth+j]
			}
			if math.Float32frombits(got) != want {
				t.Fatalf("element %d %d: %v, must be %v", i/8, i%8, math.Float32frombits(got), want)
			}
		}
	}
}

// TestDivergence: each lane takes its own way, in any order, and all come to the end.
func TestDivergence(t *testing.T) {
	k := sample(t).Kernel("collatz")
	for seed := range uint64(8) {
		x := NewMachine(Options{Seed: seed})
		v := make([]uint32, 77)
		for i := range v {
			v[i] = uint32(i + 1)
		}
		p := upload(t, x, v)
		must(t, x.Launch(k, [3]uint32{1, 1, 1}, [3]uint32{77, 1, 1}, 0, pack64(p)))
		for i, got := range download(t, x, p, 77) {
			want := uint32(0)
			for n := i + 1; n != 1; want++ {
				if n%2 == 1 {
					n = 3*n + 1
				} else {
					n /= 2
				}
			}
			if got != want {
				t.Fatalf("seed %d: %d takes %d steps, must be %d", seed, i+1, got, want)
			}
		}
	}
}

// BenchmarkDotRows reports what a lane's instruction costs in a matrix-vector product.
func BenchmarkDotRows(b *testing.B) { benchmark(b, "dot_rows") }

// BenchmarkSoftmax has more of shared memory, BenchmarkCollatz of diverged lanes.
func BenchmarkSoftmax(b *testing.B) { benchmark(b, "softmax") }
func BenchmarkCollatz(b *testing.B) { benchmark(b, "collatz") }
func BenchmarkTile(b *testing.B)    { benchmark(b, "tile") }

func benchmark(b *testing.B, name string) {
	k := sample(b).Kernel(name)
	x := NewMachine(Options{Seed: 1})
	grid, threads := uint32(1), uint32(128)
	var params []byte
	switch name {
	case "dot_rows":
		grid, threads = 8, 256
		params, _, _ = dots(b, x, 64, 1024)
	case "softmax":
		grid = 8
		params = pack64(upload(b, x, make([]float32, 8*1024)), 1024)
	case "collatz":
		threads = 512
	case "tile":
		threads = 32
		c, err := x.Alloc(512)
		must(b, err)
		params = pack64(upload(b, x, make([]uint32, 8*1024)), upload(b, x, make([]uint32, 4*1024)), c, 1024)
	}
	for b.Loop() {
		if name == "collatz" {
			v := make([]uint32, 512)
			for i := range v {
				v[i] = uint32(i + 1)
			}
			params = pack64(upload(b, x, v))
		}
		must(b, x.Launch(k, [3]uint32{grid, 1, 1}, [3]uint32{threads, 1, 1}, 0, params))
	}
	s := x.Stats()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(s.Lanes), "ns/lane")
	b.ReportMetric(float64(s.Lanes)/b.Elapsed().Seconds()/1e6, "Mlane/s")
}
