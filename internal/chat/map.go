package chat

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
)

// smallMap is the size up to which a map is searched in a line: nearly all maps
// of a conversation, and it saves them an index.
const smallMap = 8

// Map is a dictionary that keeps the order in which keys were first set. The
// zero value is empty and ready. Set is for its builder alone; once it is built
// a Map is safe for concurrent use.
type Map struct {
	entries []entry
	index   map[hashKey]int // nil while small
}

type entry struct{ key, val Value }

// hashKey is equal for keys that Python holds equal: 1, 1.0 and True are one.
type hashKey struct {
	kind byte
	n    uint64
	s    string
}

func (*Map) pyType() string { return "dict" }

// NewMap makes an empty map with room for n keys.
func NewMap(n int) *Map { return &Map{entries: make([]entry, 0, n)} }

// Set puts v under a string key; a key that exists keeps its place. It returns
// m, so that calls chain. Not for concurrent use.
func (m *Map) Set(key string, v Value) *Map {
	m.put(text(key), hashKey{kind: 's', s: key}, v)
	return m
}

// Get returns the value under a string key.
func (m *Map) Get(key string) (Value, bool) {
	if m.index == nil {
		for i := range m.entries {
			if s, ok := m.entries[i].key.(text); ok && string(s) == key {
				return m.entries[i].val, true
			}
		}
	}
	return m.get(hashKey{kind: 's', s: key})
}

// Len returns the number of keys.
func (m *Map) Len() int { return len(m.entries) }

// All yields the string keys and their values, in order. Keys of other kinds,
// which only a template can make, are left out.
func (m *Map) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, e := range m.entries {
			if s, ok := strOf(e.key); ok && !yield(s, e.val) {
				return
			}
		}
	}
}

func (m *Map) get(h hashKey) (Value, bool) {
	if i := m.find(h); i >= 0 {
		return m.entries[i].val, true
	}
	return nil, false
}

func (m *Map) find(h hashKey) int {
	if m.index != nil {
		if i, ok := m.index[h]; ok {
			return i
		}
		return -1
	}
	for i := range m.entries {
		if simpleHash(m.entries[i].key) == h {
			return i
		}
	}
	return -1
}

// put sets key, whose hash the caller knows.
func (m *Map) put(key Value, h hashKey, v Value) {
	if i := m.find(h); i >= 0 {
		m.entries[i].val = v
		return
	}
	m.entries = append(m.entries, entry{key, v})
	if m.index == nil {
		if len(m.entries) <= smallMap && simpleKeys[h.kind] {
			return
		}
		m.index = make(map[hashKey]int, 2*len(m.entries))
		for i := range m.entries[:len(m.entries)-1] {
			m.index[simpleHash(m.entries[i].key)] = i
		}
	}
	m.index[h] = len(m.entries) - 1
}

// simpleKeys are the kinds of keys that are hashed for nothing. A map with any other
// has an index, however small it is: it is never hashed again.
var simpleKeys = [256]bool{'s': true, 'i': true, 'f': true, 'n': true, 'u': true}

// putAny is put for a key that may not be hashable.
func (m *Map) putAny(r *run, key, v Value) error {
	h, err := r.hash(key)
	if err != nil {
		return err
	}
	m.put(key, h, v)
	return nil
}

func (m *Map) clone() *Map {
	return &Map{entries: slices.Clone(m.entries), index: maps.Clone(m.index)}
}

// hash gives the hash of a key and pays for it and for one look into a map: both
// read all of a long key.
func (r *run) hash(v Value) (hashKey, error) {
	h, err := r.hashAt(v, 0)
	if err != nil {
		return h, err
	}
	return h, r.scan(len(h.s))
}

// simpleHash is the hash of a value of a kind that can be had without work: the zero
// hashKey, which no value has, for any other.
func simpleHash(v Value) hashKey {
	switch x := v.(type) {
	case text:
		return hashKey{kind: 's', s: string(x)}
	case markup:
		return hashKey{kind: 's', s: string(x)}
	case integer:
		return hashKey{kind: 'i', n: uint64(x)}
	case boolean:
		if x {
			return hashKey{kind: 'i', n: 1}
		}
		return hashKey{kind: 'i'}
	case float:
		return hashFloat(float64(x))
	case none:
		return hashKey{kind: 'n'}
	case *undefined:
		return hashKey{kind: 'u'}
	}
	return hashKey{}
}

func (r *run) hashAt(v Value, depth int) (hashKey, error) {
	if h := simpleHash(v); h.kind != 0 {
		return h, nil
	}
	switch x := v.(type) {
	case bigint:
		return hashBig(x.n), r.chargeInt(x)
	case *tuple:
		return r.hashTuple(x.items, depth)
	case *rangeValue:
		start, step := integer(x.start), integer(x.step)
		return r.hashTuple([]Value{text("range"), integer(x.n), start, step}, depth)
	case *function: // equal to itself alone, as the next ones are
		return hashKey{kind: 'o', s: fmt.Sprintf("%p", x.def)}, nil
	case *macro, *namespace, *loopState, *generator, *cycler, *joiner:
		return hashKey{kind: 'o', s: fmt.Sprintf("%p", x)}, nil
	}
	return hashKey{}, failf("unhashable type: %s", reprString(v.pyType()))
}

func hashBig(n *big.Int) hashKey {
	return hashKey{kind: 'b', n: uint64(n.Sign() + 1), s: string(n.Bytes())}
}

func hashFloat(f float64) hashKey {
	if f == math.Trunc(f) && !math.IsInf(f, 0) {
		if f >= -1<<63 && f < 1<<63 {
			return hashKey{kind: 'i', n: uint64(int64(f))}
		}
		n, _ := new(big.Float).SetFloat64(f).Int(nil)
		return hashBig(n)
	}
	return hashKey{kind: 'f', n: math.Float64bits(f)}
}

func (r *run) hashTuple(items []Value, depth int) (hashKey, error) {
	if depth > maxDataDepth {
		return hashKey{}, &LimitError{"levels of nesting in a value", maxDataDepth}
	}
	var b []byte
	for _, it := range items {
		h, err := r.hashAt(it, depth+1)
		if err != nil {
			return hashKey{}, err
		}
		if len(b)+len(h.s) > maxTupleKey {
			return hashKey{}, &LimitError{"bytes in a tuple used as a key", maxTupleKey}
		}
		if err := r.built(2*len(h.s) + 2*bytesPerStep); err != nil {
			return hashKey{}, err
		}
		b = append(b, h.kind)
		b = strconv.AppendUint(b, h.n, 36)
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(len(h.s)), 36)
		b = append(b, ':')
		b = append(b, h.s...)
	}
	return hashKey{kind: 't', s: string(b)}, nil
}
