package chat

import "unicode/utf8"

// iterator yields items one by one. Filters such as map and select are
// iterators as in Python, and not lists, since a template can tell: they have
// no length and are used up once walked.
type iterator interface {
	next(r *run) (v Value, ok bool, err error)
}

// generator is an iterator as a value.
type generator struct{ it iterator }

func (*generator) pyType() string { return "generator" }

// iterFunc makes an iterator of a function.
type iterFunc func(r *run) (Value, bool, error)

func (f iterFunc) next(r *run) (Value, bool, error) { return f(r) }

type sliceIter struct {
	items []Value
	i     int
}

func (s *sliceIter) next(r *run) (Value, bool, error) {
	if s.i >= len(s.items) {
		return nil, false, nil
	}
	s.i++
	return s.items[s.i-1], true, r.step()
}

// runeIter yields plain strings, whatever kind it walks.
type runeIter struct{ s string }

func (it *runeIter) next(r *run) (Value, bool, error) {
	if it.s == "" {
		return nil, false, nil
	}
	_, n := utf8.DecodeRuneInString(it.s)
	c := it.s[:n]
	it.s = it.s[n:]
	return text(c), true, r.step()
}

// iterate is Python's iter(v).
func (r *run) iterate(v Value) (iterator, error) {
	switch x := v.(type) {
	case *list:
		return &sliceIter{items: x.items}, nil
	case *tuple:
		return &sliceIter{items: x.items}, nil
	case text:
		return &runeIter{string(x)}, nil
	case markup:
		return &runeIter{string(x)}, nil
	case *Map:
		return (&dictView{m: x, kind: viewKeys}).iter(), nil
	case *dictView:
		return x.iter(), nil
	case *rangeValue:
		return x.iter(), nil
	case *undefined:
		return &sliceIter{}, nil
	case *generator:
		return x.it, nil
	case *loopState:
		return x, nil
	}
	return nil, failf("'%s' object is not iterable", v.pyType())
}

// collect is Python's list(v), paid for as it grows. The result may be shared
// with v: it must not be changed.
func (r *run) collect(v Value) ([]Value, error) {
	if items, ok := seqOf(v); ok {
		return items, nil
	}
	it, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	return r.drain(it)
}

func (r *run) drain(it iterator) ([]Value, error) {
	var out []Value
	for {
		v, ok, err := it.next(r)
		if err != nil {
			return nil, err
		}
		if !ok {
			return out, nil
		}
		if err := r.step(); err != nil {
			return nil, err
		}
		if err := r.built(2 * valueSize); err != nil { // twice: append doubles
			return nil, err
		}
		out = append(out, v)
	}
}

// runeCount is the number of code points of s, paid for.
func (r *run) runeCount(s string) (int, error) {
	if err := r.scan(len(s)); err != nil {
		return 0, err
	}
	return runeCount(s), nil
}

// length is Python's len(v).
func (r *run) length(v Value) (int, error) {
	switch x := v.(type) {
	case text:
		return r.runeCount(string(x))
	case markup:
		return r.runeCount(string(x))
	case *list:
		return len(x.items), nil
	case *tuple:
		return len(x.items), nil
	case *Map:
		return x.Len(), nil
	case *dictView:
		return x.m.Len(), nil
	case *rangeValue:
		return x.n, nil
	case *undefined:
		return 0, nil
	case *loopState:
		return x.length()
	}
	return 0, failf("object of type '%s' has no len()", v.pyType())
}

// unpack assigns the items of v to n targets.
func (r *run) unpack(v Value, n int) ([]Value, error) {
	if items, ok := seqOf(v); ok && len(items) == n {
		return items, nil
	}
	it, err := r.iterate(v)
	if err != nil {
		return nil, failf("cannot unpack non-iterable %s object", v.pyType())
	}
	out := make([]Value, 0, n)
	for {
		x, ok, err := it.next(r)
		switch {
		case err != nil:
			return nil, err
		case !ok && len(out) < n:
			return nil, failf("not enough values to unpack (expected %d, got %d)", n, len(out))
		case !ok:
			return out, nil
		case len(out) == n:
			return nil, failf("too many values to unpack (expected %d)", n)
		}
		out = append(out, x)
	}
}
