package chat

import "strings"

// getattr is obj.name: an attribute first, and only then an element. So
// x.items is the method even where x has a key "items".
func (r *run) getattr(obj Value, name string) (Value, error) {
	if u, ok := obj.(*undefined); ok {
		return nil, u.fail()
	}
	v, err := r.attribute(obj, name)
	if v != nil || err != nil {
		return v, err
	}
	if m, ok := obj.(*Map); ok {
		if v, ok := m.Get(name); ok {
			return v, nil
		}
	}
	return missingAttr(obj, name), nil
}

// getitem is obj[key]: an element first, and only then an attribute.
func (r *run) getitem(obj, key Value) (Value, error) {
	if u, ok := obj.(*undefined); ok {
		return nil, u.fail()
	}
	v, err := r.element(obj, key)
	if v != nil || err != nil {
		return v, err
	}
	if name, ok := strOf(key); ok {
		v, err := r.attribute(obj, name)
		if v != nil || err != nil {
			return v, err
		}
	}
	return missingItem(obj, key), nil
}

// element is obj[key] alone; nil where there is none, for whatever reason:
// Jinja makes no difference between a missing key and a wrong kind of key.
func (r *run) element(obj, key Value) (Value, error) {
	if m, ok := obj.(*Map); ok {
		h, err := r.hash(key)
		if err != nil {
			if _, ok := err.(*LimitError); ok {
				return nil, err
			}
			return nil, nil // unhashable: no such element
		}
		v, _ := m.get(h)
		return v, nil
	}
	switch key.(type) {
	case integer, boolean:
	default:
		return nil, nil
	}
	i, err := intOf(key)
	if err != nil {
		return nil, err
	}
	if items, ok := seqOf(obj); ok {
		if i < 0 {
			i += int64(len(items))
		}
		if i < 0 || i >= int64(len(items)) {
			return nil, nil
		}
		return items[i], nil
	}
	if s, ok := strOf(obj); ok {
		c := runeAt(s, i)
		if c == "" {
			return nil, nil
		}
		walked := len(s)
		if i >= 0 && i < int64(len(s))/4 { // no more than four bytes each
			walked = int(i) * 4
		}
		return sameKind(obj, c), r.charge(walked / 8)
	}
	if x, ok := obj.(*rangeValue); ok {
		if i < 0 {
			i += int64(x.n)
		}
		if i >= 0 && i < int64(x.n) {
			return x.at(int(i)), nil
		}
	}
	return nil, nil
}

// mutators change a list or dict: the sandbox hides them.
var mutators = map[string]map[string]bool{
	"list": {"append": true, "clear": true, "extend": true, "insert": true, "pop": true, "remove": true, "reverse": true, "sort": true},
	"dict": {"clear": true, "pop": true, "popitem": true, "setdefault": true, "update": true},
}

// attribute is Python's getattr with the sandbox's checks; nil: there is none.
func (r *run) attribute(obj Value, name string) (Value, error) {
	if len(name) > 4 && strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") {
		return unsafeAttr(obj, name), nil
	}
	switch x := obj.(type) {
	case *namespace:
		if v, ok := x.m.Get(name); ok {
			return v, nil
		}
		return nil, nil
	case *loopState:
		if f := loopAttrs[name]; f != nil {
			return f(x)
		}
	case *macro:
		return x.attribute(name), nil
	case integer, bigint, boolean, float:
		if v := numberAttr(x, name); v != nil {
			return v, nil
		}
	case *cycler:
		if name == "current" {
			return x.items[x.pos], nil
		}
	case *tuple:
		for i, f := range x.fields {
			if f == name {
				return x.items[i], nil
			}
		}
	case *rangeValue:
		switch name {
		case "start":
			return integer(x.start), nil
		case "stop":
			return integer(x.stop), nil
		case "step":
			return integer(x.step), nil
		}
	}
	if mutators[obj.pyType()][name] {
		return unsafeAttr(obj, name), nil
	}
	if b := r.lib.methods[obj.pyType()][name]; b != nil {
		return &function{b, obj}, nil
	}
	return nil, nil
}

// numberAttr is an attribute of a number that is no method.
func numberAttr(v Value, name string) Value {
	_, isFloat := v.(float)
	switch {
	case name == "real", name == "numerator" && !isFloat:
		n, _ := negate(v, true)
		return n
	case name == "imag" && isFloat:
		return float(0)
	case name == "imag":
		return integer(0)
	case name == "denominator" && !isFloat:
		return integer(1)
	}
	return nil
}
