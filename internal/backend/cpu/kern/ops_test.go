package kern

import (
	"fmt"
	"testing"

	"github.com/paddock-go/paddock/internal/quant"
)

// BenchmarkOps is the small ops of one row of a 135M model and of a 0.6B one, in the
// first cache.
func BenchmarkOps(b *testing.B) {
	for _, l := range Supported() {
		k := New(l)
		for _, n := range []int{576, 1536, 3072} {
			x, y, w := make([]float32, n), make([]float32, n), make([]float32, n)
			for i := range x {
				x[i], y[i], w[i] = float32(i%13)-6, float32(i%7)-3, 1
			}
			small := make([]float32, n)
			for _, op := range []struct {
				name string
				run  func()
			}{
				{"add", func() { k.Add(x, small) }},
				{"norm", func() { k.RMSNorm(y, x, w, 1e-5) }},
				{"layernorm", func() { k.LayerNorm(y, x, w, nil, 1e-5) }},
				{"silu", func() { k.SiLUMul(y, x, w) }},
				{"gelu", func() { k.GELUMul(y, x, w) }},
				{"softmax", func() { copy(y, x); k.Softmax(y) }},
			} {
				b.Run(fmt.Sprintf("%v/%d/%s", l, n, op.name), func(b *testing.B) {
					for b.Loop() {
						op.run()
					}
				})
			}
			for _, kind := range []quant.ActKind{quant.ActF32, quant.ActBF16, quant.ActQ8x32, quant.ActQ8x32S, quant.ActQ8x256} {
				a := NewActs(kind, 1, n)
				b.Run(fmt.Sprintf("%v/%d/round %v", l, n, kind), func(b *testing.B) {
					for b.Loop() {
						k.Round(a, 0, x)
					}
				})
			}
		}
	}
}
