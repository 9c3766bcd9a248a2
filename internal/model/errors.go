package model

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnsupported is what an ArchError and a KeyError about a feature that is
// not there unwrap to, for errors.Is: the file may be fine, but not for us.
var ErrUnsupported = errors.New("model: not supported")

// ArchError reports an architecture that the table lacks.
type ArchError struct {
	Arch  string
	Known []string
}

func (e *ArchError) Error() string {
	return fmt.Sprintf("model: architecture %q is not supported; supported are %s", clip(e.Arch), strings.Join(e.Known, ", "))
}

// Unwrap returns ErrUnsupported.
func (e *ArchError) Unwrap() error { return ErrUnsupported }

// KeyError reports a value of the metadata that can't be.
type KeyError struct {
	Key   string
	Value any
	Bound string // what it has to be, as a phrase after "must be"
	Err   error  // ErrUnsupported, or nil
}

func (e *KeyError) Error() string {
	v := e.Value
	if s, ok := v.(string); ok {
		v = fmt.Sprintf("%q", clip(s))
	}
	return fmt.Sprintf("model: %s is %v, must be %s", e.Key, v, e.Bound)
}

// Unwrap returns ErrUnsupported for a feature that is not there, else nil.
func (e *KeyError) Unwrap() error { return e.Err }

// TensorError reports a tensor that is missing, of another shape than the
// metadata says, or unknown to the architecture.
type TensorError struct {
	Arch   string
	Tensor string
	Want   string // rows×columns, or empty for an unknown tensor
	Got    string // empty: missing
}

func (e *TensorError) Error() string {
	name := clip(e.Tensor)
	switch {
	case e.Want == "":
		return fmt.Sprintf("model: %s: %q is %s; loading it would give wrong results", e.Arch, name, e.Got)
	case e.Got == "":
		return fmt.Sprintf("model: %s: tensor %q is missing (expected %s); the file is incomplete or of another variant", e.Arch, name, e.Want)
	}
	return fmt.Sprintf("model: %s: tensor %q is %s, by the metadata it must be %s", e.Arch, name, e.Got, e.Want)
}

// clip keeps a hostile name from filling a log.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
