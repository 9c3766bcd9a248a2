package api

import (
	"encoding/json"
	"errors"
	"fmt"
)

// field is one row of a route's table of body fields: what it does with a value
// that is not null.
type field[P any] struct {
	name string
	set  func(p *P, v value) error
}

// decode reads a body of one JSON object, field by field as the table says. A
// field that the table lacks is refused by name, and so is one that comes twice:
// which of them counts would be a guess.
func decode[P any](body []byte, table []field[P], p *P) error {
	raw, err := document(body)
	if err != nil {
		return err
	}
	if raw[0] != '{' {
		return invalid("", "the body must be a JSON object, is %s", value{raw: raw}.kind())
	}
	return value{raw: raw, at: whole}.members(func(name string, v value) error {
		for i := range table {
			if f := &table[i]; f.name == name {
				if v.null() {
					return nil
				}
				return f.set(p, v)
			}
		}
		return unknown(v)
	})
}

// unknown refuses a field that no table has.
func unknown(v value) error { return invalid(v.path(), "this field is not known; remove it") }

// document checks that a body is one JSON value within the bounds, and returns it
// without the space around it. Whatever walks it later can rely on that.
func document(body []byte) (json.RawMessage, error) {
	if err := bounded(body); err != nil {
		return nil, err
	}
	var raw json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			err = fmt.Errorf("%w at byte %d", err, syntax.Offset)
		}
		return nil, invalid("", "the body is not JSON: %v", err)
	}
	return raw, nil
}
