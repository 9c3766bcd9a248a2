package chat

import (
	"math"
	"math/big"
	"math/bits"
)

// arithOp is one binary operator: what it does to two integers in int64 range,
// to two of any size, and to two floats. A fast path that can't answer returns
// nil, and the next wider one is asked.
type arithOp struct {
	sym   string
	small func(a, b int64) Value
	wide  func(a, b *big.Int) (Value, error)
	real  func(a, b float64) (Value, error)
}

var (
	opAdd = &arithOp{"+",
		func(a, b int64) Value {
			if c := a + b; (c > a) == (b > 0) {
				return integer(c)
			}
			return nil
		},
		func(a, b *big.Int) (Value, error) { return boundedInt(new(big.Int).Add(a, b)) },
		func(a, b float64) (Value, error) { return float(a + b), nil },
	}
	opSub = &arithOp{"-",
		func(a, b int64) Value {
			if c := a - b; (c < a) == (b > 0) {
				return integer(c)
			}
			return nil
		},
		func(a, b *big.Int) (Value, error) { return boundedInt(new(big.Int).Sub(a, b)) },
		func(a, b float64) (Value, error) { return float(a - b), nil },
	}
	opMul = &arithOp{"*",
		func(a, b int64) Value {
			if hi, lo := bits.Mul64(absU(a), absU(b)); hi == 0 && lo < 1<<63 {
				return integer(a * b)
			}
			return nil
		},
		func(a, b *big.Int) (Value, error) { return boundedInt(new(big.Int).Mul(a, b)) },
		func(a, b float64) (Value, error) { return float(a * b), nil },
	}
	opDiv      = &arithOp{"/", divSmall, divInt, divFloat}
	opFloorDiv = &arithOp{"//", nil, floorDivInt, floorDivFloat}
	opMod      = &arithOp{"%", nil, modInt, modFloat}
	opPow      = &arithOp{"**", nil, powInt, powFloat}
)

func absU(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// apply computes a op b for numbers; ok is false where one of them is none.
func (op *arithOp) apply(a, b Value) (v Value, ok bool, err error) {
	x, ok1 := numOf(a)
	y, ok2 := numOf(b)
	if !ok1 || !ok2 {
		return nil, false, nil
	}
	if x.kind == 'f' || y.kind == 'f' {
		fx, err := x.float()
		if err != nil {
			return nil, true, err
		}
		fy, err := y.float()
		if err != nil {
			return nil, true, err
		}
		v, err = op.real(fx, fy)
		return v, true, err
	}
	if op.small != nil && x.kind == 'i' && y.kind == 'i' {
		if v := op.small(x.i, y.i); v != nil {
			return v, true, nil
		}
	}
	v, err = op.wide(x.big(), y.big())
	return v, true, err
}

// divSmall is divInt where both are exact as floats.
func divSmall(a, b int64) Value {
	const exact = 1 << 53
	if b == 0 || a == 0 || absU(a) > exact || absU(b) > exact {
		return nil
	}
	return float(float64(a) / float64(b))
}

func divInt(a, b *big.Int) (Value, error) {
	if b.Sign() == 0 {
		return nil, failf("division by zero")
	}
	f, _ := new(big.Rat).SetFrac(a, b).Float64()
	if math.IsInf(f, 0) {
		return nil, failf("integer division result too large for a float")
	}
	if f == 0 && (a.Sign() < 0) != (b.Sign() < 0) {
		f = math.Copysign(0, -1) // 0 / -1, too
	}
	return float(f), nil
}

func divFloat(a, b float64) (Value, error) {
	if b == 0 {
		return nil, failf("float division by zero")
	}
	return float(a / b), nil
}

// floorMod gives Python's quotient and remainder: the remainder has b's sign.
func floorMod(a, b *big.Int) (q, m *big.Int, err error) {
	if b.Sign() == 0 {
		return nil, nil, failf("integer division or modulo by zero")
	}
	q, m = new(big.Int).QuoRem(a, b, new(big.Int))
	if m.Sign() != 0 && m.Sign() != b.Sign() {
		q.Sub(q, big.NewInt(1))
		m.Add(m, b)
	}
	return q, m, nil
}

func floorDivInt(a, b *big.Int) (Value, error) {
	q, _, err := floorMod(a, b)
	if err != nil {
		return nil, err
	}
	return normInt(q), nil
}

func modInt(a, b *big.Int) (Value, error) {
	_, m, err := floorMod(a, b)
	if err != nil {
		return nil, err
	}
	return normInt(m), nil
}

func floorModFloat(a, b float64) (q, m float64, err error) {
	if b == 0 {
		return 0, 0, failf("float floor division by zero")
	}
	m = math.Mod(a, b)
	q = (a - m) / b
	if m != 0 {
		if (b < 0) != (m < 0) {
			m += b
			q--
		}
	} else {
		m = math.Copysign(0, b)
	}
	if q == 0 {
		return math.Copysign(0, a/b), m, nil
	}
	f := math.Floor(q)
	if q-f > 0.5 {
		f++
	}
	return f, m, nil
}

func floorDivFloat(a, b float64) (Value, error) {
	q, _, err := floorModFloat(a, b)
	if err != nil {
		return nil, err
	}
	return float(q), nil
}

func modFloat(a, b float64) (Value, error) {
	_, m, err := floorModFloat(a, b)
	if err != nil {
		return nil, err
	}
	return float(m), nil
}

func powInt(a, b *big.Int) (Value, error) {
	if b.Sign() < 0 {
		if a.Sign() == 0 {
			return nil, failf("0.0 cannot be raised to a negative power")
		}
		x, err := number{kind: 'b', b: a}.float()
		if err != nil {
			return nil, err
		}
		y, err := number{kind: 'b', b: b}.float()
		if err != nil {
			return nil, err
		}
		return powFloat(x, y)
	}
	// 0, 1 and -1 stay small under any exponent; anything else doubles.
	if a.BitLen() > 1 && (!b.IsInt64() || b.Int64() > maxIntBits || int64(a.BitLen()-1)*b.Int64() > maxIntBits) {
		return nil, &LimitError{"bits in an integer", maxIntBits}
	}
	if a.BitLen() <= 1 {
		odd := b.Bit(0) == 1
		switch {
		case b.Sign() == 0:
			return integer(1), nil
		case a.Sign() >= 0 || odd:
			return normInt(new(big.Int).Set(a)), nil
		}
		return integer(1), nil
	}
	return boundedInt(new(big.Int).Exp(a, b, nil))
}

func powFloat(a, b float64) (Value, error) {
	switch {
	case a == 0 && b < 0:
		return nil, failf("0.0 cannot be raised to a negative power")
	case a < 0 && b != math.Trunc(b) && !math.IsInf(b, 0) && !math.IsInf(a, 0):
		return nil, failf("complex numbers are not supported: negative base with a fractional power")
	}
	f := pow(a, b)
	if math.IsInf(f, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
		return nil, failf("Numerical result out of range")
	}
	return float(f), nil
}
