//go:build !noasm

package cpu

// pause leaves the core to its other thread for some ten nanoseconds: a helper
// that watches must not slow the worker it waits for.
//
//go:noescape
func pause()
