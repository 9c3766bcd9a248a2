//go:build noasm || !(amd64 || arm64)

package kern

// attendCalls is the memory of the arguments of attention's assembly: none.
type attendCalls struct{}
