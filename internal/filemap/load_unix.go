//go:build linux || darwin

package filemap

import (
	"fmt"
	"os"
	"syscall"
)

// load maps the file for reading. A mapping costs address space, not memory,
// and outlives the descriptor.
func load(path string) (data []byte, mapped bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	n := st.Size()
	if n == 0 {
		return nil, false, nil // can't be mapped; too short to be a file anyway
	}
	if int64(int(n)) != n {
		return nil, false, fmt.Errorf("%s: %d bytes don't fit this machine's addresses", path, n)
	}
	data, err = syscall.Mmap(int(f.Fd()), 0, int(n), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, false, fmt.Errorf("%s: mapping %d bytes: %w", path, n, err)
	}
	return data, true, nil
}

func unload(data []byte) error { return syscall.Munmap(data) }
