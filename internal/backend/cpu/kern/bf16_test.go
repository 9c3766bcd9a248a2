package kern

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/paddock-go/paddock/internal/quant"
)

// TestBF16TinyAfterRounding has sums next to the least normal float, where units
// that look for tiny results before rounding flush what the definition keeps.
func TestBF16TinyAfterRounding(t *testing.T) {
	f, _ := quant.Lookup(quant.BF16)
	for _, c := range []struct {
		name  string
		minus float32 // what is taken off 2⁻¹²⁶, over 2⁻⁵²
		want  float32
	}{
		{"nothing taken off", 0, 0x1p-126},
		{"rounded up with 24 bits", -0x1p-100, 0x1p-126},
		{"rounded up by the denormal grid only", -0x1p-98, 0},
		{"denormal", -0x1p-90, 0},
	} {
		const rows, cols, n = 35, 64, 5
		p := &product{f: f, rows: rows, cols: cols, n: n, raw: make([]byte, rows*cols*2), x: make([]float32, n*cols), want: make([]float32, n*rows)}
		for o := range rows {
			for k, w := range []float32{0x1p-63, 0, c.minus} {
				binary.LittleEndian.PutUint16(p.raw[2*(o*cols+k):], uint16(math.Float32bits(w)>>16))
			}
		}
		for i := range n {
			copy(p.x[i*cols:], []float32{0x1p-63, 0, 0x1p-52})
		}
		p.reference()
		if p.want[0] != c.want {
			t.Fatalf("%s: the reference gives %v, want %v", c.name, p.want[0], c.want)
		}
		eachLevel(t, func(t *testing.T, k *Kernels) { p.check(t, k, fmt.Sprintf("%v, %s", k.Level(), c.name)) })
	}
}
