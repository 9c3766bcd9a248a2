package quant

// A q2_0 block is 64 values: (q − 1) × d, so −1, 0, 1 or 2 times d. Pairs of
// bits lie in order, the lowest of a byte first.
//
//	┌──────┬───────────────────┐
//	│ d f16│ 16 bytes, 64 × 2 b│
//	└──────┴───────────────────┘
//	0      2                  18
const q2_0Bytes = 2 + 16

func takeQ2_0(b []byte) (t Taken) {
	t.plain(f16At(b))
	for i := range 64 {
		t.Q[i] = int8(b[2+i/4]>>(2*(i%4))&3) - 1
	}
	return t
}

func encodeQ2_0(b []byte, x []float32) {
	d := putF16(b, maxAbs(x))
	for i, v := range x {
		b[2+i/4] |= byte(nearest(v, d, -1, 2)+1) << (2 * (i % 4))
	}
}
