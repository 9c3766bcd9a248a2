//go:build !noasm

package kern

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/cpuid"
)

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
		k.amx = &amxUnit{int8: without, bf16: without}
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
