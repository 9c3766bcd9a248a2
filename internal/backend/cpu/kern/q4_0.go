package kern

import (
	"encoding/binary"

	"github.com/paddock-go/paddock/internal/num"
)

// A Q4_0 panel block is 32 k of 16 rows. Nibbles stay w + 8; 8 × Σx is taken
// off again. A byte of part g holds group g in its low nibble and group g + 4
// in its high one, as in the file.
//
//	┌─────────────┬────────────────┬─ ─ ─┬────────────────┐
//	│ d: 16 × f16 │ part 0: 64 B   │     │ part 3: 64 B   │
//	└─────────────┴────────────────┴─ ─ ─┴────────────────┘
//	0             32               96    224              288
const q4_0Block = 32 + 4*64

func packQ4_0(dst, src []byte, lane int) {
	for ; len(src) >= 18; src, dst = src[18:], dst[q4_0Block:] {
		copy(dst[2*lane:2*lane+2], src)
		scatter(dst[32+4*lane:q4_0Block], src[2:18])
	}
}

// scatter copies src by 4 bytes, to every 64th place of dst.
func scatter(dst, src []byte) {
	for ; len(src) > 4; src, dst = src[4:], dst[64:] {
		binary.LittleEndian.PutUint32(dst, binary.LittleEndian.Uint32(src))
	}
	copy(dst, src)
}

func unpackQ4_0(dst []float32, panel []byte, lane int) {
	for ; len(panel) >= q4_0Block; panel, dst = panel[q4_0Block:], dst[32:] {
		d := scaleAt(panel, lane)
		for i := range 16 {
			q := panel[32+i/4*64+lane*4+i%4]
			dst[i] = float32(int32(q&15)-8) * d
			dst[i+16] = float32(int32(q>>4)-8) * d
		}
	}
}

func dotQ4_0(a *dotArgs) {
	w, x := a.panel(q4_0Block), a.quants(32)
	d, s := a.scales(), a.blockSums()
	var acc [Lanes]float32
	for b := range d {
		blk, xb := w[b*q4_0Block:(b+1)*q4_0Block], x[b*32:(b+1)*32]
		var sum [Lanes]int32
		for g := range 4 {
			addNibbles(&sum, &sum, blk[32+64*g:], xb[4*g:], xb[16+4*g:])
		}
		for l := range sum {
			acc[l] = num.FMA32(float32(sum[l]-8*s[b]), float32(scaleAt(blk, l)*d[b]), acc[l])
		}
	}
	*a.lanes() = acc
}

// addNibbles adds 4 low nibbles times xl to lo and 4 high ones times xh to hi.
func addNibbles(lo, hi *[Lanes]int32, w []byte, xl, xh []int8) {
	w, xl, xh = w[:64], xl[:4], xh[:4]
	for l := range lo {
		var sl, sh int32
		for i, q := range w[4*l : 4*l+4] {
			sl += int32(q&15) * int32(xl[i])
			sh += int32(q>>4) * int32(xh[i])
		}
		lo[l] += sl
		hi[l] += sh
	}
}
