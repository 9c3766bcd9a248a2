package chat

import (
	"math"
	"math/big"
)

// powBits is the precision that a power is computed with: its result is then
// rounded once, where math.Pow can be off by some units in the last place, and a
// template can print them all.
const powBits = 192

// powSteps is what a power of floats costs.
const powSteps = 500

var ln2, _ = new(big.Float).SetPrec(powBits + 32).SetString("0.6931471805599453094172321214581765680755001343602552541206800094933936219696947156058633269964186875420014")

func bigFloat(f float64) *big.Float { return new(big.Float).SetPrec(powBits).SetFloat64(f) }

// pow is a**b for finite numbers other than zero, where a is negative only if b is
// whole.
func pow(a, b float64) float64 {
	if a == 0 || b == 0 || a-a != 0 || b-b != 0 || math.Abs(a) == 1 {
		return math.Pow(a, b)
	}
	if e := b * math.Log2(math.Abs(a)); e > 1100 || e < -1200 { // far beyond any float
		return math.Pow(a, b)
	}
	x := bigFloat(b)
	f, _ := exponential(x.Mul(x, logarithm(math.Abs(a)))).Float64()
	if a < 0 && math.Mod(b, 2) != 0 {
		f = -f
	}
	return f
}

// logarithm of a positive number: one step of Halley's method makes three times the
// bits of a float's logarithm.
func logarithm(a float64) *big.Float {
	frac, exp := math.Frexp(a)
	y := bigFloat(math.Log(frac) + float64(exp)*math.Ln2)
	e, x := exponential(y), bigFloat(a)
	up := new(big.Float).SetPrec(powBits).Sub(x, e)
	up.Quo(up.Mul(up, bigFloat(2)), x.Add(x, e))
	return y.Add(y, up)
}

// exponential is e to the x, for an x of at most some thousand.
func exponential(x *big.Float) *big.Float {
	const halvings, terms = 8, 24
	q, _ := new(big.Float).Quo(x, ln2).Float64()
	k := math.Round(q)
	rest := new(big.Float).SetPrec(powBits+32).Mul(ln2, bigFloat(k))
	rest.Sub(x, rest)
	rest.SetMantExp(rest, -halvings)
	sum := bigFloat(1)
	for n := terms; n > 0; n-- { // 1 + r/1 (1 + r/2 (1 + …
		sum.Mul(sum, rest)
		sum.Quo(sum, bigFloat(float64(n)))
		sum.Add(sum, bigFloat(1))
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum.SetMantExp(sum, int(k))
}
