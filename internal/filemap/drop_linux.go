package filemap

import (
	"os"
	"syscall"
)

// drop lets go of the pages that n bytes at off touch. Pages shared with a
// neighbour go too: they are clean and come back at the next read.
func drop(data []byte, off, n uint64) {
	page := uint64(os.Getpagesize())
	lo := off &^ (page - 1)
	hi := min((off+n+page-1)&^(page-1), uint64(len(data)))
	if lo < hi {
		// Advice: if the kernel won't take it, nothing is lost but memory.
		_ = syscall.Madvise(data[lo:hi], syscall.MADV_DONTNEED)
	}
}
