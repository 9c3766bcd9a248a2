package kern

import "github.com/paddock-go/paddock/internal/num"

// A Q4_K panel block is 256 k of 16 rows, in 8 sub-blocks of 32 k:
// nibble × (d × scale) − dmin × min. Scales and mins are spread from 6 to 8
// bits; mins lie in pairs of sub-blocks, the operand of VPMADDWD with pairs of
// sums of 32 activations.
//
//	   0  d: 16 × f16
//	  32  dmin: 16 × f16
//	  64  scales: 8 sub-blocks × 16 lanes
//	 192  mins: 4 pairs × 16 lanes × 2
//	 320  4 pairs × 8 groups × 64 B; a byte holds the even sub-block's value
//	      in its low nibble, the odd one's in its high nibble, as in the file
//	2368
const (
	q4KScales = 64
	q4KMins   = 192
	q4KQuants = 320
	q4KBlock  = 2368
)

func packQ4K(dst, src []byte, lane int) {
	for ; len(src) >= 144; src, dst = src[144:], dst[q4KBlock:] {
		copy(dst[2*lane:2*lane+2], src)
		copy(dst[32+2*lane:32+2*lane+2], src[2:])
		for j := range 8 {
			sc, mn := scaleMin(src[4:16], j)
			dst[q4KScales+16*j+lane] = sc
			dst[q4KMins+32*(j/2)+2*lane+j%2] = mn
		}
		for i, q := range src[16:144] {
			pair, k := i/32, i%32
			dst[q4KQuants+pair*512+k/4*64+lane*4+k%4] = q
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
			step := float32(d * float32(panel[q4KScales+16*j+lane]))
			base := float32(dmin * float32(panel[q4KMins+32*(j/2)+2*lane+j%2]))
			for k := range 32 {
				q := panel[q4KQuants+j/2*512+k/4*64+lane*4+k%4] >> (4 * (j % 2)) & 15
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
		for pair := range 4 {
			var lo, hi [Lanes]int32
			for g := range 8 {
				addNibbles(&lo, &hi, blk[q4KQuants+pair*512+64*g:], xb[64*pair+4*g:], xb[64*pair+32+4*g:])
			}
			sc, mn := blk[q4KScales+32*pair:], blk[q4KMins+32*pair:]
			for l := range lo {
				products[l] += int32(sc[l])*lo[l] + int32(sc[16+l])*hi[l]
				minima[l] += int32(mn[2*l])*int32(sums[2*pair]) + int32(mn[2*l+1])*int32(sums[2*pair+1])
			}
		}
		for l := range acc {
			acc[l] = num.FMA32(float32(products[l]), float32(scaleAt(blk, l)*d[b]), acc[l])
			acc[l] = num.FMA32(-float32(minima[l]), float32(scaleAt(blk[32:], l)*d[b]), acc[l])
		}
	}
	*a.lanes() = acc
}
