//go:build !((linux || darwin || windows) && (amd64 || arm64)) || android

package dl

import (
	"errors"
	"fmt"
	"runtime"
)

func load(string) (uintptr, error) {
	return 0, fmt.Errorf("libraries are not loaded on %s/%s: %w", runtime.GOOS, runtime.GOARCH, errors.ErrUnsupported)
}

// No library is ever open here, so nothing below is reached.

func find(uintptr, string) (uintptr, error) { return 0, errors.ErrUnsupported }

func bind(any, uintptr) {}

func unload(uintptr) error { return errors.ErrUnsupported }

// Call4 is not reached: there is no address to call.
func (c *Caller) Call4(_, _, _, _, _ uintptr) uintptr { panic("dl: no library can be loaded here") }

// Call12 is not reached either.
func (c *Caller) Call12(_, _, _, _, _, _, _, _, _, _, _, _, _ uintptr) uintptr {
	panic("dl: no library can be loaded here")
}
