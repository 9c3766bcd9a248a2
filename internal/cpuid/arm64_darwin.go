//go:build arm64 && !noasm

package cpuid

// hasDotProd: every processor that macOS runs on has them.
func hasDotProd() bool { return true }
