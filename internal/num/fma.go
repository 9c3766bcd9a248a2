// Package num holds the scalar float arithmetic that defines results to the
// bit. Go fuses a*b+c on some targets and not on others, so code whose bits
// matter writes float32(a*b) where it means two roundings and FMA32 where it
// means one.
package num

import "math"

// FMA32 returns a×b+c with one rounding (to nearest, ties to even), the same
// bits on every target, subnormals, signed zeros and infinities included. The
// payload of a NaN is not defined. Safe for concurrent use.
func FMA32(a, b, c float32) float32 {
	s := float64(float64(a)*float64(b)) + float64(c)
	if settled(s) {
		return float32(s)
	}
	return float32(sumToOdd(a, b, c))
}

// settled tells whether rounding s, itself a rounded sum, to float32 gives what
// rounding the exact sum would. It does unless s lies just on a tie, half way
// between two floats, where the exact sum may lie beside it. Below 2⁻¹²⁵ ties
// have other patterns: not looked at. Nearly always true.
func settled(s float64) bool {
	return math.Float64bits(s)&0x1fffffff != 0x10000000 && (s > 2*minNormal || s < -2*minNormal)
}

// Smallest normal float32, and the least magnitude that rounding to 24 bits
// with an unbounded exponent takes up to it.
const (
	minNormal  = 0x1p-126
	tinyBefore = 0x1p-126 - 0x1p-151
)

// FMA32Flush is FMA32 on a unit with denormals-are-zero and flush-to-zero, as
// bf16 tile products work: denormal inputs count as zeros of their sign, and a
// result that is tiny after rounding is a zero of its sign. "After rounding"
// (as x86 decides it) means with an unbounded exponent: what 24 bits round
// up to 2⁻¹²⁶ is kept, what only the coarser denormal grid rounds up is not.
// Safe for concurrent use.
func FMA32Flush(a, b, c float32) float32 {
	a, b, c = Flush(a), Flush(b), Flush(c)
	s := float64(float64(a)*float64(b)) + float64(c)
	if settled(s) {
		return float32(s)
	}
	s = sumToOdd(a, b, c)
	if s < tinyBefore && s > -tinyBefore {
		return float32(math.Copysign(0, s))
	}
	return float32(s)
}

// Flush returns x, or the zero of its sign if x is denormal. Safe for
// concurrent use.
func Flush(x float32) float32 {
	if x < minNormal && x > -minNormal {
		return math.Float32frombits(math.Float32bits(x) & 0x80000000)
	}
	return x
}

// sumToOdd returns a×b+c in float64, rounded to odd: the truncated value with
// its last bit set if anything was cut off. With 53 bits against 24 a second
// rounding to float32 is then as if it were the only one; rounding twice to
// nearest would err at ties.
func sumToOdd(a, b, c float32) float64 {
	p := float64(float64(a) * float64(b)) // 48 bits at most: exact
	q := float64(c)
	s := p + q
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return s
	}
	// TwoSum: e is exactly what the rounding of s left behind.
	t := s - p
	e := (p - (s - t)) + (q - t)
	if e == 0 {
		return s
	}
	bits := math.Float64bits(s)
	if bits&1 == 0 {
		if (e > 0) == (s > 0) {
			bits++
		} else {
			bits-- // s was rounded away from zero; the value below it is odd
		}
	}
	return math.Float64frombits(bits)
}
