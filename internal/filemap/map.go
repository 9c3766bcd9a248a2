// Package filemap views whole files in place. Where the system can it maps
// them, which costs address space and no memory; a file that is cut short
// meanwhile is an error of its reader and not a crash. It knows no format: the
// readers of model files share it.
package filemap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// ErrClosed is returned for data of a closed file.
var ErrClosed = errors.New("model file is closed")

// Map is the bytes of one file. All methods may be called from many goroutines.
type Map struct {
	data   []byte // the whole file; read under Use
	mapped bool
	stamp  Stamp
	users  sync.WaitGroup // calls that touch data now; Close waits for them

	mu     sync.Mutex
	closed bool // no further users
}

// Open maps the file at path for reading; on systems without mappings it is read
// into memory. Only a regular file is opened: a pipe would block, a device could
// be of any size.
func Open(path string) (*Map, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file (%v)", path, st.Mode().Type())
	}
	data, mapped, err := load(path)
	if err != nil {
		return nil, err
	}
	m := &Map{data: data, mapped: mapped}
	if whole, err := filepath.Abs(path); err == nil {
		m.stamp = stampOf(whole, st)
	}
	return m, nil
}

// Stamp tells a file of the system from others, and from itself before it was
// changed, as far as that can be told without reading it. Times are nanoseconds
// since 1970.
type Stamp struct {
	Path     string // absolute
	Size     int64
	Modified int64
	// On Linux also what no program can set as it likes: a copy with the times of
	// what it replaces (cp -p) differs in these. 0 elsewhere.
	Inode   uint64
	Changed int64 // of the bytes, or of the owner, the mode, the names or the time above
}

func stampOf(path string, st fs.FileInfo) Stamp {
	inode, changed := inodeOf(st)
	return Stamp{path, st.Size(), st.ModTime().UnixNano(), inode, changed}
}

// Stamp returns the file's stamp as it was at Open, and whether it has one and it
// still holds: bytes of a file system of Go have none.
func (m *Map) Stamp() (Stamp, bool) {
	if m.stamp.Path == "" || m.stamp.Size != int64(len(m.data)) {
		return m.stamp, false
	}
	st, err := os.Stat(m.stamp.Path)
	return m.stamp, err == nil && stampOf(m.stamp.Path, st) == m.stamp
}

// OpenFS reads the named file of fsys into memory.
func OpenFS(fsys fs.FS, name string) (*Map, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	return New(data), nil
}

// New keeps data, which must not be changed before Close.
func New(data []byte) *Map { return &Map{data: data} }

// Size is the number of bytes.
func (m *Map) Size() uint64 { return uint64(len(m.data)) }

// Use runs fn with all bytes, which stay mapped meanwhile. Reading them faults if
// the file was cut short: see Read. It nests, since no lock is held. ErrClosed
// after Close.
func (m *Map) Use(fn func(data []byte) error) error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	m.users.Add(1)
	m.mu.Unlock()
	defer m.users.Done()
	return fn(m.data)
}

// Read is Use with a guard: if bytes can't be read any more it returns the error
// that fault makes of the first such position, and what fn made so far is to be
// thrown away. Only the calling goroutine is so guarded.
func (m *Map) Read(fault func(off uint64) error, fn func(data []byte) error) error {
	return m.Use(func(data []byte) error {
		return guard(data, fault, func() error { return fn(data) })
	})
}

// Drop tells the kernel that n bytes at off, which must lie within the file, are
// not needed soon, so that they stop counting as this process's memory. Reading
// them later is still right, only slow. Does nothing where there is nothing to
// tell.
func (m *Map) Drop(off, n uint64) {
	_ = m.Use(func(data []byte) error {
		if m.mapped {
			drop(data, off, n)
		}
		return nil
	})
}

// Close gives the bytes back after waiting for running calls. A second call does
// nothing. Must not be called within Use, which it would wait for.
func (m *Map) Close() error {
	m.mu.Lock()
	closed := m.closed
	m.closed = true
	m.mu.Unlock()
	m.users.Wait()
	if closed || !m.mapped {
		return nil
	}
	return unload(m.data)
}
