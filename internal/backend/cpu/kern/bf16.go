package kern

import (
	"encoding/binary"

	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/num"
)

// A BF16 panel block is 32 k of 16 rows: 16 pairs of k, an even and an odd one
// together in 32 bits for each lane, which is the operand of TDPBF16PS and of
// VDPBF16PS.
const bf16Block = 16 * 64

func packBF16(dst, src []byte, lane int) { scatter(dst[4*lane:], src) }

func unpackBF16(dst []float32, panel []byte, lane int) {
	for k := range len(panel) / 32 {
		dst[k] = bf16At(panel[k/2*64:], lane, k%2)
	}
}

// bf16At is the even (0) or odd (1) value of a lane.
func bf16At(pairs []byte, lane, odd int) float32 {
	return half.BF16ToF32(binary.LittleEndian.Uint16(pairs[4*lane+2*odd:]))
}

// dotBF16 adds as the tile product does: per 32 values a chain over the even
// ones and a chain over the odd ones, denormals as zero, their sum added to the
// accumulator.
func dotBF16(a *dotArgs) {
	w, x := a.panel(bf16Block), a.floats(32)
	var acc [Lanes]float32
	for b := range int(a.blocks) {
		var even, odd [Lanes]float32
		for p := range 16 {
			pairs, xe, xo := w[b*bf16Block+64*p:], x[b*32+2*p], x[b*32+2*p+1]
			for l := range acc {
				even[l] = num.FMA32Flush(bf16At(pairs, l, 0), xe, even[l])
				odd[l] = num.FMA32Flush(bf16At(pairs, l, 1), xo, odd[l])
			}
		}
		for l := range acc {
			acc[l] = num.Flush(acc[l] + num.Flush(even[l]+odd[l]))
		}
	}
	*a.lanes() = acc
}
