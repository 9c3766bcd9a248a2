package quant

import "encoding/binary"

// An iq2_xs block is 256 values in 16 sub-blocks of 16: per 8 values a 16-bit
// word of an index into a grid of 512 points and 7 signs, and per sub-block a
// scale s: magnitude × d × (2s + 1) ÷ 8.
//
//	┌──────┬──────────────────────────┬────────────────┐
//	│ d f16│ 32 × u16: index 9, signs 7│ 8 B: 16 × 4 b s│
//	└──────┴──────────────────────────┴────────────────┘
//	0      2                          66              74
const iq2XSBytes = 2 + 64 + 8

func takeIQ2XS(b []byte) (t Taken) {
	t.D[0] = f16At(b) / 8
	t.scales16(b[66:74])
	for l := range 32 {
		word := binary.LittleEndian.Uint16(b[2+2*l:])
		q := t.Q[8*l:][:8]
		copy(q, iq2xsGrid[word&511][:])
		signed(q, signs7(uint32(word>>9)))
	}
	return t
}

// scales16 unpacks 16 scales of 4 bits, low nibble first, to odd numbers.
func (blk *Taken) scales16(b []byte) {
	for j := range blk.Scale {
		blk.Scale[j] = int16(b[j/2]>>(4*(j%2))&15)*2 + 1
	}
}

// putScales16 chooses the scales of 16 sub-blocks whose largest magnitude is
// to be the level top, and returns them: the f16 goes to d, the rest to b.
func putScales16(d, b []byte, x []float32, top float32) (unit float32, s [16]int32) {
	var step [16]float32
	for j := range step {
		step[j] = maxAbs(x[16*j:16*j+16]) / top
	}
	unit = putF16(d, maxAbs(step[:])*8/31) / 8
	for j := range step {
		s[j] = oddScale(step[j], unit, 15)
		b[j/2] |= byte(s[j]) << (4 * (j % 2))
	}
	return unit, s
}

func encodeIQ2XS(b []byte, x []float32) {
	unit, s := putScales16(b, b[66:74], x, 43)
	for l := range 32 {
		xs := x[8*l:][:8]
		at, _ := nearest8(iq2xsGrid, xs, inverse(unit*float32(2*s[l/2]+1)))
		binary.LittleEndian.PutUint16(b[2+2*l:], uint16(at)|uint16(signsOf(xs, true))&127<<9)
	}
}
