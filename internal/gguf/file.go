package gguf

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
)

// TensorInfo describes a tensor of a file. Data holds the values with the
// first dimension contiguous: a matrix of Dims {in, out} is out rows of in
// values.
type TensorInfo struct {
	Name   string
	Type   uint32   // format, see LayoutOf
	Dims   []uint64 // 1 to 4, none zero; the first is a multiple of the format's block
	Offset uint64   // of the data, in bytes from the start of the file
	Size   uint64   // of the data, in bytes
}

// Elems returns the number of values.
func (t *TensorInfo) Elems() uint64 {
	n := uint64(1)
	for _, d := range t.Dims {
		n *= d // checked against the file's size at Open
	}
	return n
}

// File is an open GGUF file. Keys and descriptions live in memory; tensor data
// are viewed in place until Close. All methods but Close may be called from
// many goroutines; the fields are not to be changed.
type File struct {
	Version   uint32
	Alignment uint64
	Tensors   []TensorInfo // in the file's order

	size    uint64
	meta    []byte   // copy of the header; never written to
	dataAt  uint64   // start of the tensor data in the file
	names   []string // keys in the file's order
	keys    []uint64 // positions in meta, by name
	tensors []uint64 // indices of Tensors, by name

	mapped bool
	data   []byte         // the whole file; read under use
	users  sync.WaitGroup // calls that touch data now; Close waits for them

	mu     sync.Mutex
	closed bool // no further users
}

// use runs fn while data stay mapped. It nests: no lock is held meanwhile, so
// a reader may drop what it has read.
func (f *File) use(fn func() error) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return ErrClosed
	}
	f.users.Add(1)
	f.mu.Unlock()
	defer f.users.Done()
	return fn()
}

// Parse reads a file that is in memory. It keeps data, which must not be
// changed before Close. Faults are *FormatError. Safe for concurrent use.
func Parse(data []byte) (*File, error) { return parse(data) }

// Open maps the file (on Windows it is read into memory) and checks it. Faults
// of the file are *FormatError or, if it shrinks meanwhile, *FaultError. Safe
// for concurrent use.
func Open(path string) (*File, error) {
	// A pipe would block in open, a device could be of any size.
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("gguf: %s is not a regular file (%v)", path, st.Mode().Type())
	}
	data, mapped, err := load(path)
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	var f *File
	err = guard(data, "", uint64(len(data)), func() (err error) {
		f, err = parse(data)
		return err
	})
	if err != nil {
		if mapped {
			unload(data)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.mapped = mapped
	return f, nil
}

// OpenFS reads the named file of fsys into memory and checks it. Safe for
// concurrent use.
func OpenFS(fsys fs.FS, name string) (*File, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	f, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// Close gives the data back, after waiting for running ReadTensor calls; calls
// that come later get ErrClosed. What Data returned must not be touched any
// more; keys and descriptions remain. A second call does nothing. Must not be
// called from a ReadTensor callback, which it would wait for.
func (f *File) Close() error {
	f.mu.Lock()
	closed := f.closed
	f.closed = true
	f.mu.Unlock()
	f.users.Wait()
	if closed || !f.mapped {
		return nil
	}
	return unload(f.data)
}

// Size returns the file's size in bytes.
func (f *File) Size() uint64 { return f.size }

// Tensor finds a tensor by its name.
func (f *File) Tensor(name string) (TensorInfo, bool) {
	i, ok := sort.Find(len(f.tensors), func(i int) int {
		return strings.Compare(name, f.Tensors[f.tensors[i]].Name)
	})
	if !ok {
		return TensorInfo{}, false
	}
	return f.Tensors[f.tensors[i]], true
}

// Keys returns the names of all keys in the file's order.
func (f *File) Keys() []string { return slices.Clone(f.names) }

// Data returns the tensor's bytes in place. They are good until Close; reading
// them faults if a mapped file was cut short, so prefer ReadTensor.
func (f *File) Data(t TensorInfo) (data []byte, err error) {
	err = f.use(func() (err error) {
		data, err = f.view(t)
		return err
	})
	return data, err
}

// view is Data within use. t may be of another file, or made up.
func (f *File) view(t TensorInfo) ([]byte, error) {
	if t.Offset < f.dataAt || t.Offset > f.size || t.Size > f.size-t.Offset {
		return nil, &FormatError{Err: ErrTruncated, What: "tensor bytes", Name: clip([]byte(t.Name)), Value: t.Size, Offset: t.Offset, Detail: "not of this file, whose size is", Bound: f.size}
	}
	return f.data[t.Offset : t.Offset+t.Size : t.Offset+t.Size], nil
}

// ReadTensor calls fn with the tensor's bytes, which fn must neither keep nor
// change; it may Drop them. If they can't be read, because the file was cut
// short after Open, it returns a *FaultError, and what fn made so far is to be
// thrown away. Only the calling goroutine is so guarded: helpers that fn starts
// must call ReadTensor themselves. Safe for concurrent use.
func (f *File) ReadTensor(t TensorInfo, fn func(data []byte) error) error {
	return f.use(func() error {
		data, err := f.view(t)
		if err != nil {
			return err
		}
		return guard(f.data, t.Name, f.size, func() error { return fn(data) })
	})
}

// Drop tells the kernel that the tensor's bytes are not needed soon, so that a
// mapped file stops counting as this process's memory. Reading them later is
// still right, only slow. A part of a tensor is dropped by narrowing t's Offset
// and Size. Does nothing where there is nothing to tell. Safe for concurrent
// use, also from a ReadTensor callback.
func (f *File) Drop(t TensorInfo) {
	_ = f.use(func() error {
		if _, err := f.view(t); err == nil && f.mapped {
			drop(f.data, t.Offset, t.Size)
		}
		return nil
	})
}
