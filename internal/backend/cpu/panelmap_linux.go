package cpu

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const canMapPanels = true

// openPanels opens what lies in a cache's place, which need not be a file: a pipe
// that nobody writes to would else be waited for.
func openPanels(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// processPlace names the space of process numbers that this process has its own in:
// the machine since it was started, and the container. "" where that is not known.
var processPlace = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, err2 := os.Readlink("/proc/self/ns/pid")
	if err != nil || err2 != nil {
		return ""
	}
	sum := sha256.Sum256(append(boot, space...))
	return fmt.Sprintf("%x", sum[:6])
})

// processEnded tells whether there is no process of that number.
func processEnded(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

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
