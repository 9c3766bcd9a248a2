package quant

import (
	"encoding/binary"

	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/num"
)

func decodeBF16(dst []float32, src []byte) {
	_, src = blocks("decode bf16", len(dst), 1, src, 2)
	half.DecodeBF16(dst, src)
}

func encodeBF16(dst []byte, src []float32) {
	_, dst = blocks("encode bf16", len(src), 1, dst, 2)
	half.EncodeBF16(dst, src)
}

// dotBF16 adds in the order of the bf16 tile product, so that tiles, vectors
// and this give the same bits: per 32 values a chain over the even ones and a
// chain over the odd ones, their sum added to the row's. Denormals count as
// zero throughout. The last 32 are padded with zeros, which is not nothing:
// adding +0 × +0 turns a chain at −0 into +0.
func dotBF16(row []byte, act *Act) float32 {
	act.want(ActBF16, row, 1, 2)
	weight := func(i int) float32 {
		if i >= act.N {
			return 0
		}
		return half.BF16ToF32(binary.LittleEndian.Uint16(row[2*i:]))
	}
	var acc float32
	for b := 0; b < len(act.F); b += 32 {
		var even, odd float32
		for i := b; i < b+32; i += 2 {
			even = num.FMA32Flush(weight(i), act.F[i], even)
			odd = num.FMA32Flush(weight(i+1), act.F[i+1], odd)
		}
		acc = num.Flush(acc + num.Flush(even+odd))
	}
	return acc
}
