package kern

import (
	"encoding/binary"

	"github.com/paddock-go/paddock/internal/num"
)

// A Q6_K panel block is 256 k of 16 rows, in 16 sub-blocks of 16 k with int8
// scales: (q − 32) × (d × scale). Quants stay q; 32 × Σ scale × Σx is taken off
// again, for which the scales lie in pairs of sub-blocks as VPMADDWD wants. A
// chunk is 64 k, that is 4 sub-blocks of 4 groups each:
//
//	   0  d: 16 × f16
//	  32  4 chunks, each
//	          0  scales: 2 pairs × 16 lanes × (even, odd)
//	         64  low: 2 × 4 groups × 64 B; nibbles of sub-blocks 0 | 1, then 2 | 3
//	        576  high: 4 groups × 64 B; bits 2s and 2s+1 of sub-block s
//	3360
const (
	q6KChunks = 32
	q6KLow    = 64
	q6KHigh   = q6KLow + 8*64
	q6KChunk  = q6KHigh + 4*64
	q6KBlock  = q6KChunks + 4*q6KChunk
)

func packQ6K(dst, src []byte, lane int) {
	for ; len(src) >= 210; src, dst = src[210:], dst[q6KBlock:] {
		copy(dst[2*lane:2*lane+2], src[208:])
		for j := range 16 {
			dst[q6KScaleAt(j, lane)] = src[192+j]
		}
		for k := 0; k < 256; k += 4 {
			// Where the file has value k: halves of 128 values, quarters of 32.
			h, quarter, i := k/128, k/32%4, k%32
			low := binary.LittleEndian.Uint32(src[64*h+32*(quarter&1)+i:]) >> (4 * (quarter >> 1)) & 0x0f0f0f0f
			high := binary.LittleEndian.Uint32(src[128+32*h+i:]) >> (2 * quarter) & 0x03030303
			chunk, s := dst[q6KChunks+k/64*q6KChunk:], k/16%4
			at := k%16/4*64 + lane*4
			or32(chunk[q6KLow+s/2*256+at:], low<<(4*(s%2)))
			or32(chunk[q6KHigh+at:], high<<(2*s))
		}
	}
}

// or32 sets bits of the 4 bytes at the head of b.
func or32(b []byte, bits uint32) {
	binary.LittleEndian.PutUint32(b, binary.LittleEndian.Uint32(b)|bits)
}

// q6KScaleAt is where the scale of sub-block j of a lane lies.
func q6KScaleAt(j, lane int) int { return q6KChunks + j/4*q6KChunk + j%4/2*32 + 2*lane + j%2 }

// q6KAt is value k of a lane, 0 to 63.
func q6KAt(blk []byte, k, lane int) byte {
	chunk, s := blk[q6KChunks+k/64*q6KChunk:], k/16%4
	at := k%16/4*64 + lane*4 + k%4
	return chunk[q6KLow+s/2*256+at]>>(4*(s%2))&15 | chunk[q6KHigh+at]>>(2*s)&3<<4
}

func unpackQ6K(dst []float32, panel []byte, lane int) {
	for ; len(panel) >= q6KBlock; panel, dst = panel[q6KBlock:], dst[256:] {
		d := scaleAt(panel, lane)
		for k := range 256 {
			sc := int8(panel[q6KScaleAt(k/16, lane)])
			dst[k] = float32(d*float32(sc)) * float32(int32(q6KAt(panel, k, lane))-32)
		}
	}
}

func dotQ6K(a *dotArgs) {
	w, x := a.panel(q6KBlock), a.quants(256)
	d, sub := a.scales(), a.subSums()
	var acc [Lanes]float32
	for b := range d {
		blk, xb := w[b*q6KBlock:(b+1)*q6KBlock], x[b*256:(b+1)*256]
		for l := range acc {
			var sum int32
			for j := range 16 {
				var dot int32
				for i := range 16 {
					dot += int32(q6KAt(blk, 16*j+i, l)) * int32(xb[16*j+i])
				}
				dot -= 32 * int32(sub[b*subSums+j])
				sum += int32(int8(blk[q6KScaleAt(j, l)])) * dot
			}
			acc[l] = num.FMA32(float32(sum), float32(scaleAt(blk, l)*d[b]), acc[l])
		}
	}
	*a.lanes() = acc
}
