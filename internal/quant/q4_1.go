package quant

// A q4_1 block is 32 values: nibble × d + m. Byte i holds value i in its low
// nibble and value i + 16 in its high one.
//
//	┌──────┬──────┬────────────────────┐
//	│ d f16│ m f16│ 16 bytes, 32 × 4 b │
//	└──────┴──────┴────────────────────┘
//	0      2      4                   20
const q4_1Bytes = 2 + 2 + 16

func takeQ4_1(b []byte) (t Taken) {
	t.plain(f16At(b))
	t.M[0] = f16At(b[2:])
	for i, v := range b[4:20] {
		t.Q[i], t.Q[i+16] = int8(v&15), int8(v>>4)
	}
	return t
}

func encodeQ4_1(b []byte, x []float32) {
	lo, hi := spread(x)
	d, m := putF16(b, (hi-lo)/15), putF16(b[2:], lo)
	for i := range 16 {
		b[4+i] = byte(nearest(x[i]-m, d, 0, 15) | nearest(x[i+16]-m, d, 0, 15)<<4)
	}
}
