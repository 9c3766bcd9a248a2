package quant

// A q3_K block is 256 values in 16 sub-blocks of 16: (q − 4) × (d × (s − 32)),
// with three bits of q and six of s.
//
//	┌───────────────────┬──────────────────────┬────────────────┬──────┐
//	│ 32 B: 1 high bit  │ 64 bytes, 2 low bits │ 12 B: 16 × 6 b │ d f16│
//	└───────────────────┴──────────────────────┴────────────────┴──────┘
//	0                   32                     96             108    110
//
// The two low bits of value i lie as in tq2_0, its high bit is bit i ÷ 32 of
// byte i mod 32. Of s, byte j mod 8 has the low four bits (its high nibble for
// j ≥ 8), and byte 8 + j mod 4 the high two, as its pair j ÷ 4.
const q3KBytes = 32 + 64 + 12 + 2

func takeQ3K(b []byte) (t Taken) {
	t.D[0] = f16At(b[108:])
	s := b[96:108]
	for j := range t.Scale {
		t.Scale[j] = int16(s[j%8]>>(j/8*4)&15|s[8+j%4]>>(j/4*2)&3<<4) - 32
	}
	for i := range 256 {
		low := b[32+i/128*32+i%32] >> (2 * (i / 32 % 4)) & 3
		t.Q[i] = int8(low|b[i%32]>>(i/32)&1<<2) - 4
	}
	return t
}

// encodeQ3K gives the value of largest magnitude of each sub-block the code −4.
func encodeQ3K(b []byte, x []float32) {
	var step [16]float32
	for j := range step {
		step[j] = widest(x[16*j:16*j+16]) / -4
	}
	d := putF16(b[108:], maxAbs(step[:])/31)
	s := b[96:108]
	for j := range step {
		sc := nearest(step[j], d, -31, 31)
		s[j%8] |= byte(sc+32) & 15 << (j / 8 * 4)
		s[8+j%4] |= byte(sc+32) >> 4 << (j / 4 * 2)
		for i := 16 * j; i < 16*j+16; i++ {
			q := byte(nearest(x[i], d*float32(sc), -4, 3) + 4)
			b[32+i/128*32+i%32] |= q & 3 << (2 * (i / 32 % 4))
			b[i%32] |= q >> 2 << (i / 32)
		}
	}
}
