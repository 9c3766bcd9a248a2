package chat

// equal is Python's ==. It pays a step per pair it looks at, since a shared
// value can stand in many places.
func (r *run) equal(a, b Value) (bool, error) { return r.equalAt(a, b, 0) }

func (r *run) equalAt(a, b Value, depth int) (bool, error) {
	if err := r.step(); err != nil {
		return false, err
	}
	if depth > maxDataDepth {
		return false, &LimitError{"levels of nesting in a value", maxDataDepth}
	}
	if x, ok := strOf(a); ok {
		y, ok := strOf(b)
		if !ok {
			return false, nil
		}
		return r.sameText(x, y)
	}
	if x, ok := numOf(a); ok {
		y, ok := numOf(b)
		if !ok {
			return false, nil
		}
		if err := r.chargeInt(a, b); err != nil {
			return false, err
		}
		c, ok := compareNum(x, y)
		return ok && c == 0, nil
	}
	switch x := a.(type) {
	case none:
		_, ok := b.(none)
		return ok, nil
	case *undefined:
		_, ok := b.(*undefined)
		return ok, nil
	case *list:
		if y, ok := b.(*list); ok {
			return r.equalItems(x.items, y.items, depth)
		}
		return false, nil
	case *tuple:
		if y, ok := b.(*tuple); ok {
			return r.equalItems(x.items, y.items, depth)
		}
		return false, nil
	case *Map:
		if y, ok := b.(*Map); ok {
			return r.equalMaps(x, y, depth)
		}
		return false, nil
	case *rangeValue:
		if y, ok := b.(*rangeValue); ok {
			return x.n == y.n && (x.n == 0 || x.start == y.start && (x.n == 1 || x.step == y.step)), nil
		}
		return false, nil
	case *dictView: // as sets
		y, ok := b.(*dictView)
		if !ok || x.kind != y.kind || x.kind == viewValues {
			return x == y, nil
		}
		if x.kind == viewItems {
			return r.equalMaps(x.m, y.m, depth)
		}
		if x.m.Len() != y.m.Len() {
			return false, nil
		}
		for _, e := range x.m.entries {
			if err := r.step(); err != nil {
				return false, err
			}
			if in, err := r.has(y.m, e.key); !in || err != nil {
				return false, err
			}
		}
		return true, nil
	case *function:
		y, ok := b.(*function)
		if !ok || x.def != y.def {
			return false, nil
		}
		return r.same(x.self, y.self)
	}
	return same(a, b), nil
}

func (r *run) equalItems(a, b []Value, depth int) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if err := r.stride(i); err != nil {
			return false, err
		}
		if identical(a[i], b[i]) {
			continue
		}
		if eq, err := r.equalAt(a[i], b[i], depth+1); !eq || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (r *run) equalMaps(a, b *Map, depth int) (bool, error) {
	if a.Len() != b.Len() {
		return false, nil
	}
	for _, e := range a.entries {
		if err := r.step(); err != nil {
			return false, err
		}
		h, err := r.hash(e.key)
		if err != nil {
			return false, err
		}
		v, ok := b.get(h)
		if !ok {
			return false, nil
		}
		if identical(e.val, v) {
			continue
		}
		if eq, err := r.equalAt(e.val, v, depth+1); !eq || err != nil {
			return false, err
		}
	}
	return true, nil
}

// stride pays for item i of a walk that takes next to nothing for most of them.
func (r *run) stride(i int) error {
	if i%16 == 15 {
		return r.charge(2)
	}
	return nil
}

// same is the function same, paid for.
func (r *run) same(a, b Value) (bool, error) {
	x, ok1 := strOf(a)
	y, ok2 := strOf(b)
	if ok1 && ok2 && len(x) == len(y) {
		if err := r.scan(len(x)); err != nil {
			return false, err
		}
	}
	if err := r.chargeInt(a); err != nil {
		return false, err
	}
	return same(a, b), nil
}

// same is Python's "is", as far as templates should care: values without parts
// are the same where they are equal and of one type.
func same(a, b Value) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	switch x := a.(type) {
	case bigint:
		y, ok := b.(bigint)
		return ok && x.n.Cmp(y.n) == 0
	case float:
		y, ok := b.(float)
		return ok && (x == y || x != x && y != y)
	case *undefined:
		_, ok := b.(*undefined)
		return ok
	}
	return a == b
}

// identical is same where finding out costs next to nothing: what has the same
// place in memory is equal without a look at its parts.
func identical(a, b Value) bool {
	switch a.(type) {
	case text, markup, bigint:
		return false
	}
	return same(a, b)
}

// order is Python's < family: negative, zero or positive. ok is false where a
// NaN makes every comparison false.
func (r *run) order(sym string, a, b Value, depth int) (c int, ok bool, err error) {
	if err := r.step(); err != nil {
		return 0, false, err
	}
	if depth > maxDataDepth {
		return 0, false, &LimitError{"levels of nesting in a value", maxDataDepth}
	}
	if x, ok := strOf(a); ok {
		if y, ok := strOf(b); ok {
			// UTF-8 sorts as its code points do.
			if err := r.scan(min(len(x), len(y))); err != nil {
				return 0, false, err
			}
			return cmp(x, y), true, nil
		}
	}
	if x, ok := numOf(a); ok {
		if y, ok := numOf(b); ok {
			if err := r.chargeInt(a, b); err != nil {
				return 0, false, err
			}
			c, ok := compareNum(x, y)
			return c, ok, nil
		}
	}
	if err := firstUndefined(a, b); err != nil {
		return 0, false, err
	}
	switch x := a.(type) {
	case *list:
		if y, ok := b.(*list); ok {
			return r.orderItems(sym, x.items, y.items, depth)
		}
	case *tuple:
		if y, ok := b.(*tuple); ok {
			return r.orderItems(sym, x.items, y.items, depth)
		}
	}
	return 0, false, failf("'%s' not supported between instances of '%s' and '%s'", sym, a.pyType(), b.pyType())
}

func (r *run) orderItems(sym string, a, b []Value, depth int) (int, bool, error) {
	for i := range min(len(a), len(b)) {
		if err := r.stride(i); err != nil {
			return 0, false, err
		}
		if identical(a[i], b[i]) {
			continue
		}
		eq, err := r.equalAt(a[i], b[i], depth+1)
		if err != nil {
			return 0, false, err
		}
		if !eq {
			return r.order(sym, a[i], b[i], depth+1)
		}
	}
	return cmp(len(a), len(b)), true, nil
}

// contains is Python's "x in seq".
func (r *run) contains(seq, x Value) (bool, error) {
	if s, ok := strOf(seq); ok {
		sub, ok := strOf(x)
		if !ok {
			return false, failf("'in <string>' requires string as left operand, not %s", x.pyType())
		}
		if err := r.scan(len(s)); err != nil {
			return false, err
		}
		return indexOf(s, sub) >= 0, nil
	}
	switch s := seq.(type) {
	case *Map:
		return r.has(s, x)
	case *dictView:
		if s.kind == viewKeys {
			return r.has(s.m, x)
		}
	case *namespace:
		return false, failf("argument of type 'Namespace' is not iterable")
	case *loopState:
		return false, nil
	}
	it, err := r.iterate(seq)
	if err != nil {
		return false, failf("argument of type '%s' is not iterable", seq.pyType())
	}
	for {
		v, ok, err := it.next(r)
		if !ok || err != nil {
			return false, err
		}
		if identical(v, x) {
			return true, nil
		}
		if eq, err := r.equal(v, x); eq || err != nil {
			return eq, err
		}
	}
}

// has says whether key is in m; a key of no hashable kind is an error.
func (r *run) has(m *Map, key Value) (bool, error) {
	h, err := r.hash(key)
	if err != nil {
		return false, err
	}
	return m.find(h) >= 0, nil
}
