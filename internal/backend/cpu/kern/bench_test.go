package kern

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/quant"
)

// synthetic is a matrix of random codes with harmless scales. Its rows repeat,
// which changes no timing: nothing here branches on values.
func synthetic(f quant.Format, rows, cols int) *Matrix {
	r := rand.New(rand.NewPCG(1, 1))
	one := newProduct(r, f, fillers[0], Lanes, cols, 1)
	pf, _ := Lookup(f.Type)
	m := NewMatrix(pf, rows, cols, make([]byte, Panels(rows)*pf.PanelBytes(cols)))
	for p := range m.Panels() {
		m.Pack(p, one.raw)
	}
	return m
}

// BenchmarkRead is the yardstick for decode: the standard library's vector
// search over bytes that hold no match.
func BenchmarkRead(b *testing.B) {
	for _, mib := range []int{1, 64} {
		b.Run(fmt.Sprintf("%dMiB", mib), func(b *testing.B) {
			data := make([]byte, mib<<20)
			for i := range data {
				data[i] = 1
			}
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if bytes.IndexByte(data, 0) >= 0 {
					b.Fatal("found what is not there")
				}
			}
		})
	}
}

// BenchmarkDecode is one row against a matrix that does not fit the caches; the
// rate is that of reading weights.
func BenchmarkDecode(b *testing.B) { benchmarkLinear(b, 64<<20, 4096, []int{1}) }

// BenchmarkPrefill is many rows against a matrix that fits the second cache.
func BenchmarkPrefill(b *testing.B) { benchmarkLinear(b, 1<<19, 1024, []int{4, 8, 64}) }

func benchmarkLinear(b *testing.B, size, cols int, counts []int) {
	for _, f := range quant.Formats() {
		pf, _ := Lookup(f.Type)
		panels := max(1, size/pf.PanelBytes(cols))
		m := synthetic(f, panels*Lanes, cols)
		for _, l := range Supported() {
			for _, rows := range counts {
				b.Run(fmt.Sprintf("%s/%v/rows=%d", f.Name, l, rows), func(b *testing.B) {
					k := New(l)
					a := NewActs(f.Act, rows, cols)
					x := make([]float32, cols)
					for r := range rows {
						normalActs(1)(rand.New(rand.NewPCG(2, 2)), x)
						k.Round(a, r, x)
					}
					out := make([]float32, rows*m.Rows)
					var sc LinearScratch
					b.SetBytes(int64(len(m.Data)))
					b.ReportAllocs()
					for b.Loop() {
						k.Linear(&sc, m, a, 0, rows, 0, m.Panels(), out, m.Rows)
					}
					ops := 2 * float64(m.Rows) * float64(cols) * float64(rows)
					b.ReportMetric(ops*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "Gop/s")
				})
			}
		}
	}
}

// BenchmarkRow is the small kernels over one row.
func BenchmarkRow(b *testing.B) {
	for _, n := range []int{576, 1536} {
		x, w, dst := make([]float32, n), make([]float32, n), make([]float32, n)
		normalActs(1)(rand.New(rand.NewPCG(4, 4)), x)
		normalActs(1)(rand.New(rand.NewPCG(5, 5)), w)
		q32, q256 := NewActs(quant.ActQ8x32, 1, n), NewActs(quant.ActQ8x256, 1, n)
		for _, c := range []struct {
			name string
			run  func(k *Kernels)
		}{
			{"rmsnorm", func(k *Kernels) { k.RMSNorm(dst, x, w, 1e-5) }},
			{"silu", func(k *Kernels) { k.SiLUMul(dst, x, w) }},
			{"add", func(k *Kernels) { k.Add(dst, x) }},
			{"q8x32", func(k *Kernels) { k.Round(q32, 0, x) }},
			{"q8x256", func(k *Kernels) { k.Round(q256, 0, x) }},
		} {
			for _, l := range Supported() {
				b.Run(fmt.Sprintf("%s/%v/n=%d", c.name, l, n), func(b *testing.B) {
					k := New(l)
					b.SetBytes(int64(4 * n))
					for b.Loop() {
						c.run(k)
					}
				})
			}
		}
	}
}

// BenchmarkPack is repacking one panel, by the definition and at the best level;
// the rate is that of the file's bytes.
func BenchmarkPack(b *testing.B) {
	for _, f := range quant.Formats() {
		p := newProduct(rand.New(rand.NewPCG(6, 6)), f, fillers[0], Lanes, 2048, 1)
		pf, _ := Lookup(f.Type)
		m := NewMatrix(pf, p.rows, p.cols, make([]byte, pf.PanelBytes(p.cols)))
		for _, l := range []Level{Portable, Best()} {
			k := New(l)
			b.Run(f.Name+"/"+l.String(), func(b *testing.B) {
				b.SetBytes(int64(len(p.raw)))
				for b.Loop() {
					k.Pack(m, 0, p.raw)
				}
			})
		}
	}
}
