package quant

import "encoding/binary"

// An iq3_xxs block is 256 values in 8 sub-blocks of 32: per 4 values an index
// into a grid of 256 points of 4 magnitudes, and per sub-block four times 7
// signs and a scale s: magnitude × d × (2s + 1) ÷ 4.
//
//	┌──────┬───────────────┬──────────────────────────────────────┐
//	│ d f16│ 64 × u8, index│ 8 × u32: 7 7 7 7 bits of sign, s: 4 b │
//	└──────┴───────────────┴──────────────────────────────────────┘
//	0      2               66                                    98
const iq3XXSBytes = 2 + 64 + 32

func takeIQ3XXS(b []byte) (t Taken) {
	t.D[0] = f16At(b) / 4
	for i, at := range b[2:66] {
		copy(t.Q[4*i:], iq3xxsGrid[at][:])
	}
	for j := range 8 {
		word := binary.LittleEndian.Uint32(b[66+4*j:])
		t.scale32(j, int16(word>>28)*2+1)
		for l := range 4 {
			signed(t.Q[32*j+8*l:][:8], signs7(word>>(7*l)))
		}
	}
	return t
}

func encodeIQ3XXS(b []byte, x []float32) {
	var step [8]float32
	for j := range step {
		step[j] = maxAbs(x[32*j:32*j+32]) / 62
	}
	unit := putF16(b, maxAbs(step[:])*4/31) / 4
	for j := range step {
		s := oddScale(step[j], unit, 15)
		word, inv := uint32(s)<<28, inverse(unit*float32(2*s+1))
		for l := range 4 {
			word |= uint32(signsOf(x[32*j+8*l:][:8], true)) & 127 << (7 * l)
		}
		for i := 8 * j; i < 8*j+8; i++ {
			b[2+i] = byte(nearest4(iq3xxsGrid, x[4*i:4*i+4], inv))
		}
		binary.LittleEndian.PutUint32(b[66+4*j:], word)
	}
}
