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

// GELU32 returns the tanh form of GELU, each step rounded to float32 and one
// fused. Safe for concurrent use.
func GELU32(x float32) float32 {
	u := float32(x * FMA32(GELUCubic, float32(x*x), GELULinear))
	return x / (1 + Exp32(u))
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
