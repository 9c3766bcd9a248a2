package api

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// value is a part of a body that document has checked, and its place in it. The
// place is put into words only for an error: a body can hold millions of values.
type value struct {
	name string // of the field, or of the array that holds it
	at   int    // index in that array; whole: it is the field itself
	raw  json.RawMessage
}

// whole is value.at for what is no element of an array.
const whole = -1

// maxMembers bounds the members of one object, whose names are kept to find those
// that come twice.
const maxMembers = 4096

// path names the value's place: messages[3].content.
func (v value) path() string {
	if v.at == whole {
		return v.name
	}
	return v.name + "[" + strconv.Itoa(v.at) + "]"
}

// members calls each with the members of an object, in order. A name that comes
// twice is refused.
func (v value) members(each func(name string, v value) error) error {
	within := v.path()
	if within != "" {
		within += "."
	}
	seen := make(map[string]bool)
	for i := 1; ; {
		start := skip(v.raw, i)
		if v.raw[start] == '}' {
			return nil
		}
		end := valueEnd(v.raw, start)
		var name string
		if err := json.Unmarshal(v.raw[start:end], &name); err != nil {
			return err
		}
		start = skip(v.raw, skip(v.raw, end)+1) // behind the colon
		end = valueEnd(v.raw, start)
		m := value{name: within + clip(name), at: whole, raw: v.raw[start:end]}
		if seen[name] {
			return invalid(m.path(), "is given twice")
		}
		if len(seen) == maxMembers {
			return invalid(v.path(), "has more than %d members", maxMembers)
		}
		seen[name] = true
		if err := each(name, m); err != nil {
			return err
		}
		if i = skip(v.raw, end); v.raw[i] == ',' {
			i++
		}
	}
}

// elements calls each with the elements of an array, in order.
func (v value) elements(each func(v value) error) error {
	name := v.path()
	for i, n := 1, 0; ; n++ {
		start := skip(v.raw, i)
		if v.raw[start] == ']' {
			return nil
		}
		end := valueEnd(v.raw, start)
		if err := each(value{name, n, v.raw[start:end]}); err != nil {
			return err
		}
		if i = skip(v.raw, end); v.raw[i] == ',' {
			i++
		}
	}
}

// skip returns the index of the first byte from i on that is no space.
func skip(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r' {
		i++
	}
	return i
}

// valueEnd returns the index behind the value that begins at i.
func valueEnd(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 { // of what holds the number or word that begins at i
				return i
			}
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

func (v value) null() bool   { return v.raw[0] == 'n' }
func (v value) object() bool { return v.raw[0] == '{' }
func (v value) array() bool  { return v.raw[0] == '[' }
func (v value) string() bool { return v.raw[0] == '"' }

func (v value) numeric() bool { return v.raw[0] == '-' || v.raw[0] >= '0' && v.raw[0] <= '9' }

// kind names a JSON value's type for an error message.
func (v value) kind() string {
	switch {
	case v.object():
		return "an object"
	case v.array():
		return "an array"
	case v.string():
		return "a string"
	case v.null():
		return "null"
	case v.numeric():
		return "the number " + clip(string(v.raw))
	}
	return "a boolean"
}

// wrong refuses a value of the wrong type.
func (v value) wrong(want string) error {
	return invalid(v.path(), "must be %s, is %s", want, v.kind())
}

func (v value) str() (string, error) {
	if !v.string() {
		return "", v.wrong("a string")
	}
	var s string
	err := json.Unmarshal(v.raw, &s)
	return s, err
}

func (v value) boolean() (bool, error) {
	if c := v.raw[0]; c != 't' && c != 'f' {
		return false, v.wrong("a boolean")
	}
	return v.raw[0] == 't', nil
}

func (v value) integer(least, most int64) (int64, error) {
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil || n < least || n > most {
		return 0, v.wrong(fmt.Sprintf("an integer between %d and %d", least, most))
	}
	return n, nil
}

func (v value) number(least, most float64) (float32, error) {
	f, err := 0.0, error(nil)
	if v.numeric() {
		f, err = strconv.ParseFloat(string(v.raw), 64)
	}
	if err != nil || !v.numeric() || f < least || f > most {
		return 0, v.wrong(fmt.Sprintf("a number between %v and %v", least, most))
	}
	return float32(f), nil
}

// clip shortens a client's text for an error message.
func clip(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && s[end]&0xc0 == 0x80 { // not inside a character
		end--
	}
	return s[:end] + "…"
}
