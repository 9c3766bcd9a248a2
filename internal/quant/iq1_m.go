package quant

import (
	"encoding/binary"

	"github.com/paddock-go/paddock/internal/half"
)

// An iq1_m block is iq1_s with a scale s per 16 values and a shift per 8. It
// has no place for d: the f16's four nibbles are the top ones of the words of
// scales, the lowest first.
//
//	┌───────────────┬─────────────────────────────────────┬─────────────────────┐
//	│ 32 × u8, index│ 32 × 4 b: high bits 3, shift (top) 1│ 4 × u16: 4 × 3 b s,d│
//	└───────────────┴─────────────────────────────────────┴─────────────────────┘
//	0               32                                    48                   56
const iq1MBytes = 32 + 16 + 8

func takeIQ1M(b []byte) (t Taken) {
	var d uint16
	for j := range 4 {
		word := binary.LittleEndian.Uint16(b[48+2*j:])
		d |= word >> 12 << (4 * j)
		for k := range 4 {
			t.Scale[4*j+k] = int16(word>>(3*k)&7)*2 + 1
		}
	}
	t.D[0] = half.F16ToF32(d) / 8
	for l := range 32 {
		more := b[32+l/2] >> (4 * (l % 2)) & 15
		t.shifted(8*l, int(b[l])|int(more&7)<<8, more>>3 != 0)
	}
	return t
}

func encodeIQ1M(b []byte, x []float32) {
	var step [16]float32
	for j := range step {
		step[j] = iq1Step(x[16*j : 16*j+16])
	}
	d := half.F16FromF32(maxAbs(step[:]) * 8 / 15)
	unit := half.F16ToF32(d) / 8
	var words [4]uint16
	for j := range step {
		s := oddScale(step[j], unit, 7)
		words[j/4] |= uint16(s) << (3 * (j % 4))
		inv := inverse(unit * float32(2*s+1))
		for l := 2 * j; l < 2*j+2; l++ {
			at, up := nearestSigned(iq1Grid, x[8*l:][:8], inv, 1)
			more := byte(0)
			if other, down := nearestSigned(iq1Grid, x[8*l:][:8], inv, -1); down < up {
				at, more = other, 8
			}
			b[l] = byte(at)
			b[32+l/2] |= (more | byte(at>>8)) << (4 * (l % 2))
		}
	}
	for j, word := range words {
		binary.LittleEndian.PutUint16(b[48+2*j:], word|d>>(4*j)<<12)
	}
}
