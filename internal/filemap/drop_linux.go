package filemap

import "syscall"

// dropAlign is the largest page of the system's cache that one fault maps: what is
// around the bytes that were read is as resident as they are.
const dropAlign = 2 << 20

// drop lets go of n bytes at off and of what was mapped with them. Neighbours that
// are still wanted go too: they are clean and come back at the next read.
func drop(data []byte, off, n uint64) {
	lo := off &^ (dropAlign - 1)
	hi := min((off+n+dropAlign-1)&^(dropAlign-1), uint64(len(data)))
	if lo < hi {
		// Advice: if the kernel won't take it, nothing is lost but memory.
		_ = syscall.Madvise(data[lo:hi], syscall.MADV_DONTNEED)
	}
}
