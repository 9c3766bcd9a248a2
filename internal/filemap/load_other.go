//go:build !linux && !darwin

package filemap

import "os"

// load reads the file into memory.
func load(path string) (data []byte, mapped bool, err error) {
	data, err = os.ReadFile(path)
	return data, false, err
}

func unload([]byte) error { return nil }
