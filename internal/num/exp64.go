package num

import "math"

const (
	ln2Hi = 6.93147180369123816490e-01 // 33 bits: times an exponent it is exact
	ln2Lo = 1.90821492927058770002e-10 // ln 2 − ln2Hi
	log2E = 1.44269504088896338700e+00
)

// exp64Coef are 1/14! … 1/2!.
var exp64Coef = [13]float64{
	1.0 / 87178291200, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
	1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2,
}

// Exp64 returns e to the x within 2 ulp, with the same bits on every target
// (math.Exp is assembly on some). Overflow gives +Inf, underflow 0. Safe for
// concurrent use.
func Exp64(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > 709.782712893384:
		return math.Inf(1)
	case x < -745.1332191019412:
		return 0
	}
	n := math.RoundToEven(float64(x * log2E))
	hi := float64(x - float64(n*ln2Hi))
	r := float64(hi - float64(n*ln2Lo))
	p := exp64Coef[0]
	for _, c := range exp64Coef[1:] {
		p = float64(p*r) + c
	}
	// 1 + (r + r²p): the largest term last keeps the rounding error small.
	q := float64(float64(r*r)*p) + r
	return scale64(1+q, int(n))
}

// scale64 is x × 2ⁿ in two steps, so that neither factor leaves the range.
func scale64(x float64, n int) float64 {
	a := n / 2
	b := n - a
	x = float64(x * math.Float64frombits(uint64(a+1023)<<52))
	return float64(x * math.Float64frombits(uint64(b+1023)<<52))
}

// log64Coef are 2/23 … 2/5, 2/3: the series of 2·atanh(s) in s² beyond 2s.
var log64Coef = [11]float64{
	2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3,
}

// Log64 returns the natural logarithm of x within 2 ulp, with the same bits on
// every target. Log64(0) is −Inf, of a negative number or NaN it is NaN. Safe
// for concurrent use.
func Log64(x float64) float64 {
	switch {
	case x != x || x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	case math.IsInf(x, 1):
		return x
	}
	m, e := math.Frexp(x) // m in [½, 1)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	f := m - 1
	s := float64(f / (2 + f))
	z := float64(s * s)
	r := log64Coef[0]
	for _, c := range log64Coef[1:] {
		r = float64(r*z) + c
	}
	r = float64(r * z)
	// log(1+f) = f − s(f − r), with s = f/(2+f) and r the series beyond 2s, over s.
	k := float64(e)
	d := float64(s*(f-r)) - float64(k*ln2Lo)
	return float64(k*ln2Hi) - (d - f)
}

// Pow64 returns x to the y for x ≥ 0 with the same bits on every target. The
// logarithm's rounding counts y·ln x times: for the frequencies of rotary
// embeddings, which it is made for and which are kept as float32, the relative
// error stays under 2⁻⁴⁸. A negative x gives NaN. Safe for concurrent use.
func Pow64(x, y float64) float64 {
	if y == 0 {
		return 1
	}
	return Exp64(float64(y * Log64(x)))
}
