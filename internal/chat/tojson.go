package chat

import (
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// doToJSON is json.dumps as transformers calls it.
func doToJSON(r *run, v Value, a args) (Value, error) {
	w := jsonWriter{r: r, ascii: truth(a.v[0]), sort: truth(a.v[3]), item: ", ", key: ": "}
	var fault error
	if _, isNone := a.v[1].(none); !isNone {
		w.pretty = true
		w.item = ","
		if s, ok := strOf(a.v[1]); ok {
			w.indent = s
		} else {
			n, err := intOf(a.v[1])
			if _, isFloat := a.v[1].(float); isFloat || isBig(a.v[1]) {
				fault = failf("can't multiply sequence by non-int of type '%s'", a.v[1].pyType())
			} else if err != nil {
				return nil, err
			}
			if n > 0 {
				if err := r.builtN(1, n); err != nil {
					return nil, err
				}
				w.indent = strings.Repeat(" ", int(n))
			}
		}
	}
	if _, isNone := a.v[2].(none); !isNone {
		seps, err := r.unpack(a.v[2], 2)
		if err != nil {
			return nil, err
		}
		if w.item, err = needStr(seps[0]); err != nil {
			fault = err
		}
		if w.key, err = needStr(seps[1]); err != nil {
			fault = err
		}
	}
	// A string is printed without a look at indent and separators.
	if _, isStr := strOf(v); fault != nil && !isStr {
		return nil, fault
	}
	if err := w.value(v, 0); err != nil {
		return nil, err
	}
	if err := r.built(len(w.b)); err != nil {
		return nil, err
	}
	return text(w.b), nil
}

// jsonWriter builds JSON text. What it holds is bounded by the memory the run
// has left, checked before each piece of unbounded size.
type jsonWriter struct {
	r         *run
	b         []byte
	ascii     bool
	sort      bool
	pretty    bool
	indent    string // of one level, where pretty
	item, key string // separators
}

func isBig(v Value) bool { _, ok := v.(bigint); return ok }

// room checks that n more bytes fit.
func (w *jsonWriter) room(n int) error {
	if int64(len(w.b)+n) > w.r.mem {
		return w.r.built(len(w.b) + n)
	}
	return nil
}

// doubled makes room for n more bytes, twice what there is at least: append takes a
// quarter more at a time, which for tens of megabytes is mostly copying.
func doubled(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	return slices.Grow(b, max(n, len(b)))
}

func (w *jsonWriter) value(v Value, depth int) error {
	if depth > maxDataDepth {
		return &LimitError{"levels of nesting in a value", maxDataDepth}
	}
	if err := w.r.step(); err != nil {
		return err
	}
	switch x := v.(type) {
	case text:
		return w.str(string(x))
	case markup:
		return w.str(string(x))
	case none, boolean, integer, bigint, float:
		if err := w.r.chargeInt(x); err != nil {
			return err
		}
		s, err := jsonScalar(x)
		w.b = append(w.b, s...)
		return err
	case *Map:
		return w.dict(x, depth)
	}
	if items, ok := seqOf(v); ok {
		return w.list(items, depth)
	}
	return failf("Object of type %s is not JSON serializable", v.pyType())
}

func jsonScalar(v Value) (string, error) {
	switch x := v.(type) {
	case none:
		return "null", nil
	case boolean:
		if x {
			return "true", nil
		}
		return "false", nil
	case bigint:
		return bigText(x.n)
	case float:
		switch f := float64(x); {
		case math.IsNaN(f):
			return "NaN", nil
		case math.IsInf(f, 1):
			return "Infinity", nil
		case math.IsInf(f, -1):
			return "-Infinity", nil
		}
	}
	return scalarRepr(v), nil
}

// newline begins a line of its own at a depth.
func (w *jsonWriter) newline(depth int) error {
	if !w.pretty {
		return nil
	}
	// depth is small, but the indent is the template's, and memory that was never touched is slow.
	if err := w.r.charge((len(w.indent) + 2) * depth / 2); err != nil {
		return err
	}
	n := len(w.indent)*depth + 1
	if err := w.room(n); err != nil {
		return err
	}
	w.b = append(doubled(w.b, n), '\n')
	for range depth {
		w.b = append(w.b, w.indent...)
	}
	return nil
}

func (w *jsonWriter) list(items []Value, depth int) error {
	if len(items) == 0 {
		w.b = append(w.b, "[]"...)
		return nil
	}
	w.b = append(w.b, '[')
	for i, it := range items {
		if err := w.before(i, depth); err != nil {
			return err
		}
		if err := w.value(it, depth+1); err != nil {
			return err
		}
	}
	if err := w.newline(depth); err != nil {
		return err
	}
	w.b = append(w.b, ']')
	return nil
}

// before writes what stands before item i.
func (w *jsonWriter) before(i, depth int) error {
	if i > 0 {
		if err := w.room(len(w.item)); err != nil {
			return err
		}
		if err := w.r.scan(len(w.item)); err != nil {
			return err
		}
		w.b = append(w.b, w.item...)
	}
	return w.newline(depth + 1)
}

func (w *jsonWriter) dict(m *Map, depth int) error {
	if m.Len() == 0 {
		w.b = append(w.b, "{}"...)
		return nil
	}
	entries := m.entries
	if w.sort {
		var err error
		if entries, err = w.sorted(entries); err != nil {
			return err
		}
	}
	w.b = append(w.b, '{')
	for i, e := range entries {
		if err := w.before(i, depth); err != nil {
			return err
		}
		k, ok := strOf(e.key)
		if !ok {
			switch e.key.(type) {
			case none, boolean, integer, bigint, float:
				if err := w.r.chargeInt(e.key); err != nil {
					return err
				}
			default:
				return failf("keys must be str, int, float, bool or None, not %s", e.key.pyType())
			}
			var err error
			if k, err = jsonScalar(e.key); err != nil {
				return err
			}
		}
		if err := w.str(k); err != nil {
			return err
		}
		if err := w.room(len(w.key)); err != nil {
			return err
		}
		if err := w.r.scan(len(w.key)); err != nil {
			return err
		}
		w.b = append(w.b, w.key...)
		if err := w.value(e.val, depth+1); err != nil {
			return err
		}
	}
	if err := w.newline(depth); err != nil {
		return err
	}
	w.b = append(w.b, '}')
	return nil
}

func (w *jsonWriter) sorted(entries []entry) ([]entry, error) {
	if err := w.r.builtItems(2 * len(entries)); err != nil {
		return nil, err
	}
	out := append([]entry(nil), entries...)
	var failed error
	sort.SliceStable(out, func(i, j int) bool {
		if failed != nil {
			return false
		}
		c, ok, err := w.r.order("<", out[i].key, out[j].key, 0)
		if err != nil {
			failed = err
		}
		return ok && c < 0
	})
	return out, failed
}

// str writes a JSON string. Like Python's, and unlike most, it leaves DEL,
// U+2028 and HTML's characters alone.
func (w *jsonWriter) str(s string) error {
	if err := w.r.charge(len(s) / 8); err != nil {
		return err
	}
	if err := w.room(len(s) + 2); err != nil {
		return err
	}
	w.b = append(w.b, '"')
	done := 0
	for i := 0; i < len(s); {
		c, n := rune(s[i]), 1
		if c >= utf8.RuneSelf && w.ascii {
			c, n = utf8.DecodeRuneInString(s[i:])
		}
		plain := c >= 0x20 && c != '"' && c != '\\' && (c < 0x7f || !w.ascii)
		if !plain {
			if err := w.room(i - done); err != nil { // escapes are longer
				return err
			}
			w.b = append(w.b, s[done:i]...)
			w.b = appendJSONEscape(w.b, c)
			done = i + n
		}
		i += n
	}
	w.b = append(w.b, s[done:]...)
	w.b = append(w.b, '"')
	return nil
}

func appendJSONEscape(b []byte, c rune) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', byte(c))
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	case '\f':
		return append(b, `\f`...)
	case '\b':
		return append(b, `\b`...)
	}
	if c >= 0x10000 { // as a surrogate pair
		c -= 0x10000
		b = appendHex(append(b, `\u`...), 0xd800+c>>10, 4)
		return appendHex(append(b, `\u`...), 0xdc00+c&0x3ff, 4)
	}
	return appendHex(append(b, `\u`...), c, 4)
}
