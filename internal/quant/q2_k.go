package quant

// A q2_K block is 256 values in 16 sub-blocks of 16:
// q × (d × scale) − dmin × min, with two bits of q and four of scale and min.
//
//	┌──────────────────────────┬────────────────────┬──────┬─────────┐
//	│ 16 B: scale low, min high│ 64 bytes, 256 × 2 b│ d f16│ dmin f16│
//	└──────────────────────────┴────────────────────┴──────┴─────────┘
//	0                          16                   80     82       84
//
// The two bits of value i lie as in tq2_0.
const q2KBytes = 16 + 64 + 2 + 2

func takeQ2K(b []byte) (t Taken) {
	t.D[0], t.M[0] = f16At(b[80:]), -f16At(b[82:])
	for j, s := range b[:16] {
		t.Scale[j], t.Least[j] = int16(s&15), int16(s>>4)
	}
	for i := range 256 {
		t.Q[i] = int8(b[16+i/128*32+i%32] >> (2 * (i / 32 % 4)) & 3)
	}
	return t
}

func encodeQ2K(b []byte, x []float32) {
	var step, base [16]float32
	for j := range step {
		lo, hi := spread(x[16*j : 16*j+16])
		step[j], base[j] = (hi-lo)/3, -lo
	}
	d, dmin := putF16(b[80:], maxAbs(step[:])/15), putF16(b[82:], maxAbs(base[:])/15)
	for j := range step {
		sc, mn := nearest(step[j], d, 0, 15), nearest(base[j], dmin, 0, 15)
		b[j] = byte(sc | mn<<4)
		for i := 16 * j; i < 16*j+16; i++ {
			q := nearest(x[i]+float32(dmin*float32(mn)), d*float32(sc), 0, 3)
			b[16+i/128*32+i%32] |= byte(q) << (2 * (i / 32 % 4))
		}
	}
}
