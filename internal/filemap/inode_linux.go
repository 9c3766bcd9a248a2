package filemap

import (
	"io/fs"
	"syscall"
)

// inodeOf is a file's number within its file system and the time of its last
// change of any kind.
func inodeOf(st fs.FileInfo) (inode uint64, changed int64) {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return s.Ino, s.Ctim.Nano()
	}
	return 0, 0
}
