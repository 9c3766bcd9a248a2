//go:build noasm || !amd64

package cpu

// pause does nothing: there is no instruction for it within reach.
func pause() {}
