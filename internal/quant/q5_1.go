package quant

// A q5_1 block is 32 values of 5 bits: q × d + m, packed as in q5_0.
//
//	┌──────┬──────┬──────────┬────────────────────┐
//	│ d f16│ m f16│ high, u32│ 16 bytes, 32 × 4 b │
//	└──────┴──────┴──────────┴────────────────────┘
//	0      2      4          8                   24
const q5_1Bytes = 2 + 2 + 4 + 16

func takeQ5_1(b []byte) (t Taken) {
	t.plain(f16At(b))
	t.M[0] = f16At(b[2:])
	take5(&t, b[4:], 0)
	return t
}

func encodeQ5_1(b []byte, x []float32) {
	lo, hi := spread(x)
	d, m := putF16(b, (hi-lo)/31), putF16(b[2:], lo)
	for i, v := range x {
		put5(b[4:], i, nearest(v-m, d, 0, 31))
	}
}
