package safetensors

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/paddock-go/paddock/internal/filemap"
)

// File is an open file. All methods but Close may be called from many goroutines;
// the fields are not to be changed.
type File struct {
	Tensors []Tensor // by name
	bytes   *filemap.Map
}

// New reads the file that m holds, which is closed with the File, and at once if
// there is a fault: an *Error, or one of a file that was cut short meanwhile. It
// allocates at most a few dozen bytes per byte of the header. Safe for concurrent
// use.
func New(m *filemap.Map) (*File, error) {
	f := &File{bytes: m}
	err := m.Read(cut(m, ""), func(data []byte) (err error) {
		f.Tensors, err = parse(data)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return f, nil
}

// cut makes the error of a file that was cut short after it was opened.
func cut(m *filemap.Map, tensor string) func(off uint64) error {
	return func(off uint64) error {
		return fault(ErrTruncated, tensor, "byte %d of %d can't be read any more: the file was cut short or its device failed after it was opened", off, m.Size())
	}
}

// Tensor finds a tensor by its name.
func (f *File) Tensor(name string) (Tensor, bool) {
	i, ok := slices.BinarySearchFunc(f.Tensors, name, func(t Tensor, name string) int { return cmp.Compare(t.Name, name) })
	if !ok {
		return Tensor{}, false
	}
	return f.Tensors[i], true
}

// Read calls fn with the bytes of a tensor, which fn must neither keep nor change.
// If they can't be read any more it returns an *Error, and what fn made so far is
// to be thrown away. Only the calling goroutine is so guarded.
func (f *File) Read(t Tensor, fn func(data []byte) error) error {
	size := f.bytes.Size()
	if t.at > size || t.Size > size-t.at {
		return fmt.Errorf("safetensors: tensor %q is not of this file", clip(t.Name))
	}
	return f.bytes.Read(cut(f.bytes, t.Name), func(data []byte) error { return fn(data[t.at : t.at+t.Size : t.at+t.Size]) })
}

// Drop lets go of a tensor's memory until it is read again.
func (f *File) Drop(t Tensor) {
	if size := f.bytes.Size(); t.at <= size && t.Size <= size-t.at {
		f.bytes.Drop(t.at, t.Size)
	}
}

// Close gives the bytes back, after waiting for running reads.
func (f *File) Close() error { return f.bytes.Close() }
