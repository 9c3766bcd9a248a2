package cpu

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const canMapPanels = true

// mapPanels views a part of a file, which may be closed then: pages of the system's
// cache, that all processes share which map the file.
func mapPanels(f *os.File, at int64, n int) (*memory, error) {
	if n == 0 {
		return &memory{}, nil
	}
	b, err := syscall.Mmap(int(f.Fd()), at, n, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	// Advice: small pages, and reading them one after another, work too.
	_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE)
	_ = syscall.Madvise(b, syscall.MADV_WILLNEED)
	return &memory{bytes: b, free: func() error { return syscall.Munmap(b) }}, nil
}

// touchPanels maps the pages of a part at once and not each at its first use.
func touchPanels(part []byte) { _ = syscall.Madvise(part, unix.MADV_POPULATE_READ) }
