package chat

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// DefaultJSONDepth is the nesting that DecodeJSON allows where it is told none.
const DefaultJSONDepth = 64

// DecodeJSON reads one JSON value as Python would hand it to a template: the
// keys of an object keep their order, integers stay exact at any size, a number
// with a point or an exponent is a float, and of a key that comes twice the last
// value stands in the first place. A lone half of a surrogate pair, which no
// text can hold, becomes U+FFFD.
//
// maxDepth bounds arrays and objects in one another; 0 means DefaultJSONDepth.
// It allocates at most 64 bytes per byte of input. Errors are *JSONError, and
// *LimitError for depth and for integers of more than 4,300 digits. data is not
// kept. Safe for concurrent use.
func DecodeJSON(data []byte, maxDepth int) (Value, error) {
	if maxDepth == 0 {
		maxDepth = DefaultJSONDepth
	}
	d := &jsonDecoder{s: string(data), depth: maxDepth, max: maxDepth}
	if !utf8.ValidString(d.s) {
		i := 0
		for i < len(d.s) {
			c, n := utf8.DecodeRuneInString(d.s[i:])
			if c == utf8.RuneError && n == 1 {
				break
			}
			i += n
		}
		d.i = i
		return nil, d.fail("invalid UTF-8")
	}
	v, err := d.value()
	if err != nil {
		return nil, err
	}
	if d.space(); d.i < len(d.s) {
		return nil, d.fail("more text after the value")
	}
	return v, nil
}

type jsonDecoder struct {
	s     string
	i     int
	depth int // levels left
	max   int
}

func (d *jsonDecoder) fail(msg string) error { return &JSONError{d.i, msg} }

func (d *jsonDecoder) space() {
	for d.i < len(d.s) {
		switch d.s[d.i] {
		case ' ', '\t', '\n', '\r':
			d.i++
		default:
			return
		}
	}
}

// peek is the next byte after white space, 0 at the end.
func (d *jsonDecoder) peek() byte {
	d.space()
	if d.i == len(d.s) {
		return 0
	}
	return d.s[d.i]
}

// take moves over c if it is next.
func (d *jsonDecoder) take(c byte) bool {
	if d.peek() != c {
		return false
	}
	d.i++
	return true
}

var jsonWords = map[byte]struct {
	word string
	v    Value
}{'t': {"true", boolean(true)}, 'f': {"false", boolean(false)}, 'n': {"null", None}}

func (d *jsonDecoder) value() (Value, error) {
	c := d.peek()
	switch {
	case c == '"':
		s, err := d.str()
		return text(s), err
	case c == '-' || isDec(c):
		return d.number()
	case c == '{' || c == '[':
		if d.depth == 0 {
			return nil, &LimitError{"levels of nesting in JSON", int64(d.max)}
		}
		d.depth--
		d.i++
		defer func() { d.depth++ }()
		if c == '{' {
			return d.object()
		}
		return d.array()
	}
	if w, ok := jsonWords[c]; ok && strings.HasPrefix(d.s[d.i:], w.word) {
		d.i += len(w.word)
		return w.v, nil
	}
	if d.i == len(d.s) {
		return nil, d.fail("unexpected end")
	}
	return nil, d.fail("expected a value")
}

func (d *jsonDecoder) array() (Value, error) {
	l := &list{}
	if d.take(']') {
		return l, nil
	}
	for {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		l.items = append(l.items, v)
		if d.take(']') {
			return l, nil
		}
		if !d.take(',') {
			return nil, d.fail("expected ',' or ']'")
		}
	}
}

func (d *jsonDecoder) object() (Value, error) {
	m := &Map{}
	if d.take('}') {
		return m, nil
	}
	for {
		if d.peek() != '"' {
			return nil, d.fail("expected a string as key")
		}
		k, err := d.str()
		if err != nil {
			return nil, err
		}
		if !d.take(':') {
			return nil, d.fail("expected ':'")
		}
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		m.Set(k, v)
		if d.take('}') {
			return m, nil
		}
		if !d.take(',') {
			return nil, d.fail("expected ',' or '}'")
		}
	}
}

func (d *jsonDecoder) digits() int {
	n := d.i
	for d.i < len(d.s) && isDec(d.s[d.i]) {
		d.i++
	}
	return d.i - n
}

func (d *jsonDecoder) number() (Value, error) {
	start := d.i
	if d.s[d.i] == '-' {
		d.i++
	}
	first := d.i
	n := d.digits()
	if n == 0 {
		return nil, d.fail("expected a digit")
	}
	if n > 1 && d.s[first] == '0' {
		d.i = first + 1
		return nil, d.fail("a number can't begin with 0")
	}
	isFloat := false
	if d.i < len(d.s) && d.s[d.i] == '.' {
		isFloat = true
		d.i++
		if d.digits() == 0 {
			return nil, d.fail("expected a digit after the point")
		}
	}
	if d.i < len(d.s) && d.s[d.i]|0x20 == 'e' {
		isFloat = true
		d.i++
		if d.i < len(d.s) && (d.s[d.i] == '+' || d.s[d.i] == '-') {
			d.i++
		}
		if d.digits() == 0 {
			return nil, d.fail("expected a digit in the exponent")
		}
	}
	s := d.s[start:d.i]
	if isFloat {
		f, _ := strconv.ParseFloat(s, 64) // beyond the range it is infinite, as in Python
		return float(f), nil
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return integer(i), nil
	}
	if n > maxIntDigits {
		return nil, &LimitError{"digits in an integer", maxIntDigits}
	}
	b, _ := new(big.Int).SetString(s, 10)
	return normInt(b), nil
}

// str takes a string; one without escapes shares the memory of the input.
func (d *jsonDecoder) str() (string, error) {
	d.i++
	start := d.i
	var b []byte
	for d.i < len(d.s) {
		switch c := d.s[d.i]; {
		case c == '"':
			s := d.s[start:d.i]
			d.i++
			if b != nil {
				return string(append(b, s...)), nil
			}
			return s, nil
		case c < 0x20:
			return "", d.fail("control character in a string")
		case c == '\\':
			b = append(b, d.s[start:d.i]...)
			var err error
			if b, err = d.escape(b); err != nil {
				return "", err
			}
			start = d.i
		default:
			d.i++
		}
	}
	return "", d.fail("unterminated string")
}

var jsonEscapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape resolves the escape at d.i.
func (d *jsonDecoder) escape(b []byte) ([]byte, error) {
	if b == nil {
		b = []byte{}
	}
	if d.i+1 >= len(d.s) {
		return nil, d.fail("unterminated string")
	}
	c := d.s[d.i+1]
	if e, ok := jsonEscapes[c]; ok {
		d.i += 2
		return append(b, e), nil
	}
	u, ok := hex4(d.s[d.i:])
	if !ok {
		return nil, d.fail("invalid escape")
	}
	d.i += 6
	if u >= 0xd800 && u < 0xdc00 {
		if low, ok := hex4(d.s[d.i:]); ok && low >= 0xdc00 && low < 0xe000 {
			d.i += 6
			return utf8.AppendRune(b, 0x10000+(u-0xd800)<<10+(low-0xdc00)), nil
		}
	}
	return utf8.AppendRune(b, u), nil // half a pair becomes U+FFFD
}

// hex4 reads an escape of the form \uXXXX.
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for i := 2; i < 6; i++ {
		if !isHex(s[i]) {
			return 0, false
		}
	}
	u, err := strconv.ParseUint(s[2:6], 16, 32)
	return rune(u), err == nil
}
