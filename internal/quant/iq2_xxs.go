package quant

import "encoding/binary"

// An iq2_xxs block is 256 values in 8 sub-blocks of 32, each of 8 bytes: four
// indices into a grid of 256 points of 8 magnitudes, then four times 7 signs
// and a scale s: magnitude × d × (2s + 1) ÷ 8.
//
//	┌──────┬─────────────────────────────────────────────────────┐
//	│ d f16│ 8 × { 4 indices u8 │ u32: 7 7 7 7 bits of sign, s: 4}│
//	└──────┴─────────────────────────────────────────────────────┘
//	0      2                                                    66
const iq2XXSBytes = 2 + 8*8

func takeIQ2XXS(b []byte) (t Taken) {
	t.D[0] = f16At(b) / 8
	for j := range 8 {
		idx := b[2+8*j:][:4]
		word := binary.LittleEndian.Uint32(b[6+8*j:])
		t.scale32(j, int16(word>>28)*2+1)
		for l, at := range idx {
			q := t.Q[32*j+8*l:][:8]
			copy(q, iq2xxsGrid[at][:])
			signed(q, signs7(word>>(7*l)))
		}
	}
	return t
}

func encodeIQ2XXS(b []byte, x []float32) {
	var step [8]float32
	for j := range step {
		step[j] = maxAbs(x[32*j:32*j+32]) / 43
	}
	unit := putF16(b, maxAbs(step[:])*8/31) / 8
	for j := range step {
		s := oddScale(step[j], unit, 15)
		word, inv := uint32(s)<<28, inverse(unit*float32(2*s+1))
		for l := range 4 {
			xs := x[32*j+8*l:][:8]
			at, _ := nearest8(iq2xxsGrid, xs, inv)
			b[2+8*j+l] = byte(at)
			word |= uint32(signsOf(xs, true)) & 127 << (7 * l)
		}
		binary.LittleEndian.PutUint32(b[6+8*j:], word)
	}
}
