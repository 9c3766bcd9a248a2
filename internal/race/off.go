//go:build !race

package race

// Enabled tells whether this is a race build.
const Enabled = false

func read[E any]([]E)  {}
func write[E any]([]E) {}
