//go:build !linux

package metrics

// osProcessStart: elsewhere the package's own start, a few milliseconds later, has to do.
func osProcessStart() (float64, bool) { return 0, false }
