package gguf

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/filemap"
)

// Source gives the bytes of an assembled file's tensors. Both methods may be called
// from many goroutines.
type Source interface {
	// ReadTensor calls fn with the bytes of a tensor, which fn neither keeps nor changes.
	ReadTensor(name string, fn func(data []byte) error) error
	// Made is how many bytes of memory ReadTensor takes for a tensor's bytes; 0: it
	// views what is there.
	Made(name string) uint64
	Close() error
}

// Assemble makes a file of a header, as ggufwrite.Header writes it for total bytes,
// and of tensors that are no part of any GGUF file: a model of another format is
// read as if it were one. The source is closed with the file; after a fault it stays
// the caller's. header must not be changed. Data copies.
func Assemble(header []byte, total uint64, src Source) (*File, error) {
	h, ferr := scan(header, total)
	if ferr != nil {
		return nil, ferr
	}
	f := &File{Version: h.version, Alignment: h.align, size: total, meta: header, source: src,
		segments: []segment{{dataAt: h.data, bytes: filemap.New(nil)}}}
	if f.keys, f.tensors, ferr = order(header, total, &h); ferr != nil {
		return nil, ferr
	}
	f.index(&h)
	return f, nil
}

// assembled reads a tensor of an assembled file, whole ones alone.
func (f *File) assembled(t TensorInfo, fn func(data []byte) error) error {
	return f.segments[0].bytes.Use(func([]byte) error {
		own, ok := f.Tensor(t.Name)
		if !ok || own.Offset != t.Offset || own.Size != t.Size {
			return &FormatError{Err: ErrTruncated, What: "tensor bytes", Name: clip([]byte(t.Name)), Value: t.Size, Offset: t.Offset, Detail: "not a tensor of this file, whose size is", Bound: f.size}
		}
		return f.source.ReadTensor(t.Name, func(data []byte) error {
			if uint64(len(data)) != own.Size {
				return fmt.Errorf("gguf: tensor %q: %d bytes were made, its shape takes %d", own.Name, len(data), own.Size)
			}
			return fn(data)
		})
	})
}

// Made is how many bytes of memory ReadTensor takes for a tensor's bytes: those of
// an assembled file may have to be made. 0: they are viewed in place. Safe for
// concurrent use.
func (f *File) Made(t TensorInfo) uint64 {
	if f.source == nil {
		return 0
	}
	return f.source.Made(t.Name)
}
