package chat

// undefined is what a missing name or element evaluates to. It prints as
// nothing, is false, has no items, and fails when anything else is asked of it.
type undefined struct {
	hint    string // whole message, where set
	name    string // otherwise: what was looked up …
	owner   string // … and the Python type it was looked up in; "" for a name
	element bool   // name is the repr of an element that is no string
}

func (*undefined) pyType() string { return "Undefined" }

func (u *undefined) message() string {
	switch {
	case u.hint != "":
		return u.hint
	case u.owner == "":
		return quoted(u.name) + " is undefined"
	case u.element:
		return u.owner + " has no element " + u.name
	}
	return "'" + u.owner + "' has no attribute " + quoted(u.name)
}

func (u *undefined) fail() error { return &RuntimeError{Message: u.message()} }

// missingItem is the value of an element that is not there.
func missingItem(obj, key Value) Value {
	if s, ok := strOf(key); ok {
		return missingAttr(obj, s)
	}
	u := &undefined{owner: typeLabel(obj), element: true}
	switch k := key.(type) {
	case integer, boolean, none, float:
		u.name = scalarRepr(k)
	default:
		u.name = key.pyType()
	}
	return u
}

func missingAttr(obj Value, name string) Value {
	return &undefined{owner: typeLabel(obj), name: name}
}

func unsafeAttr(obj Value, name string) Value {
	return &undefined{hint: "access to attribute " + quoted(name) + " of " + quoted(obj.pyType()) + " object is unsafe."}
}

func typeLabel(v Value) string {
	if _, ok := v.(none); ok {
		return "None"
	}
	return v.pyType() + " object"
}

// firstUndefined is the error of the first undefined operand: any operator
// fails with it rather than with a type error.
func firstUndefined(vs ...Value) error {
	for _, v := range vs {
		if u, ok := v.(*undefined); ok {
			return u.fail()
		}
	}
	return nil
}
