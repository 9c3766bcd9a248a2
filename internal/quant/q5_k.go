package quant

// A q5_K block is a q4_K block with a fifth bit for each value: bit j of byte i
// of high is that of value i of sub-block j.
//
//	┌──────┬─────────┬───────────────────┬───────────┬───────────────┐
//	│ d f16│ dmin f16│ 12 B, as in q4_K  │ high: 32 B│ 128 B, nibbles│
//	└──────┴─────────┴───────────────────┴───────────┴───────────────┘
//	0      2         4                   16          48            176
const q5KBytes = 2 + 2 + 12 + 32 + 128

func takeQ5K(b []byte) (t Taken) {
	t.D[0], t.M[0] = f16At(b), -f16At(b[2:])
	for j := range 8 {
		sc, mn := ScaleMin(b[4:16], j)
		t.scale32(j, int16(sc))
		t.Least[2*j], t.Least[2*j+1] = int16(mn), int16(mn)
		for i, high := range b[16:48] {
			t.Q[32*j+i] = int8(b[48+j/2*32+i]>>(j%2*4)&15 | high>>j&1<<4)
		}
	}
	return t
}

func encodeQ5K(b []byte, x []float32) {
	var step, base [8]float32
	for j := range step {
		lo, hi := spread(x[32*j : 32*j+32])
		step[j], base[j] = (hi-lo)/31, -lo
	}
	d, dmin := putF16(b, maxAbs(step[:])/63), putF16(b[2:], maxAbs(base[:])/63)
	var sc, mn [8]int32
	for j := range step {
		sc[j], mn[j] = nearest(step[j], d, 0, 63), nearest(base[j], dmin, 0, 63)
		for i, v := range x[32*j : 32*j+32] {
			q := byte(nearest(v+float32(dmin*float32(mn[j])), d*float32(sc[j]), 0, 31))
			b[48+j/2*32+i] |= q & 15 << (j % 2 * 4)
			b[16+i] |= q >> 4 << j
		}
	}
	packScaleMin(b[4:16], &sc, &mn)
}
