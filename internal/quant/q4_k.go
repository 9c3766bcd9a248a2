package quant

import (
	"github.com/paddock-go/paddock/internal/num"
)

// A q4_K block is 256 values in 8 sub-blocks of 32: nibble × (d × scale) −
// dmin × min, with a 6-bit scale and min per sub-block.
//
//	┌──────┬─────────┬───────────────────┬──────────────────────┐
//	│ d f16│ dmin f16│ 12 B: 8 × (6 + 6) │ 128 bytes, 256 × 4 b │
//	└──────┴─────────┴───────────────────┴──────────────────────┘
//	0      2         4                   16                   144
//
// Each 32 bytes of nibbles hold two sub-blocks: the even one in the low
// nibbles, the odd one in the high ones. The 12 bytes:
//
//	byte 0–3    low 6 bits: scale 0–3   top 2: bits 4–5 of scale 4–7
//	byte 4–7    low 6 bits: min 0–3     top 2: bits 4–5 of min 4–7
//	byte 8–11   low nibble: bits 0–3 of scale 4–7, high nibble: of min 4–7
const q4KBytes = 2 + 2 + 12 + 128

// ScaleMin unpacks scale and minimum j, 0 to 7, of the 12 bytes s of a Q4_K or Q5_K
// block. Safe for concurrent use.
func ScaleMin(s []byte, j int) (scale, least int32) {
	if j < 4 {
		return int32(s[j] & 63), int32(s[j+4] & 63)
	}
	return int32(s[j+4]&15 | s[j-4]>>6<<4), int32(s[j+4]>>4 | s[j]>>6<<4)
}

// packScaleMin writes 8 scales and mins of 6 bits to the 12 bytes s.
func packScaleMin(s []byte, scale, least *[8]int32) {
	for j := range 4 {
		s[j] = byte(scale[j] | scale[j+4]>>4<<6)
		s[j+4] = byte(least[j] | least[j+4]>>4<<6)
		s[j+8] = byte(scale[j+4]&15 | least[j+4]&15<<4)
	}
}

// nibbles returns the bytes of sub-block j and how far to shift them.
func nibbles(blk []byte, j int) ([]byte, uint) {
	return blk[16+j/2*32:][:32], uint(j&1) * 4
}

func decodeQ4K(dst []float32, src []byte) {
	nb, src := blocks("decode q4_K", len(dst), 256, src, q4KBytes)
	for b := range nb {
		blk, out := src[b*q4KBytes:(b+1)*q4KBytes], dst[b*256:(b+1)*256]
		d, dmin := f16At(blk), f16At(blk[2:])
		for j := range 8 {
			sc, mn := ScaleMin(blk[4:16], j)
			step, base := float32(d*float32(sc)), float32(dmin*float32(mn))
			qs, shift := nibbles(blk, j)
			for i, q := range qs {
				// Two roundings: a fused one would differ from the definition.
				out[j*32+i] = float32(step*float32(q>>shift&15)) - base
			}
		}
	}
}

// encodeQ4K spreads each sub-block's range, widened to include 0, over the 16
// codes.
func encodeQ4K(dst []byte, src []float32) {
	nb, dst := blocks("encode q4_K", len(src), 256, dst, q4KBytes)
	for b := range nb {
		blk, in := dst[b*q4KBytes:(b+1)*q4KBytes], src[b*256:(b+1)*256]
		var step, base [8]float32
		for j := range 8 {
			var lo, hi float32
			for _, v := range in[j*32 : (j+1)*32] {
				lo, hi = min(lo, v), max(hi, v)
			}
			step[j], base[j] = (hi-lo)/15, -lo
		}
		clear(blk)
		d, dmin := putF16(blk, maxAbs(step[:])/63), putF16(blk[2:], maxAbs(base[:])/63)
		var sc, mn [8]int32
		for j := range 8 {
			sc[j], mn[j] = nearest(step[j], d, 0, 63), nearest(base[j], dmin, 0, 63)
			qs, shift := nibbles(blk, j)
			for i, v := range in[j*32 : (j+1)*32] {
				q := nearest(v+float32(dmin*float32(mn[j])), d*float32(sc[j]), 0, 15)
				qs[i] |= byte(q << shift)
			}
		}
		packScaleMin(blk[4:16], &sc, &mn)
	}
}

// dotQ4K: per block two exact integers, Σ scale × (quants · activations) and
// Σ min × (sum of the activations), then two fused adds, scales first.
func dotQ4K(row []byte, act *Act) float32 {
	nb := act.want(ActQ8x256, row, 256, q4KBytes)
	var acc float32
	for b := range nb {
		blk, x := row[b*q4KBytes:(b+1)*q4KBytes], act.Q[b*256:(b+1)*256]
		sums := act.Sums[b*256/SubElems:]
		var products, minima int32
		for j := range 8 {
			sc, mn := ScaleMin(blk[4:16], j)
			qs, shift := nibbles(blk, j)
			var dot int32
			for i, q := range qs {
				dot += int32(q>>shift&15) * int32(x[j*32+i])
			}
			products += sc * dot
			minima += mn * (int32(sums[2*j]) + int32(sums[2*j+1]))
		}
		dx := act.D[b]
		acc = num.FMA32(float32(products), float32(f16At(blk)*dx), acc)
		acc = num.FMA32(-float32(minima), float32(f16At(blk[2:])*dx), acc)
	}
	return acc
}
