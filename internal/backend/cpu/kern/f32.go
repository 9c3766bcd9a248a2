package kern

import (
	"encoding/binary"
	"math"

	"github.com/paddock-go/paddock/internal/num"
)

// F32 panels hold 16 rows' values of one k after another.

func packF32(dst, src []byte, lane int) { scatter(dst[4*lane:], src) }

func unpackF32(dst []float32, panel []byte, lane int) {
	for ; len(panel) >= 64; panel, dst = panel[64:], dst[1:] {
		dst[0] = f32At(panel, lane)
	}
}

func f32At(b []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
}

func dotF32(a *dotArgs) {
	w := a.panel(64)
	var acc [Lanes]float32
	for k, x := range a.floats(1) {
		for l := range acc {
			acc[l] = num.FMA32(f32At(w[64*k:], l), x, acc[l])
		}
	}
	*a.lanes() = acc
}
