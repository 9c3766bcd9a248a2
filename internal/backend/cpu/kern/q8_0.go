package kern

import (
	"encoding/binary"

	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/num"
)

// A Q8_0 panel block is 32 k of 16 rows. Weights are stored as w + 128, for
// VPDPBUSD takes its first operand unsigned; 128 × Σx is taken off again.
//
//	┌─────────────┬────────────────┬─ ─ ─┬────────────────┐
//	│ d: 16 × f16 │ group 0: 64 B  │     │ group 7: 64 B  │
//	└─────────────┴────────────────┴─ ─ ─┴────────────────┘
//	0             32               96    480              544
const q8_0Block = 32 + 8*64

func packQ8_0(dst, src []byte, lane int) {
	for ; len(src) >= 34; src, dst = src[34:], dst[q8_0Block:] {
		copy(dst[2*lane:2*lane+2], src)
		out, in := dst[32+4*lane:q8_0Block], src[2:34]
		for g := range 8 {
			binary.LittleEndian.PutUint32(out[64*g:], binary.LittleEndian.Uint32(in[4*g:])^0x80808080)
		}
	}
}

func unpackQ8_0(dst []float32, panel []byte, lane int) {
	for ; len(panel) >= q8_0Block; panel, dst = panel[q8_0Block:], dst[32:] {
		d := scaleAt(panel, lane)
		for i := range 32 {
			dst[i] = float32(int8(panel[32+i/4*64+lane*4+i%4]^0x80)) * d
		}
	}
}

// scaleAt widens f16 number lane at the head of b.
func scaleAt(b []byte, lane int) float32 {
	return half.F16ToF32(binary.LittleEndian.Uint16(b[2*lane:]))
}

func dotQ8_0(a *dotArgs) {
	w, x := a.panel(q8_0Block), a.quants(32)
	d, s := a.scales(), a.blockSums()
	var acc [Lanes]float32
	for b := range d {
		blk, xb := w[b*q8_0Block:(b+1)*q8_0Block], x[b*32:(b+1)*32]
		var sum [Lanes]int32
		for g := range 8 {
			addGroup(&sum, blk[32+64*g:], xb[4*g:])
		}
		for l := range sum {
			acc[l] = num.FMA32(float32(sum[l]-128*s[b]), float32(scaleAt(blk, l)*d[b]), acc[l])
		}
	}
	*a.lanes() = acc
}

// addGroup adds, for each lane, 4 unsigned weights times 4 activations.
func addGroup(sum *[Lanes]int32, w []byte, x []int8) {
	w = w[:64]
	x0, x1, x2, x3 := int32(x[0]), int32(x[1]), int32(x[2]), int32(x[3])
	for l := range sum {
		q := w[4*l : 4*l+4 : 4*l+4]
		sum[l] += int32(q[0])*x0 + int32(q[1])*x1 + int32(q[2])*x2 + int32(q[3])*x3
	}
}
