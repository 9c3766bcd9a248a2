package dl

import (
	"fmt"
	"strings"
)

// OpenError says that none of the candidates could be loaded.
type OpenError struct {
	Tried []Attempt // in the order in which they were tried
}

// Attempt is a candidate and why it was not taken.
type Attempt struct {
	Name string
	Err  error
}

func (e *OpenError) Error() string {
	if len(e.Tried) == 0 {
		return "dl: no library to load: no candidate was given"
	}
	var b strings.Builder
	b.WriteString("dl: no library could be loaded: ")
	for i, a := range e.Tried {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%q: %v", a.Name, a.Err)
	}
	return b.String()
}

func (e *OpenError) Unwrap() []error {
	errs := make([]error, len(e.Tried))
	for i, a := range e.Tried {
		errs[i] = a.Err
	}
	return errs
}

// SymbolError says that a library lacks a symbol, as one of an older version does.
type SymbolError struct {
	Library, Symbol string
	Err             error // the loader's words; may be nil
}

func (e *SymbolError) Error() string {
	return fmt.Sprintf("dl: %s has no symbol %s", e.Library, e.Symbol)
}

func (e *SymbolError) Unwrap() error { return e.Err }
