package quant

import "math"

// An mxfp4 block is 32 values: a 4-bit float (sign, 2 exponent bits, 1 mantissa
// bit) × 2^(e − 127). The levels here are twice the floats, and the scale is
// half. Nibbles lie as in q4_0. Every e is a number; e = 255 is 2^127.
//
//	┌──────┬────────────────────┐
//	│ e u8 │ 16 bytes, 32 × 4 b │
//	└──────┴────────────────────┘
//	0      1                   17
const mxfp4Bytes = 1 + 16

var fp4Levels = [16]int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// halfE8M0 is 2^(e − 128): a denormal for e below 2.
func halfE8M0(e byte) float32 {
	if e < 2 {
		return math.Float32frombits(0x00200000 << e)
	}
	return math.Float32frombits(uint32(e-1) << 23)
}

func takeMXFP4(b []byte) (t Taken) {
	t.plain(halfE8M0(b[0]))
	t.levels32(0, &fp4Levels, b[1:])
	return t
}

// encodeMXFP4 takes the power of two that puts the largest magnitude between
// levels 4 and 8 of 6: the few values beyond 6 are cut.
func encodeMXFP4(b []byte, x []float32) {
	e := 0
	if m := maxAbs(x); m > 0 && m <= math.MaxFloat32 {
		_, exp := math.Frexp(float64(m)) // m in ½…1 × 2^exp
		e = min(max(exp-1-2+127, 0), 254)
	}
	b[0] = byte(e)
	putLevels32(b[1:], &fp4Levels, x, halfE8M0(b[0]))
}
