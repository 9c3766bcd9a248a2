package quant

// An iq3_s block is 256 values in 8 sub-blocks of 32: per 4 values an index
// into a grid of 512 points, whose high bit lies apart, 8 signs per 8 values,
// and per sub-block a scale s: magnitude × d × (2s + 1).
//
//	┌──────┬───────────────┬─────────────────────┬────────────┬───────────────┐
//	│ d f16│ 64 × u8, index│ 8 B, index: high bit│ 32 B, signs│ 4 B: 8 × 4 b s│
//	└──────┴───────────────┴─────────────────────┴────────────┴───────────────┘
//	0      2               66                    74           106           110
const iq3SBytes = 2 + 64 + 8 + 32 + 4

func takeIQ3S(b []byte) (t Taken) {
	t.D[0] = f16At(b)
	for i, low := range b[2:66] {
		copy(t.Q[4*i:], iq3sGrid[int(low)|int(b[66+i/8]>>(i%8)&1)<<8][:])
	}
	for l, s := range b[74:106] {
		signed(t.Q[8*l:][:8], s)
	}
	for j := range 8 {
		t.scale32(j, int16(b[106+j/2]>>(4*(j%2))&15)*2+1)
	}
	return t
}

func encodeIQ3S(b []byte, x []float32) {
	var step [8]float32
	for j := range step {
		step[j] = maxAbs(x[32*j:32*j+32]) / 15
	}
	unit := putF16(b, maxAbs(step[:])/31)
	for j := range step {
		s := oddScale(step[j], unit, 15)
		b[106+j/2] |= byte(s) << (4 * (j % 2))
		inv := inverse(unit * float32(2*s+1))
		for i := 8 * j; i < 8*j+8; i++ {
			at := nearest4(iq3sGrid, x[4*i:4*i+4], inv)
			b[2+i] = byte(at)
			b[66+i/8] |= byte(at>>8) << (i % 8)
		}
	}
	for l := range 32 {
		b[74+l] = signsOf(x[8*l:][:8], false)
	}
}
