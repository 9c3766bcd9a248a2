package quant

import "encoding/binary"

// A q5_0 block is 32 values of 5 bits: (q − 16) × d. Nibbles lie as in q4_0;
// bit i of the 32 high bits is bit 4 of value i.
//
//	┌──────┬──────────┬────────────────────┐
//	│ d f16│ high, u32│ 16 bytes, 32 × 4 b │
//	└──────┴──────────┴────────────────────┘
//	0      2          6                   22
const q5_0Bytes = 2 + 4 + 16

func takeQ5_0(b []byte) (t Taken) {
	t.plain(f16At(b))
	take5(&t, b[2:], 16)
	return t
}

// take5 unpacks 32 values of 5 bits, less an offset.
func take5(t *Taken, b []byte, offset int8) {
	high := binary.LittleEndian.Uint32(b)
	for i, v := range b[4:20] {
		t.Q[i] = int8(uint32(v&15)|high>>i&1<<4) - offset
		t.Q[i+16] = int8(uint32(v>>4)|high>>(i+16)&1<<4) - offset
	}
}

// put5 packs value i of 32, 0 to 31, to where take5 finds it.
func put5(b []byte, i int, v int32) {
	b[i/8] |= byte(v>>4) << (i % 8)
	b[4+i%16] |= byte(v&15) << (i / 16 * 4)
}

func encodeQ5_0(b []byte, x []float32) {
	d := putF16(b, widest(x)/-16)
	for i, v := range x {
		put5(b[2:], i, nearest(v, d, -16, 15)+16)
	}
}
