//go:build noasm || !linux || !amd64

package cpuid

// permitTiles: there is no way to ask that has been tried.
func permitTiles() bool { return false }
