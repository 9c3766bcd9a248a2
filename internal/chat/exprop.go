package chat

import "strings"

// binaryExpr is one arithmetic operator other than those of a sum.
type binaryExpr struct {
	op   *arithOp
	a, b expr
}

func (e *binaryExpr) each(f func(expr)) { f(e.a); f(e.b) }

func (e *binaryExpr) eval(r *run) (Value, error) {
	a, err := e.a.eval(r)
	if err != nil {
		return nil, err
	}
	b, err := e.b.eval(r)
	if err != nil {
		return nil, err
	}
	return r.binary(e.op, a, b)
}

// sumExpr is a chain of + and -. One node, since templates build text with long
// chains: a run of strings is put together at once instead of term by term.
type sumExpr struct {
	terms []expr
	ops   []*arithOp // ops[i] stands before terms[i+1]
}

func (e *sumExpr) each(f func(expr)) {
	for _, t := range e.terms {
		f(t)
	}
}

func (e *sumExpr) eval(r *run) (Value, error) {
	acc, err := e.terms[0].eval(r)
	if err != nil {
		return nil, err
	}
	var b strings.Builder // the text so far, where acc is nil
	for i, t := range e.terms[1:] {
		v, err := t.eval(r)
		if err != nil {
			return nil, err
		}
		if s, ok := v.(text); ok && e.ops[i] == opAdd {
			if a, ok := acc.(text); ok {
				if err := r.step(); err != nil {
					return nil, err
				}
				b.Reset()
				if err := r.built(len(a) + len(s)); err != nil {
					return nil, err
				}
				b.WriteString(string(a))
				b.WriteString(string(s))
				acc = nil
				continue
			}
			if acc == nil {
				if err := r.built(len(s)); err != nil {
					return nil, err
				}
				b.WriteString(string(s))
				continue
			}
		}
		if acc == nil {
			acc = text(b.String())
			b = strings.Builder{}
		}
		if acc, err = r.binary(e.ops[i], acc, v); err != nil {
			return nil, err
		}
	}
	if acc == nil {
		return text(b.String()), nil
	}
	return acc, nil
}

// concatExpr is a chain of ~: everything as text.
type concatExpr struct{ parts []expr }

func (e *concatExpr) each(f func(expr)) {
	for _, p := range e.parts {
		f(p)
	}
}

func (e *concatExpr) eval(r *run) (Value, error) {
	var b strings.Builder
	for _, p := range e.parts {
		v, err := p.eval(r)
		if err != nil {
			return nil, err
		}
		s, err := r.str(v)
		if err != nil {
			return nil, err
		}
		if err := r.built(len(s)); err != nil {
			return nil, err
		}
		b.WriteString(s)
	}
	return text(b.String()), nil
}

// logicExpr is a chain of "and" or of "or"; its value is an operand, as in Python.
type logicExpr struct {
	parts []expr
	or    bool
}

func (e *logicExpr) each(f func(expr)) {
	for _, p := range e.parts {
		f(p)
	}
}

func (e *logicExpr) eval(r *run) (v Value, err error) {
	for _, p := range e.parts {
		if v, err = p.eval(r); err != nil {
			return nil, err
		}
		if truth(v) == e.or {
			return v, nil
		}
	}
	return v, nil
}

// unaryExpr is not, unary minus or unary plus.
type unaryExpr struct {
	op string
	x  expr
}

func (e *unaryExpr) each(f func(expr)) { f(e.x) }

func (e *unaryExpr) eval(r *run) (Value, error) {
	v, err := e.x.eval(r)
	if err != nil {
		return nil, err
	}
	if e.op == "not" {
		return boolean(!truth(v)), nil
	}
	if err := r.chargeInt(v); err != nil {
		return nil, err
	}
	return negate(v, e.op == "+")
}

// compareExpr is a chain of comparisons: a < b < c holds where both hold.
type compareExpr struct {
	first expr
	ops   []string
	rest  []expr
}

func (e *compareExpr) each(f func(expr)) {
	f(e.first)
	for _, x := range e.rest {
		f(x)
	}
}

func (e *compareExpr) eval(r *run) (Value, error) {
	a, err := e.first.eval(r)
	if err != nil {
		return nil, err
	}
	for i, x := range e.rest {
		b, err := x.eval(r)
		if err != nil {
			return nil, err
		}
		ok, err := r.compare(e.ops[i], a, b)
		if err != nil {
			return nil, err
		}
		if !ok {
			return boolean(false), nil
		}
		a = b
	}
	return boolean(true), nil
}

func (r *run) compare(op string, a, b Value) (bool, error) {
	switch op {
	case "==":
		return r.equal(a, b)
	case "!=":
		eq, err := r.equal(a, b)
		return !eq, err
	case "in":
		return r.contains(b, a)
	case "not in":
		in, err := r.contains(b, a)
		return !in, err
	}
	c, ok, err := r.order(op, a, b, 0)
	if err != nil || !ok {
		return false, err
	}
	switch op {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	}
	return c >= 0, nil
}
