package hf

import (
	"encoding/json"
	"errors"
	"fmt"
)

// kindError is a value of JSON of another kind than is read: the standard library's
// own text names types of this package, which a user of a folder does not know.
type kindError struct{ err *json.UnmarshalTypeError }

func (e *kindError) Error() string {
	at := ""
	if e.err.Field != "" {
		at = clip(e.err.Field) + ": "
	}
	return fmt.Sprintf("%sa %s of JSON is not what belongs there", at, e.err.Value)
}

func (e *kindError) Unwrap() error { return e.err }

// unJSON is json.Unmarshal whose errors speak of the file alone.
func unJSON(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return &kindError{kind}
	}
	return err
}
