package cpu

import "syscall"

// mapMemory asks for 2 MiB pages: a step walks all weights once, and with 4 KiB
// pages a tenth of that time goes into address translation.
func mapMemory(n int) ([]byte, func() error, error) {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	// Advice: small pages work too.
	_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE)
	return b, func() error { return syscall.Munmap(b) }, nil
}
