package kern

import "github.com/paddock-go/paddock/internal/num"

// A Q4_K panel block is 256 k of 16 rows, in 4 pairs of sub-blocks of 32 k:
// nibble × (d × scale) − dmin × min. Scales and mins are spread from 6 to 8
// bits; mins of a pair lie together, the operand of VPMADDWD with pairs of sums
// of 32 activations.
//
//	   0  d: 16 × f16, dmin: 16 × f16
//	  64  4 pairs of sub-blocks, each
//	          0  scales: even sub-block × 16 lanes, odd × 16
//	         32  mins: 16 lanes × (even, odd)
//	         64  8 groups × 64 B: the even sub-block's values in the low
//	             nibbles, the odd one's in the high ones, as in the file
//	2368
const (
	q4KPairs = 64
	q4KPair  = 64 + 8*64
	q4KBlock = q4KPairs + 4*q4KPair
)

func packQ4K(dst, src []byte, lane int) {
	for ; len(src) >= 144; src, dst = src[144:], dst[q4KBlock:] {
		copy(dst[2*lane:2*lane+2], src)
		copy(dst[32+2*lane:32+2*lane+2], src[2:])
		for j := range 8 {
			pair := dst[q4KPairs+j/2*q4KPair:]
			pair[j%2*16+lane], pair[32+2*lane+j%2] = scaleMin(src[4:16], j)
		}
		for i := range 4 {
			pair := dst[q4KPairs+i*q4KPair:][:q4KPair]
			scatter(pair[64+4*lane:], src[16+32*i:][:32])
		}
	}
}

// scaleMin unpacks scale and min j of a file block's 12 bytes: 6 bits each, of
// which the upper half's top bits lie over the lower half.
func scaleMin(s []byte, j int) (scale, least byte) {
	if j < 4 {
		return s[j] & 63, s[j+4] & 63
	}
	return s[j+4]&15 | s[j-4]>>6<<4, s[j+4]>>4 | s[j]>>6<<4
}

func unpackQ4K(dst []float32, panel []byte, lane int) {
	for ; len(panel) >= q4KBlock; panel, dst = panel[q4KBlock:], dst[256:] {
		d, dmin := scaleAt(panel, lane), scaleAt(panel[32:], lane)
		for j := range 8 {
			pair := panel[q4KPairs+j/2*q4KPair:]
			step := float32(d * float32(pair[j%2*16+lane]))
			base := float32(dmin * float32(pair[32+2*lane+j%2]))
			for k := range 32 {
				q := pair[64+k/4*64+lane*4+k%4] >> (4 * (j % 2)) & 15
				dst[32*j+k] = float32(step*float32(q)) - base
			}
		}
	}
}

func dotQ4K(a *dotArgs) {
	w, x := a.panel(q4KBlock), a.quants(256)
	d, sub := a.scales(), a.subSums()
	var acc [Lanes]float32
	for b := range d {
		blk, xb := w[b*q4KBlock:(b+1)*q4KBlock], x[b*256:(b+1)*256]
		sums := sub[b*subSums+16 : (b+1)*subSums]
		var products, minima [Lanes]int32
		for i := range 4 {
			pair, xp := blk[q4KPairs+i*q4KPair:][:q4KPair], xb[64*i:64*(i+1)]
			var lo, hi [Lanes]int32
			for g := range 8 {
				addNibbles(&lo, &hi, pair[64+64*g:], xp[4*g:], xp[32+4*g:])
			}
			mn := pair[32:]
			for l := range lo {
				products[l] += int32(pair[l])*lo[l] + int32(pair[16+l])*hi[l]
				minima[l] += int32(mn[2*l])*int32(sums[2*i]) + int32(mn[2*l+1])*int32(sums[2*i+1])
			}
		}
		for l := range acc {
			acc[l] = num.FMA32(float32(products[l]), float32(scaleAt(blk, l)*d[b]), acc[l])
			acc[l] = num.FMA32(-float32(minima[l]), float32(scaleAt(blk[32:], l)*d[b]), acc[l])
		}
	}
	*a.lanes() = acc
}
