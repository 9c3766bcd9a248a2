package safetensors

import (
	"errors"
	"fmt"
	"strconv"
)

// What an Error is about, for errors.Is.
var (
	ErrTruncated = errors.New("beyond the end of the file")
	ErrInvalid   = errors.New("value not allowed")
	ErrDuplicate = errors.New("duplicate name")
	ErrMissing   = errors.New("missing")
)

// Error is a fault of a file or of a set of files.
type Error struct {
	File   string // its name, "" if it has none
	Tensor string // at most 64 bytes of its name; "": the fault is not one tensor's
	What   string // what was found and what was allowed
	Err    error  // one of the sentinels above
}

// Error says which, what and why.
func (e *Error) Error() string {
	s := "safetensors: "
	if e.File != "" {
		s += e.File + ": "
	}
	if e.Tensor != "" {
		s += strconv.Quote(e.Tensor) + ": "
	}
	return s + e.What + ": " + e.Err.Error()
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Err }

func fault(err error, tensor, format string, args ...any) *Error {
	return &Error{Tensor: clip(tensor), What: fmt.Sprintf(format, args...), Err: err}
}

// clip keeps an error short when a hostile name is a megabyte long.
func clip(s string) string { return s[:min(len(s), 64)] }
