package quant

// A q1_0 block is 128 values: d where a bit is set, −d where it is not. Bits
// lie in order, the lowest of a byte first.
//
//	┌──────┬───────────────────┐
//	│ d f16│ 16 bytes, 128 × 1b│
//	└──────┴───────────────────┘
//	0      2                  18
const q1_0Bytes = 2 + 16

func takeQ1_0(b []byte) (t Taken) {
	t.plain(f16At(b))
	for i := range 128 {
		t.Q[i] = int8(b[2+i/8]>>(i%8)&1)*2 - 1
	}
	return t
}

// encodeQ1_0 takes the mean magnitude, which has the least error.
func encodeQ1_0(b []byte, x []float32) {
	var sum float64
	for i, v := range x {
		if v >= 0 {
			sum += float64(v)
			b[2+i/8] |= 1 << (i % 8)
		} else {
			sum -= float64(v)
		}
	}
	putF16(b, float32(sum/128))
}
