//go:build !linux

package engine

// availableMemory is a guess: only Linux says what a process can still take
// without a call into the C library.
func availableMemory() int64 { return assumedMemory }
