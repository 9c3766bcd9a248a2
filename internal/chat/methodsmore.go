package chat

import (
	"math"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"
)

// dictFromKeys is dict.fromkeys, which a dict has as well.
func dictFromKeys(r *run, _ Value, a args) (Value, error) {
	keys, err := r.collect(a.v[0])
	if err != nil {
		return nil, err
	}
	if err := r.builtItems(4 * len(keys)); err != nil {
		return nil, err
	}
	m := NewMap(len(keys))
	for _, k := range keys {
		if err := m.putAny(r, k, a.v[1]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// isPrintable is str.isprintable of one character: what a repr leaves as it is.
func isPrintable(c rune) bool { return unicode.IsPrint(c) }

func strIsPrintable(r *run, self Value, _ args) (Value, error) {
	s, _ := strOf(self)
	if err := r.scanText(s); err != nil {
		return nil, err
	}
	return boolean(strings.IndexFunc(s, func(c rune) bool { return !isPrintable(c) }) < 0), nil
}

// strMakeTrans makes the table that translate takes, from a dict or from two or
// three strings.
func strMakeTrans(r *run, _ Value, a args) (Value, error) {
	out := NewMap(0)
	if a.v[1] == None {
		m, ok := a.v[0].(*Map)
		if !ok {
			return nil, failf("if you give only one argument to maketrans it must be a dict")
		}
		if err := r.builtItems(4 * m.Len()); err != nil {
			return nil, err
		}
		for _, e := range m.entries {
			key := e.key
			if s, ok := strOf(key); ok {
				if len(s) > utf8.UTFMax || runeCount(s) != 1 {
					return nil, failf("string keys in translate table must be of length 1")
				}
				key = integer([]rune(s)[0])
			} else if !isInteger(key) {
				return nil, failf("keys in translate table must be strings or integers")
			}
			if err := out.putAny(r, key, e.val); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	var s [3]string
	for i, v := range a.v {
		if i == 2 && v == None {
			break
		}
		var err error
		if s[i], err = needStr(v); err != nil {
			return nil, err
		}
		if err := r.builtN(8*valueSize, int64(len(s[i]))); err != nil {
			return nil, err
		}
	}
	from, to := []rune(s[0]), []rune(s[1])
	if len(from) != len(to) {
		return nil, failf("the first two maketrans arguments must have equal length")
	}
	for i, c := range from {
		if err := out.putAny(r, integer(c), integer(to[i])); err != nil {
			return nil, err
		}
	}
	for _, c := range s[2] {
		if err := out.putAny(r, integer(c), None); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func strTranslate(r *run, self Value, a args) (Value, error) {
	s, _ := strOf(self)
	if err := r.charge(len(s)); err != nil {
		return nil, err
	}
	switch a.v[0].(type) {
	case *Map, *list, *tuple, *rangeValue, text, markup:
	default:
		if s != "" {
			return nil, failf("'%s' object is not subscriptable", a.v[0].pyType())
		}
	}
	var b strings.Builder
	for _, c := range s {
		// A character without an entry, of whatever kind of table, stays.
		v, err := r.element(a.v[0], integer(c))
		if err != nil {
			return nil, err
		}
		out := string(c)
		switch x := v.(type) {
		case nil:
		case none:
			out = ""
		case integer:
			if x < 0 || x > unicode.MaxRune {
				return nil, failf("character mapping must be in range(0x110000)")
			}
			out = string(rune(x))
		default:
			var ok bool
			if out, ok = strOf(v); !ok {
				return nil, failf("character mapping must return integer, None or str")
			}
		}
		if err := r.built(len(out)); err != nil {
			return nil, err
		}
		b.WriteString(out)
	}
	return sameKind(self, b.String()), nil
}

// numRatio is as_integer_ratio.
func numRatio(r *run, self Value, _ args) (Value, error) {
	n, _ := numOf(self)
	if n.kind != 'f' {
		return &tuple{items: []Value{normInt(n.big()), integer(1)}}, nil
	}
	if n.f-n.f != 0 {
		return nil, failf("cannot convert infinity or NaN to integer ratio")
	}
	if err := r.charge(int(math.Abs(math.Log2(math.Abs(n.f)+1))) + 50); err != nil {
		return nil, err
	}
	q := new(big.Rat)
	q.SetFloat64(n.f)
	return &tuple{items: []Value{normInt(new(big.Int).Set(q.Num())), normInt(new(big.Int).Set(q.Denom()))}}, nil
}

func numConjugate(_ *run, self Value, _ args) (Value, error) { return negate(self, true) }
