package chat

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

func doInt(r *run, v Value, a args) (Value, error) {
	if err := firstUndefined(v); err != nil {
		return nil, err
	}
	if s, ok := strOf(v); ok {
		base, err := intOf(a.v[1])
		if err != nil { // int() fails, which the filter takes for no number
			base = -1
		}
		if s, err = r.digits(s); err != nil {
			return nil, err
		}
		if err := r.charge(len(s) * len(s) / 4096); err != nil {
			return nil, err
		}
		if n := parseInt(s, int(min(max(base, -1), 99))); n != nil {
			return n, nil
		}
		f, ok := parseFloat(s)
		if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
			return a.v[0], nil
		}
		return truncFloat(f), nil
	}
	n, ok := numOf(v)
	switch {
	case !ok:
		return a.v[0], nil
	case n.kind == 'f' && (math.IsInf(n.f, 0) || math.IsNaN(n.f)):
		if math.IsInf(n.f, 0) { // OverflowError, which the filter does not catch
			return nil, failf("cannot convert float infinity to integer")
		}
		return a.v[0], nil
	case n.kind == 'f':
		return truncFloat(n.f), nil
	}
	return normInt(n.big()), nil
}

// truncFloat is int(f) for a finite f.
func truncFloat(f float64) Value {
	n, _ := new(big.Float).SetFloat64(math.Trunc(f)).Int(nil)
	return normInt(n)
}

// digits is s without the white space around it, for reading it as a number; "" where
// it is too long for one. It pays for both.
func (r *run) digits(s string) (string, error) {
	s, err := r.strip(s, nil, true, true)
	if err != nil || len(s) > maxIntDigits {
		return "", err
	}
	return s, r.charge(len(s) / 4)
}

// parseInt is int(s, base); nil where s is no integer. White space around it is the
// caller's to cut.
func parseInt(s string, base int) Value {
	if s == "" || len(s) > maxIntDigits || base != 0 && (base < 2 || base > 36) {
		return nil
	}
	sign := ""
	if s[0] == '+' || s[0] == '-' {
		sign, s = s[:1], s[1:]
	}
	if s == "" || s[0] == '+' || s[0] == '-' {
		return nil
	}
	if len(s) > 1 && s[0] == '0' {
		prefixes := map[byte]int{'x': 16, 'o': 8, 'b': 2}
		if b := prefixes[s[1]|0x20]; b != 0 && (base == b || base == 0) {
			base = b
			s = strings.TrimPrefix(s[2:], "_")
		} else if base == 0 && strings.Trim(s, "0_") != "" {
			return nil
		}
	}
	if base == 0 {
		base = 10
	}
	if strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return nil
	}
	n, ok := new(big.Int).SetString(sign+strings.ReplaceAll(s, "_", ""), base)
	if !ok {
		return nil
	}
	return normInt(n)
}

// parseFloat is float(s). White space around it is the caller's to cut.
func parseFloat(s string) (float64, bool) {
	if s == "" || len(s) > maxIntDigits {
		return 0, false
	}
	body := strings.TrimLeft(s, "+-")
	if len(s)-len(body) > 1 {
		return 0, false
	}
	switch strings.ToLower(body) {
	case "inf", "infinity", "nan":
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil
	}
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c == '_' && (i == 0 || i+1 == len(body) || !isDec(body[i-1]) || !isDec(body[i+1])) {
			return 0, false
		}
		if !isDec(c) && strings.IndexByte("_.eE+-", c) < 0 {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil && !math.IsInf(f, 0) { // out of range is infinite, as in Python
		return 0, false
	}
	return f, true
}

func doFloat(r *run, v Value, a args) (Value, error) {
	if err := firstUndefined(v); err != nil {
		return nil, err
	}
	if s, ok := strOf(v); ok {
		s, err := r.digits(s)
		if err != nil {
			return nil, err
		}
		if f, ok := parseFloat(s); ok {
			return float(f), nil
		}
		return a.v[0], nil
	}
	n, ok := numOf(v)
	if !ok {
		return a.v[0], nil
	}
	f, err := n.float()
	return float(f), err
}

func doAbs(_ *run, v Value, _ args) (Value, error) {
	n, ok := numOf(v)
	if !ok {
		if err := firstUndefined(v); err != nil {
			return nil, err
		}
		return nil, failf("bad operand type for abs(): '%s'", v.pyType())
	}
	switch {
	case n.kind == 'f':
		return float(math.Abs(n.f)), nil
	case n.sign() < 0:
		return negate(v, false)
	}
	return negate(v, true)
}

func doRound(r *run, v Value, a args) (Value, error) {
	n, ok := numOf(v)
	if !ok {
		if err := firstUndefined(v); err != nil {
			return nil, err
		}
		return nil, failf("type %s doesn't define __round__ method", v.pyType())
	}
	method, _ := strOf(a.v[1])
	if _, isNone := a.v[0].(none); isNone && method == "common" { // round to an integer
		if n.kind != 'f' {
			return normInt(n.big()), nil
		}
		if n.f-n.f != 0 {
			return nil, failf("cannot convert float infinity or NaN to integer")
		}
		return truncFloat(math.RoundToEven(n.f)), nil
	}
	prec, err := intOf(a.v[0])
	if b, ok := a.v[0].(bigint); ok && method == "common" { // as good as infinite
		prec, err = int64(b.n.Sign())<<40, nil
	}
	if err != nil {
		return nil, err
	}
	if err := r.charge(int(min(max(prec, -prec), maxIntDigits))); err != nil {
		return nil, err
	}
	if err := r.chargeInt(v); err != nil {
		return nil, err
	}
	switch method {
	case "common":
		if n.kind != 'f' {
			return roundInt(n.big(), prec)
		}
		f, err := roundFloat(n.f, prec)
		return float(f), err
	case "ceil", "floor":
	default:
		return nil, failf("method must be common, ceil or floor")
	}
	scale, _, err := opPow.apply(integer(10), integer(prec))
	if err != nil {
		return nil, err
	}
	scaled, _, err := opMul.apply(v, scale)
	if err != nil {
		return nil, err
	}
	m, _ := numOf(scaled)
	if m.kind == 'f' {
		f := math.Ceil(m.f)
		if method == "floor" {
			f = math.Floor(m.f)
		}
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, failf("cannot convert float infinity or NaN to integer")
		}
		scaled = truncFloat(f)
	}
	out, _, err := opDiv.apply(scaled, scale)
	return out, err
}

// roundFloat rounds half to even on the exact decimal value, as Python does.
func roundFloat(f float64, prec int64) (float64, error) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0) || prec > 323:
		return f, nil
	case prec >= 0:
		return strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(prec), 64), 64)
	case prec < -308:
		return math.Copysign(0, f), nil
	}
	// Round the exact value to a multiple of a power of ten.
	n, _ := new(big.Float).SetFloat64(f).Int(nil)
	v, err := roundInt(n, prec)
	if err != nil {
		return 0, err
	}
	if half := new(big.Float).SetFloat64(f); !half.IsInt() && isHalfway(n, prec) {
		// The cut fraction decides a tie away from zero.
		v, err = roundInt(new(big.Int).Add(n, big.NewInt(int64(n.Sign()))), prec)
		if err != nil {
			return 0, err
		}
	}
	x, _ := numOf(v)
	out, err := x.float()
	return math.Copysign(out, f), err
}

func isHalfway(n *big.Int, prec int64) bool {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(-prec), nil)
	rest := new(big.Int).Rem(new(big.Int).Abs(n), unit)
	return rest.Lsh(rest, 1).Cmp(unit) == 0
}

// roundInt rounds an integer to a multiple of 10**-prec, half to even.
func roundInt(n *big.Int, prec int64) (Value, error) {
	if prec >= 0 {
		return normInt(n), nil
	}
	if prec < -maxIntDigits {
		return integer(0), nil
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(-prec), nil)
	q, m, err := floorMod(n, unit)
	if err != nil {
		return nil, err
	}
	c := new(big.Int).Lsh(m, 1).Cmp(unit)
	if c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return boundedInt(q.Mul(q, unit))
}

func doFileSize(r *run, v Value, a args) (Value, error) {
	x, err := doFloat(r, v, args{v: []Value{None}})
	if err != nil {
		return nil, err
	}
	f, ok := x.(float)
	if !ok {
		return nil, failf("could not convert to float: '%s'", v.pyType())
	}
	base, units := 1000.0, []string{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"}
	if truth(a.v[0]) {
		base, units = 1024, []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}
	}
	n := float64(f)
	switch {
	case n == 1:
		return text("1 Byte"), nil
	case n < base:
		return text(strconv.FormatFloat(math.Trunc(n), 'f', 0, 64) + " Bytes"), nil
	}
	unit := base
	for i, u := range units {
		unit *= base
		if n < unit || i == len(units)-1 {
			return text(strconv.FormatFloat(base*n/unit, 'f', 1, 64) + " " + u), nil
		}
	}
	return nil, failf("not a size")
}
