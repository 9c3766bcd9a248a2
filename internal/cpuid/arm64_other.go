//go:build arm64 && !noasm && !linux && !darwin && !windows

package cpuid

// hasDotProd: there is no way to ask within reach.
func hasDotProd() bool { return false }
