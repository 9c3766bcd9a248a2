//go:build noasm || !(amd64 || arm64)

package cpuid

// detect reports nothing: this build has no kernels to choose.
func detect() Features { return Features{} }
