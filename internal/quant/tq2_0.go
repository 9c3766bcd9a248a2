package quant

// A tq2_0 block is 256 values of (q − 1) × d, two bits each; q is 0, 1 or 2, and
// a 3 is read as 2 × d. Bits 2n and 2n + 1 of the first 32 bytes are values 32n
// to 32n + 31, those of the next 32 bytes values 128 + 32n….
//
//	┌────────────────────┬──────┐
//	│ 64 bytes, 256 × 2 b│ d f16│
//	└────────────────────┴──────┘
//	0                    64    66
const tq2_0Bytes = 64 + 2

func takeTQ2_0(b []byte) (t Taken) {
	t.plain(f16At(b[64:]))
	for i := range 256 {
		t.Q[i] = int8(b[i/128*32+i%32]>>(2*(i/32%4))&3) - 1
	}
	return t
}

func encodeTQ2_0(b []byte, x []float32) {
	d := putF16(b[64:], maxAbs(x))
	for i, v := range x {
		b[i/128*32+i%32] |= byte(nearest(v, d, -1, 1)+1) << (2 * (i / 32 % 4))
	}
}
