//go:build race

package race

import (
	"runtime"
	"unsafe"
)

// Enabled tells whether this is a race build.
const Enabled = true

func read[E any](s []E) {
	if n := len(s) * int(unsafe.Sizeof(*new(E))); n > 0 {
		runtime.RaceReadRange(unsafe.Pointer(unsafe.SliceData(s)), n)
	}
}

func write[E any](s []E) {
	if n := len(s) * int(unsafe.Sizeof(*new(E))); n > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(unsafe.SliceData(s)), n)
	}
}
