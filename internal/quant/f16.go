package quant

import (
	"encoding/binary"

	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/num"
)

func decodeF16(dst []float32, src []byte) {
	_, src = blocks("decode f16", len(dst), 1, src, 2)
	half.DecodeF16(dst, src)
}

func encodeF16(dst []byte, src []float32) {
	_, dst = blocks("encode f16", len(src), 1, dst, 2)
	half.EncodeF16(dst, src)
}

// dotF16 is one chain of fused multiply-adds along the row, in float32: the
// weights are widened exactly and the activations are not rounded.
func dotF16(row []byte, act *Act) float32 {
	act.want(ActF32, row, 1, 2)
	var acc float32
	for i, x := range act.F {
		acc = num.FMA32(half.F16ToF32(binary.LittleEndian.Uint16(row[2*i:])), x, acc)
	}
	return acc
}

// f16At widens the F16 at the head of b.
func f16At(b []byte) float32 { return half.F16ToF32(binary.LittleEndian.Uint16(b)) }

// putF16 narrows f to the head of b and returns what it became.
func putF16(b []byte, f float32) float32 {
	h := half.F16FromF32(f)
	binary.LittleEndian.PutUint16(b, h)
	return half.F16ToF32(h)
}
