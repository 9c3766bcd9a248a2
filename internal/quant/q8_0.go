package quant

import (
	"math"

	"github.com/paddock-go/paddock/internal/num"
)

// A q8_0 block is 32 values: q × d.
//
//	┌──────┬─────────────┐
//	│ d f16│ q int8 × 32 │
//	└──────┴─────────────┘
//	0      2            34
const q8_0Bytes = 2 + 32

func decodeQ8_0(dst []float32, src []byte) {
	nb, src := blocks("decode q8_0", len(dst), 32, src, q8_0Bytes)
	for b := range nb {
		blk, out := src[b*q8_0Bytes:(b+1)*q8_0Bytes], dst[b*32:(b+1)*32]
		d := f16At(blk)
		for i, q := range blk[2:] {
			out[i] = float32(int8(q)) * d
		}
	}
}

func encodeQ8_0(dst []byte, src []float32) {
	nb, dst := blocks("encode q8_0", len(src), 32, dst, q8_0Bytes)
	for b := range nb {
		blk, in := dst[b*q8_0Bytes:(b+1)*q8_0Bytes], src[b*32:(b+1)*32]
		d := putF16(blk, maxAbs(in)/127)
		for i, v := range in {
			blk[2+i] = byte(int8(nearest(v, d, -127, 127)))
		}
	}
}

// dotQ8_0: per block an exact integer, then one multiply and one fused add.
func dotQ8_0(row []byte, act *Act) float32 {
	nb := act.want(ActQ8x32, row, 32, q8_0Bytes)
	var acc float32
	for b := range nb {
		blk, x := row[b*q8_0Bytes:(b+1)*q8_0Bytes], act.Q[b*32:(b+1)*32]
		var sum int32
		for i, q := range blk[2:] {
			sum += int32(int8(q)) * int32(x[i])
		}
		acc = num.FMA32(float32(sum), float32(f16At(blk)*act.D[b]), acc)
	}
	return acc
}

// nearest returns v ÷ d to the nearest integer in lo…hi; 0 where that is no
// number, as it is for d = 0.
func nearest(v, d float32, lo, hi int32) int32 {
	r := math.RoundToEven(float64(v) / float64(d))
	switch {
	case r != r:
		return 0
	case r <= float64(lo):
		return lo
	case r >= float64(hi):
		return hi
	}
	return int32(r)
}
