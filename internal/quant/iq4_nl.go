package quant

// An iq4_nl block is 32 values: level × d, where a nibble picks one of 16
// uneven levels. Nibbles lie as in q4_0.
//
//	┌──────┬────────────────────┐
//	│ d f16│ 16 bytes, 32 × 4 b │
//	└──────┴────────────────────┘
//	0      2                   18
const iq4NLBytes = 2 + 16

// iq4Levels are denser around 0, as weights are.
var iq4Levels = [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

func takeIQ4NL(b []byte) (t Taken) {
	t.plain(f16At(b))
	t.levels32(0, &iq4Levels, b[2:])
	return t
}

// levels32 unpacks 16 bytes of nibbles, that pick levels, to 32 values.
func (blk *Taken) levels32(at int, levels *[16]int8, b []byte) {
	for i, v := range b[:16] {
		blk.Q[at+i], blk.Q[at+i+16] = levels[v&15], levels[v>>4]
	}
}

func putLevels32(b []byte, levels *[16]int8, x []float32, d float32) {
	for i := range 16 {
		b[i] = nearestOf(levels, x[i], d) | nearestOf(levels, x[i+16], d)<<4
	}
}

// encodeIQ4NL gives the value of largest magnitude the outermost level.
func encodeIQ4NL(b []byte, x []float32) {
	putLevels32(b[2:], &iq4Levels, x, putF16(b, widest(x)/-127))
}
