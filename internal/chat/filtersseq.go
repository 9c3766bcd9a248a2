package chat

import "strings"

func doDefault(_ *run, v Value, a args) (Value, error) {
	if isUndefined(v) || truth(a.v[1]) && !truth(v) {
		return a.v[0], nil
	}
	return v, nil
}

// doAttr is getattr alone: it does not fall back to elements.
func doAttr(r *run, v Value, a args) (Value, error) {
	name, ok := strOf(a.v[0])
	if !ok {
		return nil, failf("attribute name must be string, not '%s'", a.v[0].pyType())
	}
	if u, ok := v.(*undefined); ok {
		return nil, u.fail()
	}
	x, err := r.attribute(v, name)
	if x == nil && err == nil {
		x = missingAttr(v, name)
	}
	return x, err
}

func doLength(r *run, v Value, _ args) (Value, error) {
	n, err := r.length(v)
	return integer(n), err
}

func doList(r *run, v Value, _ args) (Value, error) {
	items, err := r.collect(v)
	return &list{items}, err
}

func doItems(_ *run, v Value, _ args) (Value, error) {
	switch x := v.(type) {
	case *undefined:
		return &generator{&sliceIter{}}, nil
	case *Map:
		return &generator{(&dictView{x, viewItems}).iter()}, nil
	}
	// Python finds out when the items are asked for: nothing can tell, but for
	// a template that never asks.
	name := v.pyType()
	return &generator{iterFunc(func(*run) (Value, bool, error) {
		return nil, false, failf("Can only get item pairs from a mapping, not %s.", name)
	})}, nil
}

func doFirst(r *run, v Value, _ args) (Value, error) {
	it, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	x, ok, err := it.next(r)
	if err != nil || ok {
		return x, err
	}
	return &undefined{hint: "No first item, sequence was empty."}, nil
}

func doLast(r *run, v Value, _ args) (Value, error) {
	switch x := v.(type) {
	case *generator, *loopState:
		return nil, failf("'%s' object is not reversible", v.pyType())
	case text, markup:
		s, _ := strOf(x)
		if c := runeAt(s, -1); c != "" {
			return sameKind(x, c), nil
		}
		return &undefined{hint: "No last item, sequence was empty."}, nil
	}
	items, err := r.collect(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return &undefined{hint: "No last item, sequence was empty."}, nil
	}
	return items[len(items)-1], nil
}

func doReverse(r *run, v Value, _ args) (Value, error) {
	if s, ok := strOf(v); ok {
		back := int64(-1)
		out, err := r.sliceString(s, sliceBounds{step: &back})
		return sameKind(v, out), err
	}
	items, err := r.collect(v)
	if err != nil {
		return nil, unlessLimit(err, "argument must be iterable")
	}
	if err := r.builtItems(len(items)); err != nil {
		return nil, err
	}
	out := make([]Value, len(items))
	for i, it := range items {
		out[len(items)-1-i] = it
	}
	if _, ok := v.(*generator); ok {
		return &list{out}, nil
	}
	return &generator{&sliceIter{items: out}}, nil
}

func doJoin(r *run, v Value, a args) (Value, error) {
	sep, err := r.str(a.v[0])
	if err != nil {
		return nil, err
	}
	get, err := r.attrGetter(a.v[1])
	if err != nil {
		return nil, err
	}
	it, err := r.iterate(v)
	if err != nil {
		return nil, failf("can only join an iterable")
	}
	var b strings.Builder
	for first := true; ; first = false {
		x, ok, err := it.next(r)
		if err != nil {
			return nil, err
		}
		if !ok {
			return text(b.String()), nil
		}
		if x, err = get.of(r, x); err != nil {
			return nil, err
		}
		s, err := r.str(x)
		if err != nil {
			return nil, err
		}
		if err := r.built(len(s) + len(sep)); err != nil {
			return nil, err
		}
		if !first {
			b.WriteString(sep)
		}
		b.WriteString(s)
	}
}

func doSum(r *run, v Value, a args) (Value, error) {
	get, err := r.attrGetter(a.v[0])
	if err != nil {
		return nil, err
	}
	items, err := r.collect(v)
	if err != nil {
		return nil, err
	}
	sum := a.v[1]
	if _, ok := strOf(sum); ok {
		return nil, failf("sum() can't sum strings [use ''.join(seq) instead]")
	}
	for _, it := range items {
		if it, err = get.of(r, it); err != nil {
			return nil, err
		}
		if sum, err = r.binary(opAdd, sum, it); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// softly makes an error of a filter that is a generator in Python wait until
// somebody walks it; a limit does not wait.
func softly(err error) (Value, error) {
	if _, ok := err.(*RuntimeError); ok {
		return lazyError(err), nil
	}
	return nil, err
}

func doBatch(r *run, v Value, a args) (Value, error) {
	n, err := intOf(a.v[0])
	if err != nil {
		return softly(err)
	}
	items, err := r.collect(v)
	if err != nil {
		return softly(err)
	}
	var rows []Value
	if n <= 0 && len(items) > 0 { // a row is full only while it is empty
		if n == 0 {
			rows = append(rows, &list{})
		}
		n = int64(len(items))
	}
	for len(items) > 0 {
		k := int(min(n, int64(len(items))))
		row := items[:k:k]
		items = items[k:]
		if _, isNone := a.v[1].(none); !isNone && int64(k) < n {
			if err := r.builtN(valueSize, n); err != nil {
				return nil, err
			}
			row = append(make([]Value, 0, n), row...)
			for int64(len(row)) < n {
				row = append(row, a.v[1])
			}
		}
		if err := r.builtItems(3); err != nil {
			return nil, err
		}
		rows = append(rows, &list{row})
	}
	return &generator{&sliceIter{items: rows}}, nil
}

func doSlice(r *run, v Value, a args) (Value, error) {
	n, err := intOf(a.v[0])
	if err != nil {
		return softly(err)
	}
	items, err := r.collect(v)
	if err != nil {
		return softly(err)
	}
	if n == 0 {
		return softly(failf("integer division or modulo by zero"))
	}
	if n < 0 {
		n = 0
	}
	if err := r.builtN(4*valueSize, n); err != nil {
		return nil, err
	}
	if err := r.builtItems(len(items)); err != nil {
		return nil, err
	}
	var cols []Value
	all := len(items)
	for i := int64(0); i < n; i++ {
		k := int64(len(items)) / (n - i) // the first ones take what does not divide
		if int64(len(items))%(n-i) != 0 {
			k++
		}
		col := append([]Value(nil), items[:k]...)
		items = items[k:]
		cols = append(cols, &list{col})
	}
	if _, isNone := a.v[1].(none); !isNone {
		// Jinja fills whatever comes after the columns that took one more: all
		// of them, where the items divide evenly.
		for _, c := range cols[all%max(int(n), 1):] {
			l := c.(*list)
			l.items = append(l.items, a.v[1])
		}
	}
	return &generator{&sliceIter{items: cols}}, nil
}
