package gguf

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"

	"github.com/paddock-go/paddock/internal/filemap"
)

// TensorInfo describes a tensor of a file. Data holds the values with the
// first dimension contiguous: a matrix of Dims {in, out} is out rows of in
// values.
type TensorInfo struct {
	Name   string
	Type   uint32   // format, see LayoutOf
	Dims   []uint64 // 1 to 4, none zero; the first is a multiple of the format's block
	Offset uint64   // of the data, in bytes from the start of the file; of a split one, of its parts laid end to end
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

	size    uint64   // of all parts
	meta    []byte   // copy of the header; never written to
	names   []string // keys in the file's order
	keys    []uint64 // positions in meta, by name
	tensors []uint64 // indices of Tensors, by name

	segments []segment // by base; one a part
	source   Source    // of an assembled file: in place of the segments' data
}

// Parse reads a file that is in memory. It keeps data, which must not be
// changed before Close. Faults are *FormatError. Safe for concurrent use.
// A part of a split file is only that part here.
func Parse(data []byte) (*File, error) { return parse(data) }

// Open maps the file (on Windows it is read into memory) and checks it. A file
// that is split into parts NAME-00001-of-0000N.gguf is opened by the name of its
// first one, and is one file from then on. Faults of a file are *FormatError or,
// if it shrinks meanwhile, *FaultError; faults of a set of parts *SplitError. Safe
// for concurrent use.
func Open(path string) (*File, error) { return openSet(path, filemap.Open) }

// OpenFS is Open with files of fsys, read into memory. Safe for concurrent use.
func OpenFS(fsys fs.FS, name string) (*File, error) {
	return openSet(name, func(name string) (*filemap.Map, error) { return filemap.OpenFS(fsys, name) })
}

// openSet opens a file and the parts that it names.
func openSet(name string, load func(name string) (*filemap.Map, error)) (*File, error) {
	open := func(name string) (*File, error) {
		m, err := load(name)
		if err != nil {
			return nil, fmt.Errorf("gguf: %w", err)
		}
		return fromMap(m, name)
	}
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	if err := f.openParts(name, open); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close gives the data back, after waiting for running ReadTensor calls; calls
// that come later get ErrClosed. What Data returned must not be touched any
// more; keys and descriptions remain. A second call does nothing. Must not be
// called from a ReadTensor callback, which it would wait for.
func (f *File) Close() error {
	var errs []error
	for _, s := range f.segments {
		errs = append(errs, s.bytes.Close())
	}
	if f.source != nil {
		errs = append(errs, f.source.Close())
	}
	return errors.Join(errs...)
}

// Size returns the file's size in bytes, of all parts where it is split.
func (f *File) Size() uint64 { return f.size }

// Parts returns how many files it is split into: 1 where it is not.
func (f *File) Parts() int { return len(f.segments) }

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
