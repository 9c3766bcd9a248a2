package chat

// doMap applies a filter, or reads an attribute, item by item as they are
// asked for.
func doMap(r *run, v Value, a args) (Value, error) {
	each, err := r.mapper(a)
	if err != nil {
		return lazyFault(v, err), nil
	}
	return r.lazy(v, func(r *run, x Value) (Value, bool, error) {
		y, err := each(r, x)
		return y, true, err
	})
}

func (r *run) mapper(a args) (func(*run, Value) (Value, error), error) {
	if len(a.rest) == 0 {
		var attr, def Value
		for _, k := range a.kw {
			switch k.name {
			case "attribute":
				attr = k.val
			case "default":
				def = k.val
			default:
				return nil, failf("Unexpected keyword argument '%s'", k.name)
			}
		}
		if attr == nil {
			return nil, failf("map requires a filter argument")
		}
		g, err := r.attrGetter(attr)
		if def != nil && def != None {
			g.def = def
		}
		return func(r *run, x Value) (Value, error) { return g.of(r, x) }, err
	}
	name, ok := strOf(a.rest[0])
	if !ok {
		return nil, failf("No filter named %s.", a.rest[0].pyType())
	}
	return func(r *run, x Value) (Value, error) { return r.filter(name, x, a.rest[1:], a.kw) }, nil
}

// selectFilter keeps the items, or drops them, whose value or attribute passes
// a test; without a test, those that are true.
func selectFilter(keep, byAttr bool) func(*run, Value, args) (Value, error) {
	return func(r *run, v Value, a args) (Value, error) {
		rest := a.rest
		var g getter
		if byAttr {
			if len(rest) == 0 {
				return lazyFault(v, failf("Missing parameter for attribute name")), nil
			}
			var err error
			if g, err = r.attrGetter(rest[0]); err != nil {
				return nil, err
			}
			rest = rest[1:]
		}
		pass := func(r *run, x Value) (bool, error) { return truth(x), nil }
		if len(rest) > 0 {
			name, ok := strOf(rest[0])
			if !ok {
				return lazyFault(v, failf("No test named %s.", rest[0].pyType())), nil
			}
			pass = func(r *run, x Value) (bool, error) {
				t, err := r.test(name, x, rest[1:], a.kw)
				return err == nil && truth(t), err
			}
		}
		return r.lazy(v, func(r *run, x Value) (Value, bool, error) {
			part, err := g.of(r, x)
			if err != nil {
				return nil, false, err
			}
			ok, err := pass(r, part)
			return x, ok == keep, err
		})
	}
}

// lazy is a generator over what f makes of the items of v; f says which count.
func (r *run) lazy(v Value, f func(r *run, x Value) (y Value, ok bool, err error)) (Value, error) {
	if !truth(v) {
		return &generator{&sliceIter{}}, nil
	}
	it, err := r.iterate(v)
	if err != nil {
		return lazyError(err), nil
	}
	return &generator{iterFunc(func(r *run) (Value, bool, error) {
		// A generator over a generator over a generator recurses once a level,
		// and a template can stack them in a loop.
		if err := r.enter(1); err != nil {
			return nil, false, err
		}
		defer r.leave(1)
		for {
			x, ok, err := it.next(r)
			if !ok || err != nil {
				return nil, false, err
			}
			y, ok, err := f(r, x)
			if err != nil {
				return nil, false, err
			}
			if ok {
				return y, true, nil
			}
		}
	})}, nil
}

// lazyFault is lazyError for wrong arguments, which Jinja looks at only where v has
// items.
func lazyFault(v Value, err error) Value {
	if !truth(v) {
		return &generator{&sliceIter{}}
	}
	return lazyError(err)
}

// lazyError fails when it is walked, as a generator does in Python.
func lazyError(err error) Value {
	return &generator{iterFunc(func(*run) (Value, bool, error) { return nil, false, err })}
}
