package num

import "math"

// SiLU32 returns x ÷ (1 + e^−x), each step rounded to float32. Safe for
// concurrent use.
func SiLU32(x float32) float32 { return x / (1 + Exp32(-x)) }

// The tanh form of GELU is x × (1 + tanh u) ÷ 2 = x ÷ (1 + e^−2u) with
// u = √(2/π) × (x + 0.044715x³). These are −2√(2/π) and that × 0.044715.
const (
	GELULinear = float32(-1.5957691216057308)
	GELUCubic  = float32(-0.07135481627159503)
)

// GELU32 returns the tanh form of GELU as engines have it that read it from a
// table of half-precision numbers, which is how its models' references are made: x
// is rounded to half precision, and so is the result. From 10 on the result is x
// itself, down from −10 it is 0. Each step between is rounded to float32 and one
// fused. Safe for concurrent use.
func GELU32(x float32) float32 {
	switch {
	case x >= 10:
		return x
	case x <= -10:
		return 0
	}
	x = RoundHalf(x)
	u := float32(x * FMA32(GELUCubic, float32(x*x), GELULinear))
	return RoundHalf(x / (1 + Exp32(u)))
}

// RoundHalf returns x rounded to half precision, to nearest, ties to even, for x
// of a magnitude below 65504 (and NaN for NaN). Safe for concurrent use.
func RoundHalf(x float32) float32 {
	switch {
	case x != x:
		return x
	case x < 0x1p-14 && x > -0x1p-14: // subnormal halves are multiples of 2⁻²⁴
		r := float32(x+0.75) - 0.75
		return float32(math.Copysign(float64(r), float64(x)))
	}
	b := math.Float32bits(x)
	return math.Float32frombits((b + 0xfff + b>>13&1) &^ 0x1fff)
}

// Tree16 adds 16 lanes in the one order that every horizontal sum uses: lane i
// and i+8, then i and i+4, i+2, i+1. Safe for concurrent use.
func Tree16(lanes *[16]float32) float32 {
	s := *lanes
	for w := 8; w > 0; w /= 2 {
		for i := range w {
			s[i] += s[i+w]
		}
	}
	return s[0]
}

// Sqrt32 returns the correctly rounded square root: rounding the float64 root
// again does not change it. Safe for concurrent use.
func Sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }
