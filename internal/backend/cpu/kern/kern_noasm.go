//go:build noasm || !(amd64 || arm64)

package kern

func supported() []Level { return []Level{Portable} }

// choose has nothing to choose from.
func choose(*Kernels, Level) {}
