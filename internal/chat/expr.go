package chat

// expr is one node of an expression.
type expr interface {
	eval(r *run) (Value, error)
	// each calls f for every direct part, in the order of evaluation.
	each(f func(expr))
}

// constExpr is a literal.
type constExpr struct{ v Value }

func (e *constExpr) eval(r *run) (Value, error) { return e.v, r.step() }
func (e *constExpr) each(func(expr))            {}

// nameExpr reads a variable. Which one is decided at compile time (scope.go).
type nameExpr struct {
	name  string
	slot  slotRef
	undef *undefined // what it is when it has no value
}

func (e *nameExpr) each(func(expr)) {}

func (e *nameExpr) eval(r *run) (Value, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	if v := e.slot.load(r); v != nil {
		return v, nil
	}
	return e.undef, nil
}

// seqExpr is a list or tuple display.
type seqExpr struct {
	items []expr
	tuple bool
}

func (e *seqExpr) each(f func(expr)) {
	for _, it := range e.items {
		f(it)
	}
}

func (e *seqExpr) eval(r *run) (Value, error) {
	if err := r.builtItems(len(e.items)); err != nil {
		return nil, err
	}
	items := make([]Value, len(e.items))
	for i, it := range e.items {
		v, err := it.eval(r)
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	if e.tuple {
		return &tuple{items: items}, nil
	}
	return &list{items}, nil
}

// dictExpr is a dict display: keys and values in turn.
type dictExpr struct{ parts []expr }

func (e *dictExpr) each(f func(expr)) {
	for _, p := range e.parts {
		f(p)
	}
}

func (e *dictExpr) eval(r *run) (Value, error) {
	if err := r.builtItems(4 * len(e.parts)); err != nil {
		return nil, err
	}
	m := NewMap(len(e.parts) / 2)
	for i := 0; i < len(e.parts); i += 2 {
		k, err := e.parts[i].eval(r)
		if err != nil {
			return nil, err
		}
		v, err := e.parts[i+1].eval(r)
		if err != nil {
			return nil, err
		}
		if err := m.putAny(r, k, v); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// condExpr is "then if test else other"; without else it may be undefined.
type condExpr struct {
	test, then, other expr // other may be nil
	line              int
}

func (e *condExpr) each(f func(expr)) {
	f(e.test)
	f(e.then)
	if e.other != nil {
		f(e.other)
	}
}

func (e *condExpr) eval(r *run) (Value, error) {
	v, err := e.test.eval(r)
	if err != nil {
		return nil, err
	}
	switch {
	case truth(v):
		return e.then.eval(r)
	case e.other != nil:
		return e.other.eval(r)
	}
	return &undefined{hint: "the inline if-expression evaluated to false and no else section was defined."}, nil
}
