//go:build !linux

package fakedriver

// thread would tell the calling thread from others; where the standard library can't,
// all count as one, and a call from the wrong thread goes unseen.
func thread() int { return 0 }
