package quant

// An iq2_s block is 256 values in 16 sub-blocks of 16: per 8 values an index
// into a grid of 1024 points, whose two high bits lie apart, and 8 signs; scales
// as in iq2_xs.
//
//	┌──────┬───────────────┬────────────┬──────────────────────┬────────────────┐
//	│ d f16│ 32 × u8, index│ 32 B, signs│ 8 B, index: 4 × 2 high│ 8 B: 16 × 4 b s│
//	└──────┴───────────────┴────────────┴──────────────────────┴────────────────┘
//	0      2               34           66                     74              82
const iq2SBytes = 2 + 32 + 32 + 8 + 8

func takeIQ2S(b []byte) (t Taken) {
	t.D[0] = f16At(b) / 8
	t.scales16(b[74:82])
	for l := range 32 {
		at := int(b[2+l]) | int(b[66+l/4]>>(2*(l%4))&3)<<8
		q := t.Q[8*l:][:8]
		copy(q, iq2sGrid[at][:])
		signed(q, b[34+l])
	}
	return t
}

func encodeIQ2S(b []byte, x []float32) {
	unit, s := putScales16(b, b[74:82], x, 43)
	for l := range 32 {
		xs := x[8*l:][:8]
		at, _ := nearest8(iq2sGrid, xs, inverse(unit*float32(2*s[l/2]+1)))
		b[2+l], b[34+l] = byte(at), signsOf(xs, false)
		b[66+l/4] |= byte(at>>8) << (2 * (l % 4))
	}
}
