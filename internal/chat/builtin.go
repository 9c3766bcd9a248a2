package chat

// builtin is one filter, test, method or function: a row of a table. self is
// what a filter or test is applied to and what a method belongs to.
type builtin struct {
	name   string
	params []param
	rest   bool // takes any number of further positional arguments
	kwrest bool // takes any keyword argument
	posn   bool // parameters can't be given by name
	fn     func(r *run, self Value, a args) (Value, error)
}

// param is one parameter; a nil default makes it required.
type param struct {
	name string
	def  Value
}

// args are the arguments of one call: one value per parameter, then the rest.
type args struct {
	v    []Value
	rest []Value
	kw   []keyword
}

type keyword struct {
	name string
	val  Value
}

// function is a builtin as a value: a global, or a method with its object.
type function struct {
	def  *builtin
	self Value
}

func (*function) pyType() string { return "builtin_function_or_method" }

// call sorts the arguments of a call into parameters, as Python does, and runs b.
func (b *builtin) call(r *run, self Value, pos []Value, kw []keyword) (Value, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	a := args{kw: kw}
	n := len(b.params)
	switch {
	case len(pos) <= n:
	case b.rest:
		a.rest = pos[n:]
		pos = pos[:n:n]
	default:
		return nil, failf("%s() takes at most %d arguments (%d given)", b.name, n, len(pos))
	}
	if len(kw) == 0 && len(pos) == n {
		a.v = pos
		return b.fn(r, self, a)
	}
	a.v = make([]Value, n)
	copy(a.v, pos)
	if b.kwrest {
		a.kw = nil
	}
	for _, k := range kw {
		i := b.find(k.name)
		switch {
		case i >= 0 && a.v[i] != nil:
			return nil, failf("%s() got multiple values for argument '%s'", b.name, k.name)
		case i >= 0:
			a.v[i] = k.val
		case b.kwrest:
			a.kw = append(a.kw, k)
		default:
			return nil, failf("%s() got an unexpected keyword argument '%s'", b.name, k.name)
		}
	}
	for i, p := range b.params {
		if a.v[i] == nil {
			if p.def == nil {
				return nil, failf("%s() missing required argument '%s'", b.name, p.name)
			}
			a.v[i] = p.def
		}
	}
	return b.fn(r, self, a)
}

func (b *builtin) find(name string) int {
	if b.posn {
		return -1
	}
	for i, p := range b.params {
		if p.name == name {
			return i
		}
	}
	return -1
}

// callValue calls anything a template can hold.
func (r *run) callValue(f Value, pos []Value, kw []keyword) (Value, error) {
	switch x := f.(type) {
	case *function:
		return x.def.call(r, x.self, pos, kw)
	case *macro:
		return x.call(r, pos, kw)
	case *undefined:
		return nil, x.fail()
	case *joiner:
		if len(pos)+len(kw) > 0 {
			return nil, failf("Joiner.__call__() takes 1 positional argument")
		}
		if !x.used {
			x.used = true
			return text(""), nil
		}
		return x.sep, nil
	case *loopState:
		if len(pos) != 1 || len(kw) > 0 {
			return nil, failf("LoopContext.__call__() takes exactly one argument")
		}
		if x.again == nil {
			return nil, failf("The loop must have the 'recursive' marker to be called recursively.")
		}
		return x.again.render(r, pos[0], x.outer, x.depth0+1)
	}
	return nil, failf("'%s' object is not callable", f.pyType())
}

func isCallable(v Value) bool {
	switch v.(type) {
	case *function, *macro, *undefined, *joiner, *loopState:
		return true
	}
	return false
}
