package chat

import "strings"

// getattr is obj.name: an attribute first, and only then an element. So
// x.items is the method even where x has a key "items".
func (r *run) getattr(obj Value, name string) (Value, error) {
	if u, ok := obj.(*undefined); ok && !hasDunder(obj, name) {
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
		if err := r.walk(s, i); err != nil {
			return nil, err
		}
		if c := runeAt(s, i); c != "" {
			return sameKind(obj, c), nil
		}
		return nil, nil
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

// dunders are the attributes with underscores that every Python object has: the
// sandbox hides them. dictDunders and undefDunders are those that a dict and
// something undefined have besides. Other kinds of value have more, but there a
// missing attribute and a hidden one look the same.
var (
	dunders = nameSet(`__class__ __delattr__ __dir__ __doc__ __eq__ __format__ __ge__ __getattribute__ __getstate__ __gt__ __hash__
		__init__ __init_subclass__ __le__ __lt__ __ne__ __new__ __reduce__ __reduce_ex__ __repr__ __setattr__ __sizeof__ __str__ __subclasshook__`)
	dictDunders  = nameSet(`__class_getitem__ __contains__ __delitem__ __getitem__ __ior__ __iter__ __len__ __or__ __reversed__ __ror__ __setitem__`)
	undefDunders = nameSet(`__add__ __aiter__ __bool__ __call__ __complex__ __div__ __float__ __floordiv__ __getattr__ __getitem__ __int__ __iter__
		__len__ __mod__ __module__ __mul__ __neg__ __pos__ __pow__ __radd__ __rdiv__ __rfloordiv__ __rmod__ __rmul__ __rpow__ __rsub__ __rtruediv__
		__slots__ __sub__ __truediv__ _fail_with_undefined_error _undefined_exception _undefined_hint _undefined_message _undefined_name _undefined_obj`)
)

func nameSet(names string) map[string]bool {
	set := map[string]bool{}
	for _, n := range strings.Fields(names) {
		set[n] = true
	}
	return set
}

// hasDunder says whether obj has an attribute that begins with an underscore.
func hasDunder(obj Value, name string) bool {
	if name == "" || name[0] != '_' {
		return false
	}
	if dunders[name] {
		return true
	}
	switch obj.(type) {
	case *Map:
		return dictDunders[name]
	case *undefined:
		return undefDunders[name]
	}
	return false
}

// mutators change a list or dict: the sandbox hides them.
var mutators = map[string]map[string]bool{
	"list": {"append": true, "clear": true, "extend": true, "insert": true, "pop": true, "remove": true, "reverse": true, "sort": true},
	"dict": {"clear": true, "pop": true, "popitem": true, "setdefault": true, "update": true},
}

// attribute is Python's getattr with the sandbox's checks; nil: there is none.
func (r *run) attribute(obj Value, name string) (Value, error) {
	if err := r.scan(len(name)); err != nil { // it is looked up in some tables
		return nil, err
	}
	if hasDunder(obj, name) {
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
		return x.attribute(r, name)
	case integer, bigint, boolean, float:
		if v := numberAttr(x, name); v != nil {
			return v, nil
		}
	case *cycler:
		switch name {
		case "current":
			return x.items[x.pos], nil
		case "items":
			return &tuple{items: x.items}, nil
		case "pos":
			return integer(x.pos), nil
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
