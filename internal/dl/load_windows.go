//go:build amd64 || arm64

package dl

import (
	"strings"

	"golang.org/x/sys/windows"
)

// load takes a bare name from the system's folder alone; a library given by its path
// finds what it needs beside itself.
func load(name string) (uintptr, error) {
	var flags uintptr = windows.LOAD_LIBRARY_SEARCH_SYSTEM32
	if strings.ContainsAny(name, `\/`) {
		flags |= windows.LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR
	}
	handle, err := windows.LoadLibraryEx(name, 0, flags)
	return uintptr(handle), err
}

func find(handle uintptr, symbol string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(handle), symbol)
}

func unload(handle uintptr) error { return windows.FreeLibrary(windows.Handle(handle)) }
