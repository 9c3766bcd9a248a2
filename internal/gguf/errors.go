package gguf

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/paddock-go/paddock/internal/filemap"
)

// What a FormatError is about, for errors.Is.
var (
	ErrMagic     = errors.New("not a GGUF file")
	ErrVersion   = errors.New("unsupported version")
	ErrBigEndian = errors.New("big-endian file")
	ErrTruncated = errors.New("beyond the end of the file")
	ErrInvalid   = errors.New("value not allowed")
	ErrType      = errors.New("wrong type")
	ErrDuplicate = errors.New("duplicate name")
	ErrMissing   = errors.New("missing")
)

// ErrClosed is returned for data of a closed file.
var ErrClosed = filemap.ErrClosed

// FormatError is every fault found in a file, at Open or by a getter: What was
// read, the key or tensor it belongs to, the value found and the bound it
// broke. It unwraps to one of the sentinels above.
type FormatError struct {
	Err    error  // one of the Err… sentinels
	What   string // what was read, e.g. "string length"
	Name   string // the key or tensor, at most 64 bytes of it; "" in the head of the file
	Value  uint64 // what was found
	Bound  uint64 // what it was held against; its meaning is in Detail
	Offset uint64 // where in the file, in bytes; 0 if not known
	Detail string // the rule, as a phrase that Bound completes
	Text   string // found and wanted, where they are no numbers; replaces Value
}

// Error says what, which, how much and what was allowed.
func (e *FormatError) Error() string {
	s := "gguf: "
	if e.Name != "" {
		s += strconv.Quote(e.Name) + ": "
	}
	s += e.What
	switch {
	case e.Text != "":
		s += " " + e.Text
	case e.Err == ErrMissing:
	default:
		s += fmt.Sprintf(" %d", e.Value)
	}
	s += ": " + e.Err.Error()
	if e.Detail != "" {
		s += fmt.Sprintf(" (%s %d)", e.Detail, e.Bound)
	}
	if e.Offset != 0 {
		s += fmt.Sprintf(" at byte %d", e.Offset)
	}
	return s
}

// Unwrap returns the sentinel.
func (e *FormatError) Unwrap() error { return e.Err }

// FaultError reports that bytes of a mapped file could not be read: it was cut
// short, or its device failed, after it was opened.
type FaultError struct {
	Name   string // the tensor, or "" for the header
	Offset uint64 // the first unreadable byte, as the fault told it
	Size   uint64 // bytes the file had when it was opened
}

// Error says which, where and what to do.
func (e *FaultError) Error() string {
	what := "header"
	if e.Name != "" {
		what = "tensor " + strconv.Quote(e.Name)
	}
	return fmt.Sprintf("gguf: %s: byte %d of %d can't be read any more: the file was cut short or its device failed after it was opened; do not rewrite a model file in place", what, e.Offset, e.Size)
}

// Unwrap returns ErrTruncated.
func (e *FaultError) Unwrap() error { return ErrTruncated }
