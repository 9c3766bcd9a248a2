package chat

import (
	"fmt"
	"strings"
)

// SyntaxError says that a template's source can't be compiled. Safe for
// concurrent use.
type SyntaxError struct {
	Line    int // from 1
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("chat: template line %d: %s", e.Line, e.Message)
}

// LimitError says that a template, or a value it worked on, went beyond one of
// its limits. It tells which and how much was allowed. Safe for concurrent use.
type LimitError struct {
	What  string // "steps", "bytes of output", …
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("chat: template needs more than its limit of %d %s", e.Limit, e.What)
}

// RaiseError says that the template itself refused its input, by calling
// raise_exception; Message is exactly what it gave. Safe for concurrent use.
type RaiseError struct {
	Message string
}

func (e *RaiseError) Error() string {
	return "chat: template refused the messages: " + e.Message
}

// RuntimeError says that the template did something impossible with the values
// it got: added a list to a string, read an attribute of something undefined.
// Safe for concurrent use.
type RuntimeError struct {
	Line    int // of the innermost statement, from 1; 0 where unknown
	Message string
}

func (e *RuntimeError) Error() string {
	if e.Line == 0 {
		return "chat: template failed: " + e.Message
	}
	return fmt.Sprintf("chat: template line %d failed: %s", e.Line, e.Message)
}

// JSONError says where a text stopped being JSON that DecodeJSON takes.
// Safe for concurrent use.
type JSONError struct {
	Offset  int // in bytes
	Message string
}

func (e *JSONError) Error() string {
	return fmt.Sprintf("chat: json at byte %d: %s", e.Offset, e.Message)
}

// failf makes an error. A template can make many that nobody sees: they say no more
// of a long string than its beginning.
func failf(format string, a ...any) error {
	for i, x := range a {
		if s, ok := x.(string); ok {
			a[i] = clip(s)
		}
	}
	return &RuntimeError{Message: fmt.Sprintf(format, a...)}
}

// unlessLimit says what went wrong in other words, unless it was a limit.
func unlessLimit(err error, msg string) error {
	if _, ok := err.(*LimitError); ok {
		return err
	}
	return failf("%s", msg)
}

// clip cuts a long string short.
func clip(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	return strings.ToValidUTF8(s[:maxQuoted], "") + "…"
}

// quoted is the repr of a name, for an error.
func quoted(s string) string { return reprString(clip(s)) }
