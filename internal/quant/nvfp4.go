package quant

import "math"

// An nvfp4 block is 64 values in 4 runs of 16: a 4-bit float as in mxfp4 × an
// unsigned 8-bit float (4 exponent bits, 3 mantissa bits, bias 7). Byte i of a
// run holds value i in its low nibble and value i + 8 in its high one.
//
//	┌────────────┬────────────────┐
//	│ 4 × scale  │ 4 × 8 bytes    │
//	└────────────┴────────────────┘
//	0            4               36
const nvfp4Bytes = 4 + 32

// halfUE4M3 is half the scale: 0x7f, a NaN elsewhere, is 0 here, and the top
// bit means nothing.
func halfUE4M3(c byte) float32 {
	exp, man := int(c>>3&15), float64(c&7)
	switch {
	case c == 0x7f:
		return 0
	case exp == 0:
		return float32(math.Ldexp(man, -10))
	}
	return float32(math.Ldexp(8+man, exp-7-3-1))
}

// toUE4M3 finds the code nearest to v; codes rise with their values.
func toUE4M3(v float32) byte {
	best := byte(0)
	for c := byte(1); c < 0x7f; c++ {
		if math.Abs(float64(2*halfUE4M3(c)-v)) < math.Abs(float64(2*halfUE4M3(best)-v)) {
			best = c
		}
	}
	return best
}

func takeNVFP4(b []byte) (t Taken) {
	t.plain(0)
	for r := range 4 {
		t.D[r] = halfUE4M3(b[r])
		for i, v := range b[4+8*r:][:8] {
			t.Q[16*r+i], t.Q[16*r+i+8] = fp4Levels[v&15], fp4Levels[v>>4]
		}
	}
	return t
}

func encodeNVFP4(b []byte, x []float32) {
	for r := range 4 {
		xr := x[16*r : 16*r+16]
		b[r] = toUE4M3(maxAbs(xr) / 6)
		d := halfUE4M3(b[r])
		for i := range 8 {
			b[4+8*r+i] = nearestOf(&fp4Levels, xr[i], d) | nearestOf(&fp4Levels, xr[i+8], d)<<4
		}
	}
}
