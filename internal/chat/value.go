package chat

import (
	"math/big"
)

// Value is one value a template can see. The set is closed: make values with
// None, Bool, Int, BigInt, Float, String, List, NewMap or DecodeJSON. Values
// are immutable once handed to Render, and then safe for concurrent use.
type Value interface {
	// pyType is the name that Python gives the type.
	pyType() string
}

type (
	none    struct{}
	boolean bool
	integer int64
	// bigint holds what does not fit an integer, never what does: so equal
	// numbers have one form.
	bigint struct{ n *big.Int }
	float  float64
	text   string
	// markup is a string that the safe or escape filter made. It matters, since
	// adding to it escapes the other side.
	markup string
	list   struct{ items []Value }
	// tuple has field names where groupby made it.
	tuple struct {
		items  []Value
		fields []string
	}
)

func (none) pyType() string    { return "NoneType" }
func (boolean) pyType() string { return "bool" }
func (integer) pyType() string { return "int" }
func (bigint) pyType() string  { return "int" }
func (float) pyType() string   { return "float" }
func (text) pyType() string    { return "str" }
func (markup) pyType() string  { return "Markup" }
func (*list) pyType() string   { return "list" }
func (*tuple) pyType() string  { return "tuple" }

// None is Python's None, JSON's null.
var None Value = none{}

// Bool makes a boolean.
func Bool(b bool) Value { return boolean(b) }

// Int makes an integer.
func Int(n int64) Value { return integer(n) }

// BigInt makes an integer of any size; n is copied.
func BigInt(n *big.Int) Value { return normInt(new(big.Int).Set(n)) }

// Float makes a floating point number; it prints as Python prints it.
func Float(f float64) Value { return float(f) }

// String makes a string. It should be valid UTF-8; lengths and indexes count
// code points.
func String(s string) Value { return text(s) }

// List makes a list; it keeps the slice.
func List(items ...Value) Value { return &list{items} }

// Text returns the string in v, and whether v is one.
func Text(v Value) (string, bool) { return strOf(v) }

// Items returns the elements of v, and whether v is a list. Don't change them.
func Items(v Value) ([]Value, bool) {
	if l, ok := v.(*list); ok {
		return l.items, true
	}
	return nil, false
}

// strOf unpacks both kinds of string.
func strOf(v Value) (string, bool) {
	switch s := v.(type) {
	case text:
		return string(s), true
	case markup:
		return string(s), true
	}
	return "", false
}

// seqOf unpacks lists and tuples.
func seqOf(v Value) ([]Value, bool) {
	switch s := v.(type) {
	case *list:
		return s.items, true
	case *tuple:
		return s.items, true
	}
	return nil, false
}

// sameKind gives s the kind of string that like is.
func sameKind(like Value, s string) Value {
	if _, ok := like.(markup); ok {
		return markup(s)
	}
	return text(s)
}

func truth(v Value) bool {
	switch x := v.(type) {
	case none:
		return false
	case boolean:
		return bool(x)
	case integer:
		return x != 0
	case float:
		return x != 0
	case text:
		return x != ""
	case markup:
		return x != ""
	case *list:
		return len(x.items) > 0
	case *tuple:
		return len(x.items) > 0
	case *Map:
		return x.Len() > 0
	case *undefined:
		return false
	case *rangeValue:
		return x.n > 0
	case *dictView:
		return x.m.Len() > 0
	case *loopState:
		n, err := x.length()
		return err != nil || n > 0
	}
	return true
}
