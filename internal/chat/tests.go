package chat

import "unicode"

// tests are what can stand after "is".
var tests = map[string]*builtin{
	"defined":   check("defined", func(v Value) bool { return !isUndefined(v) }),
	"undefined": check("undefined", isUndefined),
	"none":      check("none", func(v Value) bool { return v == None }),
	"boolean":   check("boolean", func(v Value) bool { _, ok := v.(boolean); return ok }),
	"true":      check("true", func(v Value) bool { return v == boolean(true) }),
	"false":     check("false", func(v Value) bool { return v == boolean(false) }),
	"integer":   check("integer", isInteger),
	"float":     check("float", func(v Value) bool { _, ok := v.(float); return ok }),
	"number":    check("number", func(v Value) bool { _, ok := numOf(v); return ok }),
	"string":    check("string", func(v Value) bool { _, ok := strOf(v); return ok }),
	"mapping":   check("mapping", func(v Value) bool { _, ok := v.(*Map); return ok }),
	"sequence":  check("sequence", isSequence),
	"iterable":  check("iterable", isIterable),
	"callable":  check("callable", isCallable),
	"escaped":   check("escaped", func(v Value) bool { _, ok := v.(markup); return ok }),
	"lower":     {name: "lower", fn: caseTest(unicode.IsLower, unicode.IsUpper)},
	"upper":     {name: "upper", fn: caseTest(unicode.IsUpper, unicode.IsLower)},

	"odd":         {name: "odd", fn: remainderTest(2, 1)},
	"even":        {name: "even", fn: remainderTest(2, 0)},
	"divisibleby": {name: "divisibleby", params: []param{{"num", nil}}, fn: divisibleTest},

	"sameas": {name: "sameas", params: []param{{"other", nil}}, fn: func(r *run, v Value, a args) (Value, error) {
		if u, ok := v.(*undefined); ok { // every look at a missing name makes a new one
			return boolean(u == a.v[0]), nil
		}
		is, err := r.same(v, a.v[0])
		return boolean(is && v.pyType() == a.v[0].pyType()), err
	}},
	"filter": namedTest("filter", func(r *run, s string) bool { return r.lib.filters[s] != nil }),
	"test":   namedTest("test", func(r *run, s string) bool { return r.lib.tests[s] != nil }),

	"in": compareTest("in"),
	"==": compareTest("=="), "eq": compareTest("=="), "equalto": compareTest("=="),
	"!=": compareTest("!="), "ne": compareTest("!="),
	"<": compareTest("<"), "lt": compareTest("<"), "lessthan": compareTest("<"),
	"<=": compareTest("<="), "le": compareTest("<="),
	">": compareTest(">"), "gt": compareTest(">"), "greaterthan": compareTest(">"),
	">=": compareTest(">="), "ge": compareTest(">="),
}

func check(name string, f func(Value) bool) *builtin {
	return &builtin{name: name, fn: func(_ *run, v Value, _ args) (Value, error) { return boolean(f(v)), nil }}
}

// namedTest asks whether a name is in a table; what could be no key is an error.
func namedTest(name string, has func(r *run, s string) bool) *builtin {
	return &builtin{name: name, fn: func(r *run, v Value, _ args) (Value, error) {
		if _, err := r.hash(v); err != nil {
			return nil, err
		}
		s, ok := strOf(v)
		return boolean(ok && has(r, s)), nil
	}}
}

func compareTest(op string) *builtin {
	return &builtin{name: op, params: []param{{"other", nil}}, fn: func(r *run, v Value, a args) (Value, error) {
		ok, err := r.compare(op, v, a.v[0])
		return boolean(ok), err
	}}
}

func isUndefined(v Value) bool { _, ok := v.(*undefined); return ok }

func isInteger(v Value) bool {
	switch v.(type) {
	case integer, bigint:
		return true
	}
	return false
}

// isSequence holds for what has a length and can be indexed, which in Python
// includes dicts, and what is undefined.
func isSequence(v Value) bool {
	switch v.(type) {
	case text, markup, *list, *tuple, *Map, *rangeValue, *undefined:
		return true
	}
	return false
}

func isIterable(v Value) bool {
	switch v.(type) {
	case text, markup, *list, *tuple, *Map, *rangeValue, *undefined, *dictView, *generator, *loopState:
		return true
	}
	return false
}

func caseTest(want, never func(rune) bool) func(*run, Value, args) (Value, error) {
	return func(r *run, v Value, _ args) (Value, error) {
		s, err := r.str(v)
		if err != nil {
			return nil, err
		}
		if err := r.scanText(s); err != nil {
			return nil, err
		}
		return boolean(hasCase(s, want, never)), nil
	}
}

func remainderTest(by, want int64) func(*run, Value, args) (Value, error) {
	return func(r *run, v Value, _ args) (Value, error) {
		m, err := r.binary(opMod, v, integer(by))
		if err != nil {
			return nil, err
		}
		eq, err := r.equal(m, integer(want))
		return boolean(eq), err
	}
}

func divisibleTest(r *run, v Value, a args) (Value, error) {
	m, err := r.binary(opMod, v, a.v[0])
	if err != nil {
		return nil, err
	}
	eq, err := r.equal(m, integer(0))
	return boolean(eq), err
}
