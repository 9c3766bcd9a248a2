package gguf

import (
	"bytes"
	"sort"

	"github.com/paddock-go/paddock/internal/filemap"
)

// segment is one file's bytes among those of all parts, laid end to end:
//
//	       base                 base+dataAt
//	───────┬────────────────────┬──────────────────┬───────
//	 part  │ header of this one │ its tensors      │ part
//	───────┴────────────────────┴──────────────────┴───────
type segment struct {
	base   uint64
	dataAt uint64
	bytes  *filemap.Map
}

// locate finds the bytes of t: its segment and its place there. t may be of
// another file, or made up.
func (f *File) locate(t TensorInfo) (s segment, at uint64, err error) {
	i := sort.Search(len(f.segments), func(i int) bool { return f.segments[i].base > t.Offset })
	if i > 0 {
		s = f.segments[i-1]
		at = t.Offset - s.base
		if size := s.bytes.Size(); at >= s.dataAt && at <= size && t.Size <= size-at {
			return s, at, nil
		}
	}
	return s, 0, &FormatError{Err: ErrTruncated, What: "tensor bytes", Name: clip([]byte(t.Name)), Value: t.Size, Offset: t.Offset, Detail: "not of this file, whose size is", Bound: f.size}
}

// Data returns the tensor's bytes in place. They are good until Close; reading
// them faults if a mapped file was cut short, so prefer ReadTensor.
func (f *File) Data(t TensorInfo) (view []byte, err error) {
	if f.source != nil {
		err = f.assembled(t, func(data []byte) error {
			view = bytes.Clone(data)
			return nil
		})
		return view, err
	}
	s, at, ferr := f.locate(t)
	err = s.use(f, func(data []byte) error {
		if ferr == nil {
			view = data[at : at+t.Size : at+t.Size]
		}
		return ferr
	})
	return view, err
}

// use is the segment's Use; that of a file's first one where there is no segment,
// so that a closed file is told as such whatever was asked for.
func (s *segment) use(f *File, fn func(data []byte) error) error {
	if s.bytes == nil {
		return f.segments[0].bytes.Use(fn)
	}
	return s.bytes.Use(fn)
}

// ReadTensor calls fn with the tensor's bytes, which fn must neither keep nor
// change; it may Drop them. If they can't be read, because the file was cut
// short after Open, it returns a *FaultError, and what fn made so far is to be
// thrown away. Only the calling goroutine is so guarded: helpers that fn starts
// must call ReadTensor themselves. Safe for concurrent use.
func (f *File) ReadTensor(t TensorInfo, fn func(data []byte) error) error {
	if f.source != nil {
		return f.assembled(t, fn)
	}
	s, at, err := f.locate(t)
	if err != nil {
		return s.use(f, func([]byte) error { return err })
	}
	return s.bytes.Read(faultOf(t.Name, s.bytes), func(data []byte) error { return fn(data[at : at+t.Size : at+t.Size]) })
}

// faultOf makes the error of a file that was cut short.
func faultOf(name string, m *filemap.Map) func(off uint64) error {
	return func(off uint64) error { return &FaultError{Name: name, Offset: off, Size: m.Size()} }
}

// Drop tells the kernel that the tensor's bytes are not needed soon, so that a
// mapped file stops counting as this process's memory. Reading them later is
// still right, only slow. A part of a tensor is dropped by narrowing t's Offset
// and Size. Does nothing where there is nothing to tell. Safe for concurrent
// use, also from a ReadTensor callback.
func (f *File) Drop(t TensorInfo) {
	if f.source != nil {
		return // what can be dropped, the source has dropped
	}
	if s, at, err := f.locate(t); err == nil {
		s.bytes.Drop(at, t.Size)
	}
}
