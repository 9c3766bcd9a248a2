package chat

import "strings"

// binary computes a op b for every type that has the operator. It is the whole
// of Python's operator dispatch that templates can reach.
func (r *run) binary(op *arithOp, a, b Value) (Value, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	if err := r.chargeInt(a, b); err != nil {
		return nil, err
	}
	if op == opPow {
		if err := r.charge(powSteps); err != nil {
			return nil, err
		}
	}
	if v, ok, err := op.apply(a, b); ok {
		if err != nil {
			return nil, err
		}
		return v, r.chargeInt(v)
	}
	if op == opMod {
		// A format takes anything on its right, an undefined value included.
		if s, ok := strOf(a); ok {
			return r.percent(a, s, b)
		}
	}
	if err := firstUndefined(a, b); err != nil {
		return nil, err
	}
	switch op {
	case opAdd:
		return r.add(a, b)
	case opMul:
		return r.mul(a, b)
	}
	return nil, opError(op.sym, a, b)
}

func opError(sym string, a, b Value) error {
	if sym == "**" {
		sym = "** or pow()"
	}
	return failf("unsupported operand type(s) for %s: '%s' and '%s'", sym, a.pyType(), b.pyType())
}

func (r *run) add(a, b Value) (Value, error) {
	x, ok1 := strOf(a)
	y, ok2 := strOf(b)
	switch {
	case ok1 && ok2:
		_, m1 := a.(markup)
		_, m2 := b.(markup)
		if !m1 && !m2 {
			if err := r.built(len(x) + len(y)); err != nil {
				return nil, err
			}
			return text(x + y), nil
		}
		if err := r.built(5 * (len(x) + len(y))); err != nil {
			return nil, err
		}
		if !m1 {
			x = escapeHTML(x)
		}
		if !m2 {
			y = escapeHTML(y)
		}
		return markup(x + y), nil
	case ok1:
		return nil, failf("can only concatenate str (not \"%s\") to str", b.pyType())
	}
	switch s := a.(type) {
	case *list:
		if t, ok := b.(*list); ok {
			items, err := r.concat(s.items, t.items)
			return &list{items}, err
		}
		return nil, failf("can only concatenate list (not \"%s\") to list", b.pyType())
	case *tuple:
		if t, ok := b.(*tuple); ok {
			items, err := r.concat(s.items, t.items)
			return &tuple{items: items}, err
		}
		return nil, failf("can only concatenate tuple (not \"%s\") to tuple", b.pyType())
	}
	return nil, opError("+", a, b)
}

func (r *run) concat(a, b []Value) ([]Value, error) {
	if err := r.builtItems(len(a) + len(b)); err != nil {
		return nil, err
	}
	return append(append(make([]Value, 0, len(a)+len(b)), a...), b...), nil
}

// mul repeats a sequence; which side it is on does not matter.
func (r *run) mul(a, b Value) (Value, error) {
	if _, ok := numOf(a); ok {
		a, b = b, a
	}
	s, isStr := strOf(a)
	items, isSeq := seqOf(a)
	if !isStr && !isSeq {
		return nil, opError("*", a, b)
	}
	switch b.(type) {
	case integer, boolean, bigint:
	default:
		return nil, failf("can't multiply sequence by non-int of type '%s'", b.pyType())
	}
	n, _ := numOf(b)
	count := n.i
	if n.kind == 'b' {
		count = int64(n.b.Sign()) << 40 // beyond any limit, unless there is nothing to repeat
	}
	if isStr {
		if count <= 0 || s == "" {
			return sameKind(a, ""), nil
		}
		if err := r.builtN(int64(len(s)), count); err != nil {
			return nil, err
		}
		return sameKind(a, strings.Repeat(s, int(count))), nil
	}
	var out []Value
	if count > 0 && len(items) > 0 {
		if err := r.builtN(int64(len(items))*valueSize, count); err != nil {
			return nil, err
		}
		out = make([]Value, 0, len(items)*int(count))
		for range count {
			out = append(out, items...)
		}
	}
	if _, ok := a.(*tuple); ok {
		return &tuple{items: out}, nil
	}
	return &list{out}, nil
}

// negate is unary minus, and plus where keep is set.
func negate(v Value, keep bool) (Value, error) {
	n, ok := numOf(v)
	if !ok {
		if err := firstUndefined(v); err != nil {
			return nil, err
		}
		sym := "-"
		if keep {
			sym = "+"
		}
		return nil, failf("bad operand type for unary %s: '%s'", sym, v.pyType())
	}
	if keep {
		if b, ok := v.(boolean); ok {
			_ = b
			return integer(n.i), nil
		}
		return v, nil
	}
	if n.kind == 'f' {
		return float(-n.f), nil
	}
	z, _, err := opSub.apply(integer(0), v)
	return z, err
}
