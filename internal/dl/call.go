//go:build (linux || darwin || windows) && (amd64 || arm64) && !android

package dl

import "github.com/ebitengine/purego"

// Call4 calls the C function at fn, as Lookup gave it, and returns its result. Of a
// function that returns an int, only the low 32 bits count. One of fewer arguments
// gets zeros for the rest, which it doesn't see.
//
// Arguments are integers and pointers, no floats. A pointer to Go memory is written
// uintptr(unsafe.Pointer(p)) in the call itself: only then it lives, and stays where
// it is, until the function returns.
//
//go:uintptrescapes
func (c *Caller) Call4(fn, a1, a2, a3, a4 uintptr) uintptr {
	c.args[0], c.args[1], c.args[2], c.args[3] = a1, a2, a3, a4
	r, _, _ := purego.SyscallN(fn, c.args[:4]...)
	return r
}

// Call12 is Call4 for functions of up to MaxArgs arguments.
//
//go:uintptrescapes
func (c *Caller) Call12(fn, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12 uintptr) uintptr {
	c.args = [MaxArgs]uintptr{a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12}
	r, _, _ := purego.SyscallN(fn, c.args[:]...)
	return r
}

func bind(fptr any, fn uintptr) { purego.RegisterFunc(fptr, fn) }
