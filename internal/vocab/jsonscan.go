package vocab

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrJSON is what a *JSONError unwraps to.
var ErrJSON = errors.New("vocab: bad tokenizer.json")

// JSONError says where a tokenizer.json is not one that can be read.
type JSONError struct {
	Where  string // keys and indexes from the top, as model.merges[3]; "" is the top
	Offset int    // bytes before the fault
	Reason string
}

func (e *JSONError) Error() string {
	where := e.Where
	if where == "" {
		where = "the top level"
	}
	return fmt.Sprintf("vocab: tokenizer.json: %s, at byte %d: %s", where, e.Offset, e.Reason)
}

// Unwrap returns ErrJSON.
func (e *JSONError) Unwrap() error { return ErrJSON }

// maxJSONDepth bounds nesting: real files have 8 levels.
const maxJSONDepth = 32

// jsonScan reads JSON once, from the left, and hands values to whoever knows what must
// stand there. The first error sticks; after it everything reads as empty, so callers
// ask once at the end. It allocates the strings that are asked for and nothing else.
type jsonScan struct {
	data  []byte
	at    int
	depth int
	path  []string // keys, or "" for an array
	index []int    // by level: the element of an array
	err   error
}

func (s *jsonScan) fail(format string, args ...any) {
	if s.err != nil {
		return
	}
	var where strings.Builder
	for i, key := range s.path {
		switch {
		case key == "":
			fmt.Fprintf(&where, "[%d]", s.index[i])
		case where.Len() > 0:
			where.WriteString("." + shorten(key))
		default:
			where.WriteString(shorten(key))
		}
	}
	s.err = &JSONError{where.String(), s.at, fmt.Sprintf(format, args...)}
}

// shorten keeps error texts readable when a hostile file holds a megabyte string.
func shorten(s string) string {
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *jsonScan) peek() byte {
	for s.err == nil && s.at < len(s.data) {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// take skips c if it comes next.
func (s *jsonScan) take(c byte) bool {
	if s.peek() != c || s.err != nil {
		return false
	}
	s.at++
	return true
}

func (s *jsonScan) enter(key string) bool {
	if s.depth++; s.depth > maxJSONDepth {
		s.fail("more than %d levels", maxJSONDepth)
		return false
	}
	s.path, s.index = append(s.path, key), append(s.index, 0)
	return true
}

func (s *jsonScan) leave() {
	s.depth--
	s.path, s.index = s.path[:len(s.path)-1], s.index[:len(s.index)-1]
}

// object reads an object; field must read the value of key. A key that comes twice is
// an error where twice says so.
func (s *jsonScan) object(twice bool, field func(key string)) {
	if !s.take('{') {
		s.fail("want an object")
		return
	}
	if s.take('}') || !s.enter("?") {
		return
	}
	var seen map[string]bool
	for s.err == nil {
		key := s.text()
		if !s.take(':') {
			s.fail("want a colon")
		}
		s.path[len(s.path)-1] = key
		if key == "" {
			s.path[len(s.path)-1] = `""`
		}
		if twice {
			if seen[key] {
				s.fail("the key comes twice")
			}
			if seen == nil {
				seen = map[string]bool{}
			}
			seen[key] = true
		}
		if s.err == nil {
			field(key)
		}
		if s.take(',') {
			continue
		}
		if !s.take('}') {
			s.fail("want a comma or the object's end")
		}
		break
	}
	s.leave()
}

// array reads an array; element must read one value.
func (s *jsonScan) array(element func(i int)) {
	if !s.take('[') {
		s.fail("want an array")
		return
	}
	if s.take(']') || !s.enter("") {
		return
	}
	for i := 0; s.err == nil; i++ {
		s.index[len(s.index)-1] = i
		element(i)
		if s.take(',') {
			continue
		}
		if !s.take(']') {
			s.fail("want a comma or the array's end")
		}
		break
	}
	s.leave()
}

// text reads a string.
func (s *jsonScan) text() string {
	if s.peek() != '"' || s.err != nil {
		s.fail("want a string")
		return ""
	}
	from, escaped := s.at, false
	for i := from + 1; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			s.at = i
			s.fail("a control character in a string")
			return ""
		case c == '"':
			s.at = i + 1
			if !escaped {
				return string(s.data[from+1 : i])
			}
			return s.unescape(s.data[from:s.at])
		}
	}
	s.fail("a string without an end")
	return ""
}

func (s *jsonScan) unescape(quoted []byte) string {
	var v string
	if err := json.Unmarshal(quoted, &v); err != nil {
		s.fail("a string with a bad escape")
	}
	if strings.ContainsRune(v, utf8.RuneError) && !strings.Contains(string(quoted), "\uFFFD") && !strings.Contains(strings.ToLower(string(quoted)), `\ufffd`) {
		s.fail("a string with half a surrogate pair")
	}
	return v
}

// orNull reads null, or what read reads.
func (s *jsonScan) orNull(read func()) {
	if s.peek() == 'n' {
		s.word("null")
		return
	}
	read()
}

func (s *jsonScan) word(w string) {
	if !strings.HasPrefix(string(s.data[s.at:min(s.at+len(w), len(s.data))]), w) {
		s.fail("want %s", w)
		return
	}
	s.at += len(w)
}

func (s *jsonScan) bool() bool {
	if s.peek() == 't' {
		s.word("true")
		return true
	}
	if s.err == nil && s.peek() != 'f' {
		s.fail("want true or false")
		return false
	}
	if s.err == nil {
		s.word("false")
	}
	return false
}

// number reads a number's text.
func (s *jsonScan) number() string {
	s.peek()
	from := s.at
	for s.at < len(s.data) && strings.IndexByte("+-.0123456789eE", s.data[s.at]) >= 0 {
		s.at++
	}
	n := string(s.data[from:s.at])
	if s.err == nil && !json.Valid([]byte(n)) {
		s.at = from
		s.fail("want a number")
	}
	return n
}

// integer reads a whole number from 0 to most.
func (s *jsonScan) integer(most int) int {
	n := s.number()
	v, err := strconv.Atoi(n)
	if s.err == nil && (err != nil || v < 0 || v > most) {
		s.fail("%s, must be a whole number from 0 to %d", shorten(n), most)
		return 0
	}
	return v
}

func (s *jsonScan) float() float64 {
	n := s.number()
	v, err := strconv.ParseFloat(n, 64)
	if s.err == nil && err != nil {
		s.fail("%s is too large", shorten(n))
	}
	return v
}

// skip reads any value.
func (s *jsonScan) skip() {
	switch s.peek() {
	case '{':
		s.object(false, func(string) { s.skip() })
	case '[':
		s.array(func(int) { s.skip() })
	case '"':
		s.text()
	case 't', 'f':
		s.bool()
	case 'n':
		s.word("null")
	default:
		s.number()
	}
}
