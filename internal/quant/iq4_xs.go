package quant

import "encoding/binary"

// An iq4_xs block is 256 values in 8 sub-blocks of 32: level × (d × (s − 32)),
// with the levels and nibbles of iq4_nl and scales of 6 bits.
//
//	┌──────┬────────────────────┬─────────────────────┬───────────────┐
//	│ d f16│ s, 2 high: u16, 2j │ s, 4 low: 4 B, 4j   │ 8 × 16 nibbles│
//	└──────┴────────────────────┴─────────────────────┴───────────────┘
//	0      2                    4                     8             136
const iq4XSBytes = 2 + 2 + 4 + 128

func takeIQ4XS(b []byte) (t Taken) {
	t.D[0] = f16At(b)
	high := binary.LittleEndian.Uint16(b[2:])
	for j := range 8 {
		s := int16(b[4+j/2]>>(4*(j%2))&15) | int16(high>>(2*j)&3<<4)
		t.scale32(j, s-32)
		t.levels32(32*j, &iq4Levels, b[8+16*j:])
	}
	return t
}

func encodeIQ4XS(b []byte, x []float32) {
	var step [8]float32
	for j := range step {
		step[j] = widest(x[32*j:32*j+32]) / -127
	}
	d := putF16(b, maxAbs(step[:])/31)
	var high uint16
	for j := range step {
		s := nearest(step[j], d, -31, 31)
		putLevels32(b[8+16*j:], &iq4Levels, x[32*j:32*j+32], d*float32(s))
		b[4+j/2] |= byte((s+32)&15) << (4 * (j % 2))
		high |= uint16(s+32) >> 4 << (2 * j)
	}
	binary.LittleEndian.PutUint16(b[2:], high)
}
