package kern

import (
	"encoding/binary"

	"github.com/paddock-go/paddock/internal/num"
)

// F16 panels hold 16 rows' values of one k after another. Widening is exact and
// activations are not rounded.

func packF16(dst, src []byte, lane int) {
	for k := 0; 2*k+2 <= len(src); k++ {
		binary.LittleEndian.PutUint16(dst[32*k+2*lane:], binary.LittleEndian.Uint16(src[2*k:]))
	}
}

func unpackF16(dst []float32, panel []byte, lane int) {
	for ; len(panel) >= 32; panel, dst = panel[32:], dst[1:] {
		dst[0] = scaleAt(panel, lane)
	}
}

func dotF16(a *dotArgs) {
	w := a.panel(32)
	var acc [Lanes]float32
	for k, x := range a.floats(1) {
		for l := range acc {
			acc[l] = num.FMA32(scaleAt(w[32*k:], l), x, acc[l])
		}
	}
	*a.lanes() = acc
}
