package chat

// globals are the functions a template can call without being given them.
var globals = map[string]*builtin{
	"range":     {name: "range", params: []param{{"start", nil}, {"stop", None}, {"step", integer(1)}}, posn: true, fn: doRange},
	"dict":      {name: "dict", params: []param{{"mapping", notGiven}}, posn: true, kwrest: true, fn: doDict},
	"namespace": {name: "namespace", params: []param{{"mapping", notGiven}}, posn: true, kwrest: true, fn: doNamespace},
	"cycler":    {name: "cycler", rest: true, fn: doCycler},
	"joiner":    {name: "joiner", params: []param{{"sep", text(", ")}}, fn: doJoiner},

	"raise_exception": {name: "raise_exception", params: []param{{"message", nil}}, fn: doRaise},
	"strftime_now":    {name: "strftime_now", params: []param{{"format", nil}}, fn: doStrftimeNow},
}

func doRange(r *run, _ Value, a args) (Value, error) {
	start, err := intOf(a.v[0])
	if err != nil {
		return nil, err
	}
	if _, ok := a.v[1].(none); ok { // one argument: it is the stop
		return orErr(newRange(0, start, 1))
	}
	stop, err := intOf(a.v[1])
	if err != nil {
		return nil, err
	}
	step, err := intOf(a.v[2])
	if err != nil {
		return nil, err
	}
	return orErr(newRange(start, stop, step))
}

func orErr(v *rangeValue, err error) (Value, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// notGiven is the default of an argument that may be anything.
var notGiven = &undefined{}

func doDict(r *run, _ Value, a args) (Value, error) {
	if err := r.builtItems(8 + 4*len(a.kw)); err != nil {
		return nil, err
	}
	m := NewMap(len(a.kw))
	switch x := a.v[0].(type) {
	case *undefined:
		if x != notGiven {
			return nil, x.fail()
		}
	case *Map:
		if err := r.builtItems(4 * x.Len()); err != nil {
			return nil, err
		}
		m = x.clone()
	default:
		pairs, err := r.collect(x)
		if err != nil {
			return nil, err
		}
		if err := r.builtItems(4 * len(pairs)); err != nil {
			return nil, err
		}
		for _, p := range pairs {
			kv, err := r.unpack(p, 2)
			if err != nil {
				return nil, err
			}
			if err := m.putAny(r, kv[0], kv[1]); err != nil {
				return nil, err
			}
		}
	}
	for _, k := range a.kw {
		m.Set(k.name, k.val)
	}
	return m, nil
}

func doNamespace(r *run, self Value, a args) (Value, error) {
	v, err := doDict(r, self, a)
	if err != nil {
		return nil, err
	}
	return &namespace{v.(*Map)}, nil
}

func doCycler(_ *run, _ Value, a args) (Value, error) {
	if len(a.rest) == 0 {
		return nil, failf("at least one item has to be provided")
	}
	return &cycler{items: a.rest}, nil
}

func doJoiner(_ *run, _ Value, a args) (Value, error) { return &joiner{sep: a.v[0]}, nil }

func doRaise(r *run, _ Value, a args) (Value, error) {
	s, err := r.str(a.v[0])
	if err != nil {
		return nil, err
	}
	return nil, &RaiseError{s}
}

func doStrftimeNow(r *run, _ Value, a args) (Value, error) {
	f, ok := strOf(a.v[0])
	if !ok {
		return nil, failf("strftime() argument 1 must be str, not %s", a.v[0].pyType())
	}
	s, err := strftime(r, r.now, f)
	if err != nil {
		return nil, err
	}
	return text(s), r.built(len(s))
}
