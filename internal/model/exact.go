package model

import (
	"math"
	"math/big"
)

// Rotary frequencies decide every later bit, and math.Pow, math.Log and fused
// multiply-adds differ between targets in the last place. So they are computed
// once, at load, in big.Float: integer arithmetic underneath, one rounding at
// the end.
const bigPrec = 160

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(bigPrec).SetFloat64(x) }

func bigInt(n int) *big.Float { return new(big.Float).SetPrec(bigPrec).SetInt64(int64(n)) }

func bigNew() *big.Float { return new(big.Float).SetPrec(bigPrec) }

// bigRoot returns the n-th root of x for finite x > 0, n ≥ 1, by Newton's
// method from the float64 estimate, whose 50 good bits three rounds make 400.
func bigRoot(x *big.Float, n int) *big.Float {
	f, _ := x.Float64()
	r := bigOf(math.Pow(f, 1/float64(n)))
	for range 3 {
		p := bigPow(r, n-1)
		d := bigNew().Mul(p, r)
		d.Sub(d, x)
		d.Quo(d, p.Mul(p, bigInt(n)))
		r.Sub(r, d)
	}
	return r
}

// bigPow returns x to the power n ≥ 0.
func bigPow(x *big.Float, n int) *big.Float {
	p, sq := bigInt(1), bigNew().Set(x)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			p.Mul(p, sq)
		}
		sq.Mul(sq, sq)
	}
	return p
}

// bigLn returns the natural logarithm of finite x > 0: x = m × 2^e with m in
// [½, 1), each part by the series of the inverse hyperbolic tangent, whose
// argument is at most ⅓.
func bigLn(x *big.Float) *big.Float {
	m := bigNew()
	e := x.MantExp(m)
	one := bigInt(1)
	z := bigNew().Quo(bigNew().Sub(m, one), bigNew().Add(m, one))
	ln := atanh2(z)
	ln2 := atanh2(bigNew().Quo(one, bigInt(3)))
	return ln.Add(ln, ln2.Mul(ln2, bigInt(e)))
}

// atanh2 returns 2 atanh z for |z| ≤ ⅓; a term gains more than three bits.
func atanh2(z *big.Float) *big.Float {
	sq := bigNew().Mul(z, z)
	sum, p := bigNew(), bigNew().Set(z)
	for k := 1; k < 110; k += 2 {
		sum.Add(sum, bigNew().Quo(p, bigInt(k)))
		p.Mul(p, sq)
	}
	return sum.Mul(sum, bigInt(2))
}
