package chat

import (
	"math"
	"math/big"
)

var dictMethods = map[string]*builtin{
	"get":      {name: "get", params: []param{{"key", nil}, {"default", None}}, posn: true, fn: dictGet},
	"keys":     viewMethod("keys", viewKeys),
	"values":   viewMethod("values", viewValues),
	"items":    viewMethod("items", viewItems),
	"fromkeys": {name: "fromkeys", params: []param{{"iterable", nil}, {"value", None}}, posn: true, fn: dictFromKeys},
	"copy": {name: "copy", fn: func(r *run, self Value, _ args) (Value, error) {
		m := self.(*Map)
		if err := r.builtItems(4 * m.Len()); err != nil {
			return nil, err
		}
		return m.clone(), nil
	}},
}

func viewMethod(name string, kind viewKind) *builtin {
	return &builtin{name: name, fn: func(_ *run, self Value, _ args) (Value, error) {
		return &dictView{self.(*Map), kind}, nil
	}}
}

func dictGet(r *run, self Value, a args) (Value, error) {
	h, err := r.hash(a.v[0])
	if err != nil {
		return nil, err
	}
	if v, ok := self.(*Map).get(h); ok {
		return v, nil
	}
	return a.v[1], nil
}

var listMethods = map[string]*builtin{
	"index": {name: "index", params: []param{{"value", nil}, {"start", integer(0)}, {"stop", integer(math.MaxInt64)}}, posn: true, fn: seqIndex},
	"count": {name: "count", params: []param{{"value", nil}}, posn: true, fn: seqCount},
	"copy":  {name: "copy", fn: func(_ *run, self Value, _ args) (Value, error) { return &list{self.(*list).items}, nil }},
}

// tupleMethods are those of tuples and ranges.
var tupleMethods = map[string]*builtin{
	"index": listMethods["index"],
	"count": listMethods["count"],
}

func seqIndex(r *run, self Value, a args) (Value, error) {
	items, err := r.collect(self)
	if err != nil {
		return nil, err
	}
	var b sliceBounds
	if b.start, err = boundOf(a.v[1]); err != nil {
		return nil, err
	}
	if b.stop, err = boundOf(a.v[2]); err != nil {
		return nil, err
	}
	first, count, _, err := b.resolve(int64(len(items)))
	if err != nil {
		return nil, err
	}
	for i := first; i < first+count; i++ {
		eq, err := r.equal(items[i], a.v[0])
		if err != nil {
			return nil, err
		}
		if eq {
			return integer(i), nil
		}
	}
	return nil, failf("value is not in list")
}

func boundOf(v Value) (*int64, error) {
	n, err := intOf(v)
	return &n, err
}

func seqCount(r *run, self Value, a args) (Value, error) {
	items, err := r.collect(self)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, it := range items {
		eq, err := r.equal(it, a.v[0])
		if err != nil {
			return nil, err
		}
		if eq {
			n++
		}
	}
	return integer(n), nil
}

var intMethods = map[string]*builtin{
	"as_integer_ratio": {name: "as_integer_ratio", fn: numRatio},
	"conjugate":        {name: "conjugate", fn: numConjugate},
	"bit_length": {name: "bit_length", fn: func(r *run, self Value, _ args) (Value, error) {
		n, _ := numOf(self)
		return integer(n.big().BitLen()), nil
	}},
	"bit_count": {name: "bit_count", fn: func(r *run, self Value, _ args) (Value, error) {
		if err := r.chargeInt(self); err != nil {
			return nil, err
		}
		n, _ := numOf(self)
		count := 0
		for _, w := range new(big.Int).Abs(n.big()).Bits() {
			for ; w != 0; w &= w - 1 {
				count++
			}
		}
		return integer(count), nil
	}},
}

var floatMethods = map[string]*builtin{
	"as_integer_ratio": {name: "as_integer_ratio", fn: numRatio},
	"conjugate":        {name: "conjugate", fn: numConjugate},
	"is_integer": {name: "is_integer", fn: func(_ *run, self Value, _ args) (Value, error) {
		f := float64(self.(float))
		return boolean(f == math.Trunc(f) && !math.IsInf(f, 0)), nil
	}},
}
