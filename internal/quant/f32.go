package quant

import (
	"encoding/binary"
	"math"

	"github.com/paddock-go/paddock/internal/num"
)

func decodeF32(dst []float32, src []byte) {
	_, src = blocks("decode f32", len(dst), 1, src, 4)
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func encodeF32(dst []byte, src []float32) {
	_, dst = blocks("encode f32", len(src), 1, dst, 4)
	for i, f := range src {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(f))
	}
}

// dotF32 is one chain of fused multiply-adds along the row.
func dotF32(row []byte, act *Act) float32 {
	act.want(ActF32, row, 1, 4)
	var acc float32
	for i, x := range act.F {
		acc = num.FMA32(math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:])), x, acc)
	}
	return acc
}
