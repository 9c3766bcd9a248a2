package num

import "math"

// π/2 in three parts of 53 bits each.
const (
	pio2a = 1.5707963267948966e+00
	pio2b = 6.123233995736766e-17
	pio2c = -1.4973849048591833e-33
)

// sinCoef are ∓1/(2k+1)! from 17! down to 3!, cosCoef ±1/(2k)! from 18! to 4!.
var (
	sinCoef = [8]float64{
		1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
		1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6,
	}
	cosCoef = [8]float64{
		-1.0 / 6402373705728000, 1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600,
		-1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24,
	}
)

// SinCos64 returns the sine and cosine of x radians within 2 ulp for |x| up to
// 2³⁰, with the same bits on every target; NaN for NaN and infinities. Beyond
// 2³⁰ (no position times a frequency gets there) accuracy fades. Safe for
// concurrent use.
func SinCos64(x float64) (sin, cos float64) {
	if x != x || math.IsInf(x, 0) {
		return math.NaN(), math.NaN()
	}
	n := math.RoundToEven(float64(x * (1 / pio2a)))
	// math.FMA rounds once on every target, so that the first step is exact.
	r := math.FMA(-n, pio2a, x)
	r = math.FMA(-n, pio2b, r)
	r = math.FMA(-n, pio2c, r)
	z := float64(r * r)
	s, c := sinCoef[0], cosCoef[0]
	for i := 1; i < len(sinCoef); i++ {
		s = float64(s*z) + sinCoef[i]
		c = float64(c*z) + cosCoef[i]
	}
	s = float64(float64(r*z)*s) + r
	c = float64(float64(z*z)*c) + float64(1-float64(z*0.5))
	switch int64(n) & 3 {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	}
	return -c, s
}
