package quant

import (
	"math"

	"github.com/paddock-go/paddock/internal/num"
)

// A q4_0 block is 32 values: (nibble − 8) × d. Byte i holds value i in its low
// nibble and value i + 16 in its high one.
//
//	┌──────┬────────────────────┐
//	│ d f16│ 16 bytes, 32 × 4 b │
//	└──────┴────────────────────┘
//	0      2                   18
const q4_0Bytes = 2 + 16

func decodeQ4_0(dst []float32, src []byte) {
	nb, src := blocks("decode q4_0", len(dst), 32, src, q4_0Bytes)
	for b := range nb {
		blk, out := src[b*q4_0Bytes:(b+1)*q4_0Bytes], dst[b*32:(b+1)*32]
		d := f16At(blk)
		for i, q := range blk[2:] {
			out[i] = float32(int32(q&15)-8) * d
			out[i+16] = float32(int32(q>>4)-8) * d
		}
	}
}

// encodeQ4_0 gives the value of largest magnitude the code −8, the only one
// without a partner of the other sign.
func encodeQ4_0(dst []byte, src []float32) {
	nb, dst := blocks("encode q4_0", len(src), 32, dst, q4_0Bytes)
	for b := range nb {
		blk, in := dst[b*q4_0Bytes:(b+1)*q4_0Bytes], src[b*32:(b+1)*32]
		d := putF16(blk, widest(in)/-8)
		for i := range 16 {
			lo := nearest(in[i], d, -8, 7) + 8
			hi := nearest(in[i+16], d, -8, 7) + 8
			blk[2+i] = byte(lo | hi<<4)
		}
	}
}

// dotQ4_0 is dotQ8_0 with weights nibble − 8.
func dotQ4_0(row []byte, act *Act) float32 {
	nb := act.want(ActQ8x32, row, 32, q4_0Bytes)
	var acc float32
	for b := range nb {
		blk, x := row[b*q4_0Bytes:(b+1)*q4_0Bytes], act.Q[b*32:(b+1)*32]
		var sum int32
		for i, q := range blk[2:] {
			sum += (int32(q&15)-8)*int32(x[i]) + (int32(q>>4)-8)*int32(x[i+16])
		}
		acc = num.FMA32(float32(sum), float32(f16At(blk)*act.D[b]), acc)
	}
	return acc
}

// widest returns the value of largest magnitude, with its sign; the first of
// equals.
func widest(x []float32) float32 {
	var w float32
	for _, v := range x {
		if math.Abs(float64(v)) > math.Abs(float64(w)) {
			w = v
		}
	}
	return w
}
