package gguf

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Identity tells what file it is without reading its tensors: the path of the first
// part, and a hash over each part's size, times and inode, the header and where all
// tensors lie. False for what is no file of the system, for a folder, and where
// a part has changed since Open. Safe for concurrent use.
func (f *File) Identity() (path string, sum [sha256.Size]byte, ok bool) {
	if f.source != nil {
		return "", sum, false // what is made of a folder's tensors is not in their files
	}
	h := sha256.New()
	for i, s := range f.segments {
		stamp, ok := s.bytes.Stamp()
		if !ok {
			return "", sum, false
		}
		if i == 0 {
			path = stamp.Path
		}
		_ = binary.Write(h, binary.LittleEndian, [4]int64{stamp.Size, stamp.Modified, stamp.Changed, int64(stamp.Inode)})
	}
	h.Write(f.meta)
	for _, t := range f.Tensors { // also those of later parts, whose headers are not in meta
		fmt.Fprintf(h, "%q %d %d %d %d\n", t.Name, t.Type, t.Dims, t.Offset, t.Size)
	}
	h.Sum(sum[:0])
	return path, sum, true
}
