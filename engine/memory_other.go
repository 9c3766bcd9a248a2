//go:build !linux

package engine

// availableMemory is not known: only Linux says what a process can still take
// without a call into the C library.
func availableMemory() (int64, bool) { return 0, false }
