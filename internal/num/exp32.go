package num

import "math"

// Constants of Exp32. The vector kernels hold the same ones.
const (
	ExpLog2E = float32(1.44269504088896340736)
	ExpLn2Hi = float32(0.693147182464599609375)  // ln 2 rounded to float32
	ExpLn2Lo = float32(-1.904654299957767878e-9) // ln 2 − ExpLn2Hi
	ExpMagic = float32(12582912)                 // 1.5 × 2²³: adding it rounds to an integer in the low bits
	ExpMax   = float32(88.72283)                 // above: +Inf
	ExpMin   = float32(-87.33654)                // below: 0; no result is subnormal but by rounding
)

// expCoef are 1/7! … 1/2!, for |r| ≤ ln2/2 good to a tenth of an ulp.
var expCoef = [6]float32{1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2}

// Exp32 returns e to the x within 1 ulp: 0 below ExpMin, +Inf above ExpMax, NaN
// for NaN. It is the definition that the vector kernels repeat operation by
// operation, so every machine gives the same bits. Safe for concurrent use.
func Exp32(x float32) float32 {
	if x > ExpMax {
		return float32(math.Inf(1))
	}
	if x < ExpMin {
		return 0
	}
	t := FMA32(x, ExpLog2E, ExpMagic)
	n := t - ExpMagic
	r := FMA32(n, -ExpLn2Hi, x)
	r = FMA32(n, -ExpLn2Lo, r)
	p := expCoef[0]
	for _, c := range expCoef[1:] {
		p = FMA32(p, r, c)
	}
	p = FMA32(p, r, 1)
	p = FMA32(p, r, 1)
	// 2ⁿ in two exact steps, since n reaches 128.
	k := int32(math.Float32bits(t)) - int32(math.Float32bits(ExpMagic))
	a := k >> 1
	b := k - a
	p = float32(p * math.Float32frombits(uint32(a+127)<<23))
	return float32(p * math.Float32frombits(uint32(b+127)<<23))
}
