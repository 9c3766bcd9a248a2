// Package dl loads C libraries at run time and calls them, without cgo and also
// with CGO_ENABLED=0. It alone knows purego. It works on Linux, macOS and Windows,
// amd64 and arm64; elsewhere it builds, and Open is an ordinary error.
//
// A function that is called seldom is bound to a typed Go func by Bind: such a call
// goes through reflection and allocates. One that is called in every step is looked
// up once and called through a Caller, which allocates nothing.
//
// A program that imports this package depends on the C library's loader.
package dl

import "errors"

// Library is a loaded library. It may be used by several goroutines at once, Close
// excepted.
type Library struct {
	name   string
	handle uintptr
}

// Open loads the first of candidates that can be loaded. A name without a slash is
// looked for where the system looks for libraries; on Windows that is the system's
// own folder alone, so that no file beside the program takes its place. The error is
// an *OpenError.
func Open(candidates ...string) (*Library, error) {
	var tried []Attempt
	for _, name := range candidates {
		if name == "" { // to the loader an empty name is the program itself
			tried = append(tried, Attempt{name, errors.New("the name is empty")})
			continue
		}
		handle, err := load(name)
		if err == nil {
			return &Library{name: name, handle: handle}, nil
		}
		tried = append(tried, Attempt{name, err})
	}
	return nil, &OpenError{Tried: tried}
}

// Name is the candidate that was loaded.
func (l *Library) Name() string { return l.name }

// Lookup finds the address of a symbol of exactly this name. The error is a
// *SymbolError: libraries of other versions lack some.
func (l *Library) Lookup(name string) (uintptr, error) {
	fn, err := find(l.handle, name)
	if err != nil || fn == 0 {
		return 0, &SymbolError{Library: l.name, Symbol: name, Err: err}
	}
	return fn, nil
}

// Bind looks name up and sets the func that fptr points to to one that calls it.
// Where the symbol is missing, fptr stays as it was and the error is a *SymbolError.
//
// The func's type must be the C function's: uint32 for unsigned int, unsafe.Pointer
// or a pointer for a pointer, string for a const char * that is only read during the
// call. Nothing can check that. It panics if fptr points to no func.
func (l *Library) Bind(name string, fptr any) error {
	fn, err := l.Lookup(name)
	if err != nil {
		return err
	}
	bind(fptr, fn)
	return nil
}

// Close unloads the library. No function of it may be called afterwards, or be
// running.
func (l *Library) Close() error {
	handle := l.handle
	l.handle = 0
	if handle == 0 {
		return nil
	}
	return unload(handle)
}
