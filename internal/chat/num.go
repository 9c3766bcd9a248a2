package chat

import (
	"math"
	"math/big"
)

// number is an operand of arithmetic: an int64, a big integer or a float.
type number struct {
	kind byte // 'i', 'b' or 'f'
	i    int64
	b    *big.Int
	f    float64
}

// numOf unpacks numbers; booleans count as 0 and 1, as in Python.
func numOf(v Value) (number, bool) {
	switch x := v.(type) {
	case integer:
		return number{kind: 'i', i: int64(x)}, true
	case float:
		return number{kind: 'f', f: float64(x)}, true
	case boolean:
		if x {
			return number{kind: 'i', i: 1}, true
		}
		return number{kind: 'i'}, true
	case bigint:
		return number{kind: 'b', b: x.n}, true
	}
	return number{}, false
}

func (n number) big() *big.Int {
	if n.kind == 'b' {
		return n.b
	}
	return big.NewInt(n.i)
}

func (n number) float() (float64, error) {
	switch n.kind {
	case 'f':
		return n.f, nil
	case 'i':
		return float64(n.i), nil
	}
	f, _ := new(big.Float).SetInt(n.b).Float64()
	if math.IsInf(f, 0) {
		return 0, failf("int too large to convert to float")
	}
	return f, nil
}

func (n number) sign() int {
	switch n.kind {
	case 'b':
		return n.b.Sign()
	case 'f':
		switch {
		case n.f > 0:
			return 1
		case n.f < 0:
			return -1
		}
		return 0
	}
	switch {
	case n.i > 0:
		return 1
	case n.i < 0:
		return -1
	}
	return 0
}

// normInt gives an integer its one form. It keeps n.
func normInt(n *big.Int) Value {
	if n.IsInt64() {
		return integer(n.Int64())
	}
	return bigint{n}
}

// boundedInt is normInt for results of arithmetic, which can grow.
func boundedInt(n *big.Int) (Value, error) {
	if n.BitLen() > maxIntBits {
		return nil, &LimitError{"bits in an integer", maxIntBits}
	}
	return normInt(n), nil
}

// intOf unpacks an int64; a larger one is an error, since it can only be meant
// as a size or an index.
func intOf(v Value) (int64, error) {
	switch x := v.(type) {
	case integer:
		return int64(x), nil
	case boolean:
		if x {
			return 1, nil
		}
		return 0, nil
	case bigint:
		return 0, failf("Python int too large to convert to C ssize_t")
	case *undefined:
		return 0, x.fail()
	}
	return 0, failf("'%s' object cannot be interpreted as an integer", v.pyType())
}

// flagOf unpacks a flag that Python takes as an integer, and only as one.
func flagOf(v Value) (bool, error) {
	n, err := intOf(v)
	return n != 0, err
}

// compareNum orders two numbers exactly; ok is false where one is NaN.
func compareNum(a, b number) (c int, ok bool) {
	switch {
	case a.kind == 'i' && b.kind == 'i':
		return cmp(a.i, b.i), true
	case a.kind == 'f' && b.kind == 'f':
		return cmpFloat(a.f, b.f)
	case a.kind != 'f' && b.kind != 'f':
		return a.big().Cmp(b.big()), true
	case a.kind == 'f':
		c, ok = compareIntFloat(b, a.f)
		return -c, ok
	}
	return compareIntFloat(a, b.f)
}

func compareIntFloat(a number, f float64) (int, bool) {
	const exact = 1 << 53
	if a.kind == 'i' && a.i >= -exact && a.i <= exact {
		return cmpFloat(float64(a.i), f)
	}
	switch {
	case math.IsNaN(f):
		return 0, false
	case math.IsInf(f, 1):
		return -1, true
	case math.IsInf(f, -1):
		return 1, true
	}
	return new(big.Float).SetInt(a.big()).Cmp(big.NewFloat(f)), true
}

func cmpFloat(a, b float64) (int, bool) {
	switch {
	case a < b:
		return -1, true
	case a > b:
		return 1, true
	}
	return 0, a == b
}

func cmp[T int64 | int | string](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
