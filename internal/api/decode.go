package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// maxDepth is how deep a body's JSON may nest.
const maxDepth = 64

// field is one row of a route's table of body fields: what it does with a value
// that is not null.
type field[P any] struct {
	name string
	set  func(p *P, v value) error
}

// value is a field's JSON.
type value struct {
	name string
	raw  json.RawMessage
}

// decode reads a body of one JSON object, field by field as the table says. A
// field that the table lacks is refused by name, and so is one that comes twice:
// which of them counts would be a guess.
func decode[P any](body []byte, table []field[P], p *P) error {
	if d := depth(body); d > maxDepth {
		return invalid("", "the body's JSON is nested deeper than %d levels", maxDepth)
	}
	seen := make([]bool, len(table))
	return object(body, func(name string, raw json.RawMessage) error {
		for i := range table {
			f := &table[i]
			if f.name != name {
				continue
			}
			if seen[i] {
				return invalid(name, "is given twice")
			}
			seen[i] = true
			if string(raw) == "null" {
				return nil
			}
			return f.set(p, value{name, raw})
		}
		return invalid(clip(name), "this field is not known; remove it")
	})
}

// object calls each with the members of a JSON object, in order.
func object(b []byte, each func(name string, raw json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	tok, err := dec.Token()
	if err != nil || tok != json.Delim('{') {
		return badJSON(err, "a JSON object was expected")
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return badJSON(err, "")
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return badJSON(err, "")
		}
		if err := each(key.(string), raw); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return badJSON(err, "")
	}
	if _, err := dec.Token(); err != io.EOF {
		return badJSON(nil, "something follows the JSON object")
	}
	return nil
}

// array calls each with the elements of a JSON array, in order.
func array(b []byte, each func(i int, raw json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	tok, err := dec.Token()
	if err != nil || tok != json.Delim('[') {
		return badJSON(err, "a JSON array was expected")
	}
	for i := 0; dec.More(); i++ {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return badJSON(err, "")
		}
		if err := each(i, raw); err != nil {
			return err
		}
	}
	return nil
}

func badJSON(err error, what string) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		what = fmt.Sprintf("%v at byte %d", syntax, syntax.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		what = "it ends too early"
	case err != nil:
		what = err.Error()
	}
	return invalid("", "the body is not the JSON that is expected: %s", what)
}

// depth is how deep the arrays and objects of b nest; b need not be valid.
func depth(b []byte) int {
	level, deepest, inString := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString:
			if c == '\\' {
				i++
			} else if c == '"' {
				inString = false
			}
		case c == '"':
			inString = true
		case c == '[' || c == '{':
			level++
			deepest = max(deepest, level)
		case c == ']' || c == '}':
			level--
		}
	}
	return deepest
}

// kind names a JSON value's type for an error message.
func (v value) kind() string {
	switch v.raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "the number " + clipNumber(v.raw)
}

func clipNumber(raw []byte) string {
	if len(raw) > 24 {
		return string(raw[:24]) + "…"
	}
	return string(raw)
}

func (v value) wrong(want string) error { return invalid(v.name, "must be %s, is %s", want, v.kind()) }

func (v value) str() (string, error) {
	var s string
	if json.Unmarshal(v.raw, &s) != nil {
		return "", v.wrong("a string")
	}
	return s, nil
}

func (v value) boolean() (bool, error) {
	var b bool
	if json.Unmarshal(v.raw, &b) != nil {
		return false, v.wrong("a boolean")
	}
	return b, nil
}

func (v value) integer(least, most int64) (int64, error) {
	var n int64
	if v.raw[0] == '"' || json.Unmarshal(v.raw, &n) != nil {
		return 0, v.wrong("an integer")
	}
	if n < least || n > most {
		return 0, invalid(v.name, "is %d, must be between %d and %d", n, least, most)
	}
	return n, nil
}

func (v value) number(least, most float64) (float32, error) {
	var f float64
	if v.raw[0] == '"' || json.Unmarshal(v.raw, &f) != nil {
		return 0, v.wrong("a number")
	}
	if !(f >= least && f <= most) || math.IsInf(f, 0) {
		return 0, invalid(v.name, "is %v, must be between %v and %v", f, least, most)
	}
	return float32(f), nil
}
