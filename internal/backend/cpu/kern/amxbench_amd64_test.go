//go:build !noasm

package kern

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/cpuid"
	"github.com/paddock-go/paddock/internal/quant"
)

// withoutTiles is a unit that leaves the products out.
func withoutTiles() *amxUnit {
	natives := map[uintptr]func(*tileArgs){}
	for code, run := range vectorPhases {
		natives[amxCode(code)] = run
	}
	without := func(a *tileArgs) {
		run := natives[a.scale]
		for ; a.times > 0; a.times-- {
			run(a)
		}
	}
	return &amxUnit{int8: without, bf16: without}
}

// What surrounds the tile phase allocates once for a worker, and then nothing.
func TestTilesAllocateNothing(t *testing.T) {
	if !cpuid.Detect().AVX512VNNI {
		t.Skip("the vector phases need AVX-512 with VNNI")
	}
	k := newKernels(AVX512VNNI)
	k.amx = withoutTiles()
	for _, typ := range []quant.Type{quant.Q8_0, quant.Q4K, quant.BF16} {
		f, _ := quant.Lookup(typ)
		p := newProduct(rand.New(rand.NewPCG(12, 13)), f, fillers[0], 40, 256, 20)
		m, a, out := p.matrix(), NewActs(f.Act, p.n, p.cols), make([]float32, p.n*p.rows)
		var sc LinearScratch
		n := testing.AllocsPerRun(10, func() {
			for i := range p.n {
				k.Round(a, i, p.x[i*p.cols:(i+1)*p.cols])
			}
			k.Linear(&sc, m, a, 0, p.n, 0, m.Panels(), out, p.rows)
		})
		if n != 0 || sc.amx == nil {
			t.Errorf("%s: %v allocations, scratch made: %v", f.Name, n, sc.amx != nil)
		}
	}
}

// BenchmarkTiles is prefill with tiles. Where there is no tile unit its products
// are left out, and the results are wrong: the rate is what expansion and
// scaling alone would allow, the ceiling of any unit.
func BenchmarkTiles(b *testing.B) {
	if !cpuid.Detect().AVX512VNNI {
		b.Skip("the vector phases need AVX-512 with VNNI")
	}
	name, k := "vectors", newKernels(AVX512VNNI)
	if slices.Contains(Supported(), AMX) {
		name, k = "tiles", New(AMX)
	} else {
		k.amx = withoutTiles()
	}
	const cols = 1024
	for _, f := range tiled() {
		pf, _ := Lookup(f.Type)
		m := synthetic(f, max(2, 1<<19/pf.PanelBytes(cols))*Lanes, cols)
		for _, rows := range []int{16, 32, 128} {
			b.Run(fmt.Sprintf("%s/%s/rows=%d", f.Name, name, rows), func(b *testing.B) {
				a, x := NewActs(f.Act, rows, cols), make([]float32, cols)
				for r := range rows {
					normalActs(1)(rand.New(rand.NewPCG(2, 2)), x)
					k.Round(a, r, x)
				}
				out := make([]float32, rows*m.Rows)
				var sc LinearScratch
				for b.Loop() {
					k.Linear(&sc, m, a, 0, rows, 0, m.Panels(), out, m.Rows)
				}
				ops := 2 * float64(m.Rows) * float64(cols) * float64(rows)
				b.ReportMetric(ops*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "Gop/s")
			})
		}
	}
}
