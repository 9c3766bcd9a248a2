package chat

// attrExpr is x.name.
type attrExpr struct {
	x    expr
	name string
}

func (e *attrExpr) each(f func(expr)) { f(e.x) }

func (e *attrExpr) eval(r *run) (Value, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	v, err := e.x.eval(r)
	if err != nil {
		return nil, err
	}
	return r.getattr(v, e.name)
}

// itemExpr is x[key].
type itemExpr struct{ x, key expr }

func (e *itemExpr) each(f func(expr)) { f(e.x); f(e.key) }

func (e *itemExpr) eval(r *run) (Value, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	v, err := e.x.eval(r)
	if err != nil {
		return nil, err
	}
	k, err := e.key.eval(r)
	if err != nil {
		return nil, err
	}
	return r.getitem(v, k)
}

// sliceExpr is x[start:stop:step]; parts left out are nil.
type sliceExpr struct{ x, start, stop, step expr }

func (e *sliceExpr) each(f func(expr)) {
	for _, p := range []expr{e.x, e.start, e.stop, e.step} {
		if p != nil {
			f(p)
		}
	}
}

func (e *sliceExpr) eval(r *run) (Value, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	v, err := e.x.eval(r)
	if err != nil {
		return nil, err
	}
	var b sliceBounds
	if b.start, err = bound(r, e.start); err != nil {
		return nil, err
	}
	if b.stop, err = bound(r, e.stop); err != nil {
		return nil, err
	}
	if b.step, err = bound(r, e.step); err != nil {
		return nil, err
	}
	return r.slice(v, b)
}

// bound evaluates one bound. Integers beyond 62 bits are as good as infinite,
// so they are cut there, and arithmetic on bounds can't wrap.
func bound(r *run, e expr) (*int64, error) {
	if e == nil {
		return nil, nil
	}
	v, err := e.eval(r)
	if err != nil {
		return nil, err
	}
	n, ok := numOf(v)
	if _, isNone := v.(none); isNone {
		return nil, nil
	}
	if !ok || n.kind == 'f' {
		return nil, failf("slice indices must be integers or None or have an __index__ method")
	}
	const far = 1 << 62
	i := n.i
	if n.kind == 'b' {
		i = int64(n.b.Sign()) * far
	}
	i = min(max(i, -far), far)
	return &i, nil
}

// callArgs are the written arguments of a call.
type callArgs struct {
	pos          []expr
	names        []string
	vals         []expr
	star, kwstar expr // *args and **kwargs, nil where left out
}

func (a *callArgs) each(f func(expr)) {
	for _, p := range a.pos {
		f(p)
	}
	for _, p := range a.vals {
		f(p)
	}
	if a.star != nil {
		f(a.star)
	}
	if a.kwstar != nil {
		f(a.kwstar)
	}
}

// eval evaluates the arguments, *args and **kwargs spread out.
func (a *callArgs) eval(r *run) (pos []Value, kw []keyword, err error) {
	if err := r.charge(len(a.pos) + 4*len(a.vals)); err != nil {
		return nil, nil, err
	}
	if len(a.pos) > 0 {
		pos = make([]Value, len(a.pos))
		for i, p := range a.pos {
			if pos[i], err = p.eval(r); err != nil {
				return nil, nil, err
			}
		}
	}
	for i, p := range a.vals {
		v, err := p.eval(r)
		if err != nil {
			return nil, nil, err
		}
		kw = append(kw, keyword{a.names[i], v})
	}
	if a.star != nil {
		v, err := a.star.eval(r)
		if err != nil {
			return nil, nil, err
		}
		more, err := r.collect(v)
		if err != nil {
			return nil, nil, err
		}
		if err := r.builtItems(len(more)); err != nil {
			return nil, nil, err
		}
		pos = append(pos, more...)
	}
	if a.kwstar != nil {
		return a.spread(r, pos, kw)
	}
	return pos, kw, nil
}

func (a *callArgs) spread(r *run, pos []Value, kw []keyword) ([]Value, []keyword, error) {
	v, err := a.kwstar.eval(r)
	if err != nil {
		return nil, nil, err
	}
	m, ok := v.(*Map)
	if !ok {
		return nil, nil, failf("argument after ** must be a mapping, not %s", v.pyType())
	}
	if err := r.builtItems(3 * m.Len()); err != nil {
		return nil, nil, err
	}
	// A macro keeps only its own keywords, but a builtin looks each one up:
	// the product stays small because a call with so many is an error anyway.
	if m.Len() > 255 {
		return nil, nil, &LimitError{"keyword arguments in a call", 255}
	}
	written := kw // the names of the dict differ from one another
	for _, e := range m.entries {
		name, ok := strOf(e.key)
		if !ok {
			return nil, nil, failf("keywords must be strings")
		}
		if err := r.charge(len(written)/4 + len(name)/2); err != nil { // a builtin keeps them in a dict
			return nil, nil, err
		}
		for _, k := range written {
			same, err := r.sameText(k.name, name)
			if err != nil {
				return nil, nil, err
			}
			if same {
				return nil, nil, failf("got multiple values for keyword argument '%s'", name)
			}
		}
		kw = append(kw, keyword{name, e.val})
	}
	return pos, kw, nil
}

// callExpr is f(args).
type callExpr struct {
	f    expr
	args callArgs
}

func (e *callExpr) each(f func(expr)) { f(e.f); e.args.each(f) }

func (e *callExpr) eval(r *run) (Value, error) { return e.with(r, nil) }

// with calls with one more keyword argument, the caller of a call block.
func (e *callExpr) with(r *run, caller Value) (Value, error) {
	f, err := e.f.eval(r)
	if err != nil {
		return nil, err
	}
	pos, kw, err := e.args.eval(r)
	if err != nil {
		return nil, err
	}
	if caller != nil {
		kw = append(kw, keyword{"caller", caller})
	}
	return r.callValue(f, pos, kw)
}

// filterExpr is x|name(args). x is nil where a block's text is filtered.
type filterExpr struct {
	x    expr
	name string
	args callArgs
	line int
}

func (e *filterExpr) each(f func(expr)) {
	if e.x != nil {
		f(e.x)
	}
	e.args.each(f)
}

func (e *filterExpr) eval(r *run) (Value, error) {
	v, err := e.x.eval(r)
	if err != nil {
		return nil, err
	}
	return e.apply(r, v)
}

// apply filters v. The chain may begin with a block's text: then v is that.
func (e *filterExpr) apply(r *run, v Value) (Value, error) {
	pos, kw, err := e.args.eval(r)
	if err != nil {
		return nil, err
	}
	return r.filter(e.name, v, pos, kw)
}

// applyBlock runs a chain of filters that stands over a block's text.
func applyBlock(r *run, e expr, v Value) (Value, error) {
	f := e.(*filterExpr)
	if f.x != nil {
		var err error
		if v, err = applyBlock(r, f.x, v); err != nil {
			return nil, err
		}
	}
	return f.apply(r, v)
}

func (r *run) filter(name string, v Value, pos []Value, kw []keyword) (Value, error) {
	b := r.lib.filters[name]
	if b == nil {
		return nil, failf("No filter named %s found.", quoted(name))
	}
	return b.call(r, v, pos, kw)
}

// testExpr is x is name(args).
type testExpr struct {
	x    expr
	name string
	args callArgs
	line int
}

func (e *testExpr) each(f func(expr)) { f(e.x); e.args.each(f) }

func (e *testExpr) eval(r *run) (Value, error) {
	v, err := e.x.eval(r)
	if err != nil {
		return nil, err
	}
	pos, kw, err := e.args.eval(r)
	if err != nil {
		return nil, err
	}
	return r.test(e.name, v, pos, kw)
}

func (r *run) test(name string, v Value, pos []Value, kw []keyword) (Value, error) {
	b := r.lib.tests[name]
	if b == nil {
		return nil, failf("No test named %s found.", quoted(name))
	}
	return b.call(r, v, pos, kw)
}
