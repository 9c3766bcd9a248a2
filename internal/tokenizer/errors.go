package tokenizer

import (
	"errors"
	"fmt"
)

// Sentinels that a *VocabError unwraps to.
var (
	// ErrUnsupported: the vocabulary names a model or pre-tokenizer that this package lacks.
	ErrUnsupported = errors.New("tokenizer: not supported")
	// ErrVocab: the vocabulary contradicts itself or lacks a part.
	ErrVocab = errors.New("tokenizer: bad vocabulary")
)

// VocabError says which entry of a vocabulary New refused and why. It unwraps to
// ErrUnsupported or ErrVocab.
type VocabError struct {
	Field  string // the Vocab field at fault
	Index  int    // the entry within it, or -1
	Value  string // what stood there, shortened; may be empty
	Reason string
	kind   error
}

func (e *VocabError) Error() string {
	s := "tokenizer: " + e.Field
	if e.Index >= 0 {
		s += fmt.Sprintf("[%d]", e.Index)
	}
	if e.Value != "" {
		s += fmt.Sprintf(" %q", e.Value)
	}
	return s + ": " + e.Reason
}

// Unwrap returns the sentinel.
func (e *VocabError) Unwrap() error { return e.kind }

func badVocab(field string, index int, value, format string, args ...any) error {
	return &VocabError{field, index, shorten(value), fmt.Sprintf(format, args...), ErrVocab}
}

func unsupported(field, value, format string, args ...any) error {
	return &VocabError{field, -1, shorten(value), fmt.Sprintf(format, args...), ErrUnsupported}
}

// shorten keeps error texts readable when a hostile file holds a megabyte string.
func shorten(s string) string {
	if len(s) > 64 {
		return s[:61] + "..."
	}
	return s
}
