package chat

import (
	"sort"
	"strconv"
	"strings"
)

// getter reads an attribute path such as "function.name" or "0.id" from a
// value; without a path it is the value itself.
type getter struct {
	path []Value
	fold bool  // strings come out in lower case, for comparing
	def  Value // instead of an undefined part; nil: none
}

func (r *run) attrGetter(attr Value) (getter, error) {
	s, ok := strOf(attr)
	if !ok {
		if _, isNone := attr.(none); isNone {
			return getter{}, nil
		}
		return getter{path: []Value{attr}}, nil
	}
	var g getter
	if err := r.charge(len(s) / 4); err != nil {
		return g, err
	}
	if strings.Count(s, ".") > maxParseDepth {
		return g, &LimitError{"parts of an attribute path", maxParseDepth}
	}
	for _, p := range strings.Split(s, ".") {
		var part Value = text(p)
		if p != "" && isDec(p[0]) && len(p) <= maxQuoted {
			if n, err := strconv.ParseInt(p, 10, 63); err == nil {
				part = integer(n)
			}
		}
		g.path = append(g.path, part)
	}
	return g, nil
}

func (g getter) of(r *run, v Value) (Value, error) {
	for _, p := range g.path {
		var err error
		if err = r.step(); err != nil {
			return nil, err
		}
		if v, err = r.getitem(v, p); err != nil {
			return nil, err
		}
		if g.def != nil && isUndefined(v) {
			v = g.def
		}
	}
	if g.fold {
		if s, ok := strOf(v); ok {
			if err := r.scanText(s); err != nil {
				return nil, err
			}
			if err := r.built(len(s)); err != nil {
				return nil, err
			}
			return text(lower(s)), nil
		}
	}
	return v, nil
}

// sorted sorts items by their keys, stably. Python's order of comparing may
// differ, so which pair is found not to compare may too.
func (r *run) sorted(items []Value, reverse bool, key func(Value) (Value, error)) ([]Value, error) {
	if err := r.builtItems(4 * len(items)); err != nil {
		return nil, err
	}
	type pair struct{ k, v Value }
	pairs := make([]pair, len(items))
	for i, it := range items {
		k, err := key(it)
		if err != nil {
			return nil, err
		}
		pairs[i] = pair{k, it}
	}
	var failed error
	sort.SliceStable(pairs, func(i, j int) bool {
		if failed != nil {
			return false
		}
		a, b := pairs[i].k, pairs[j].k
		if reverse { // equal ones keep their order all the same
			a, b = b, a
		}
		c, ok, err := r.order("<", a, b, 0)
		if err != nil {
			failed = err
		}
		return ok && c < 0
	})
	if failed != nil {
		return nil, failed
	}
	out := make([]Value, len(pairs))
	for i, p := range pairs {
		out[i] = p.v
	}
	return out, nil
}

func doSort(r *run, v Value, a args) (Value, error) {
	var getters []getter
	attrs := []Value{a.v[2]}
	if s, ok := strOf(a.v[2]); ok {
		attrs = nil
		if err := r.scan(len(s)); err != nil {
			return nil, err
		}
		if err := r.builtItems(8 * strings.Count(s, ",")); err != nil {
			return nil, err
		}
		for _, p := range strings.Split(s, ",") {
			attrs = append(attrs, text(p))
		}
	}
	for _, at := range attrs {
		g, err := r.attrGetter(at)
		if err != nil {
			return nil, err
		}
		g.fold = !truth(a.v[1])
		getters = append(getters, g)
	}
	items, err := r.collect(v)
	if err != nil {
		return nil, err
	}
	reverse, err := flagOf(a.v[0])
	if err != nil {
		return nil, err
	}
	out, err := r.sorted(items, reverse, func(it Value) (Value, error) {
		// A list even for one key, as in Python: lists look for equality first,
		// so that what has no order, such as None, sorts beside its like.
		if err := r.builtItems(len(getters)); err != nil {
			return nil, err
		}
		keys := make([]Value, len(getters))
		for i, g := range getters {
			var err error
			if keys[i], err = g.of(r, it); err != nil {
				return nil, err
			}
		}
		return &list{keys}, nil
	})
	return &list{out}, err
}

func doDictSort(r *run, v Value, a args) (Value, error) {
	m, ok := v.(*Map)
	if !ok {
		if err := firstUndefined(v); err != nil {
			return nil, err
		}
		return nil, failf("'%s' object has no attribute 'items'", v.pyType())
	}
	by, _ := strOf(a.v[1])
	pos := map[string]int{"key": 0, "value": 1}
	at, ok := pos[by]
	if !ok {
		return nil, failf(`You can only sort by either "key" or "value"`)
	}
	items, err := r.collect(&dictView{m, viewItems})
	if err != nil {
		return nil, err
	}
	g := getter{fold: !truth(a.v[0])}
	reverse, err := flagOf(a.v[2])
	if err != nil {
		return nil, err
	}
	out, err := r.sorted(items, reverse, func(it Value) (Value, error) {
		return g.of(r, it.(*tuple).items[at])
	})
	return &list{out}, err
}

func doGroupBy(r *run, v Value, a args) (Value, error) {
	g, err := r.attrGetter(a.v[0])
	if err != nil {
		return nil, err
	}
	if _, isNone := a.v[1].(none); !isNone {
		g.def = a.v[1]
	}
	exact := g
	g.fold = !truth(a.v[2])
	items, err := r.collect(v)
	if err != nil {
		return nil, err
	}
	key := func(it Value) (Value, error) { return g.of(r, it) }
	if items, err = r.sorted(items, false, key); err != nil {
		return nil, err
	}
	var groups []Value
	for i := 0; i < len(items); {
		k, err := key(items[i])
		if err != nil {
			return nil, err
		}
		j := i + 1
		for ; j < len(items); j++ {
			next, err := key(items[j])
			if err != nil {
				return nil, err
			}
			if eq, err := r.equal(k, next); err != nil {
				return nil, err
			} else if !eq {
				break
			}
		}
		name, err := exact.of(r, items[i])
		if err != nil {
			return nil, err
		}
		if err := r.builtItems(8); err != nil {
			return nil, err
		}
		groups = append(groups, &tuple{items: []Value{name, &list{items[i:j:j]}}, fields: []string{"grouper", "list"}})
		i = j
	}
	return &list{groups}, nil
}

func doUnique(r *run, v Value, a args) (Value, error) {
	g, err := r.attrGetter(a.v[1])
	if err != nil {
		return nil, err
	}
	g.fold = !truth(a.v[0])
	it, err := r.iterate(v)
	if err != nil {
		return lazyError(err), nil
	}
	seen := map[hashKey]bool{}
	return &generator{iterFunc(func(r *run) (Value, bool, error) {
		if err := r.enter(1); err != nil { // see lazy
			return nil, false, err
		}
		defer r.leave(1)
		for {
			x, ok, err := it.next(r)
			if !ok || err != nil {
				return nil, false, err
			}
			k, err := g.of(r, x)
			if err != nil {
				return nil, false, err
			}
			h, err := r.hash(k)
			if err != nil {
				return nil, false, err
			}
			if err := r.builtItems(4); err != nil {
				return nil, false, err
			}
			if !seen[h] {
				seen[h] = true
				return x, true, nil
			}
		}
	})}, nil
}

// extremeFilter is min and max: the first item that beats all others.
func extremeFilter(beats string) func(*run, Value, args) (Value, error) {
	return func(r *run, v Value, a args) (Value, error) {
		g, err := r.attrGetter(a.v[1])
		if err != nil {
			return nil, err
		}
		g.fold = !truth(a.v[0])
		items, err := r.collect(v)
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return &undefined{hint: "No aggregated item, sequence was empty."}, nil
		}
		best, bestKey := items[0], Value(nil)
		for i, it := range items {
			k, err := g.of(r, it)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				bestKey = k
				continue
			}
			better, err := r.compare(beats, k, bestKey)
			if err != nil {
				return nil, err
			}
			if better {
				best, bestKey = it, k
			}
		}
		return best, nil
	}
}
