//go:build (linux || darwin) && (amd64 || arm64) && !android

package dl

import "github.com/ebitengine/purego"

// load resolves all that the library needs at once, so that one that can't run here
// fails now and not in a call, and keeps its symbols to itself.
func load(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func find(handle uintptr, symbol string) (uintptr, error) { return purego.Dlsym(handle, symbol) }

func unload(handle uintptr) error { return purego.Dlclose(handle) }
