package gguf

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/paddock-go/paddock/internal/filemap"
)

const alignKey = "general.alignment"

// header is what scanning a file's header yields: positions and counts, no
// copies. It is good for the bytes that were scanned and for no others.
type header struct {
	head
	keysAt    uint64 // first key
	tensorsAt uint64 // first tensor description
	end       uint64 // one past the last
	data      uint64 // start of the tensor data
	align     uint64
}

// scan checks the whole header in b, the beginning of a file of total bytes.
// It allocates nothing but an error.
func scan(b []byte, total uint64) (header, *FormatError) {
	s := scanner{b: b, total: total}
	h := header{align: defaultAlign}
	var ok bool
	if h.head, ok = s.head(); !ok {
		return h, s.err
	}
	h.keysAt = s.pos
	for range h.keys {
		kind, ok := s.key()
		if !ok {
			return h, s.err
		}
		if string(s.name) == alignKey && !s.alignment(kind, &h.align) {
			return h, s.err
		}
		if !s.value(kind, 0) {
			return h, s.err
		}
	}
	h.tensorsAt = s.pos
	for range h.tensors {
		if _, ok := s.tensor(); !ok {
			return h, s.err
		}
	}
	h.end = s.pos
	s.name, s.at = nil, h.end
	// No sum here can wrap: end is at most 2⁶³ and align at most 2³¹.
	h.data = (h.end + h.align - 1) &^ (h.align - 1)
	if h.tensors == 0 {
		h.data = min(h.data, total) // nothing to align; writers end the file here
	}
	if h.data > total {
		s.fail(ErrTruncated, "start of the tensor data", h.data, "bytes in the file:", total)
		return h, s.err
	}
	if !s.extents(&h) {
		return h, s.err
	}
	return h, nil
}

// alignment reads the value that follows without moving on.
func (s *scanner) alignment(kind Kind, align *uint64) bool {
	if kind != KindUint32 {
		return s.fail(ErrType, "alignment's type", uint64(kind), "must be uint32, type", uint64(KindUint32))
	}
	at := s.pos
	v, ok := s.u32("alignment")
	if !ok {
		return false
	}
	if bits.OnesCount32(v) != 1 {
		return s.fail(ErrInvalid, "alignment", uint64(v), "must be a power of two, at least", 1)
	}
	s.pos, *align = at, uint64(v)
	return true
}

// extents checks that every tensor lies within the data, aligned.
func (s *scanner) extents(h *header) bool {
	s.pos = h.tensorsAt
	room := s.total - h.data
	for range h.tensors {
		t, ok := s.tensor()
		if !ok {
			return false
		}
		switch {
		case t.offset%h.align != 0:
			return s.fail(ErrInvalid, "tensor offset", t.offset, "must be a multiple of the alignment", h.align)
		case t.offset > room:
			return s.fail(ErrTruncated, "tensor offset", t.offset, "bytes of tensor data in the file:", room)
		case t.size > room-t.offset:
			return s.fail(ErrTruncated, "tensor bytes", t.size, "bytes of tensor data left behind its offset:", room-t.offset)
		}
	}
	return true
}

// order returns the positions of the keys and of the tensors in b, each sorted
// by name, and fails on names that come twice and on tensors that overlap. Two
// tensors on the same bytes would let a small file ask for much memory. It
// takes 8 bytes an item, less than the item has in the file.
func order(b []byte, total uint64, h *header) (keys, tensors []uint64, err *FormatError) {
	s := scanner{b: b, total: total, pos: h.keysAt, v1: h.version == 1}
	keys = make([]uint64, h.keys)
	for i := range keys {
		keys[i] = s.pos
		kind, ok := s.key()
		if !ok || !s.value(kind, 0) {
			return nil, nil, s.err
		}
	}
	tensors = make([]uint64, h.tensors)
	for i := range tensors {
		tensors[i] = s.pos
		if _, ok := s.tensor(); !ok {
			return nil, nil, s.err
		}
	}
	if !s.disjoint(tensors) || !s.unique(keys, "key") || !s.unique(tensors, "tensor") {
		return nil, nil, s.err
	}
	return keys, tensors, nil
}

// nameAt reads the name that begins at pos.
func (s *scanner) nameAt(pos uint64) []byte {
	s.pos = pos
	name, _ := s.str("name length")
	return name
}

// unique sorts positions by name and compares neighbours.
func (s *scanner) unique(at []uint64, what string) bool {
	slices.SortFunc(at, func(a, b uint64) int { return bytes.Compare(s.nameAt(a), s.nameAt(b)) })
	for i := 1; i < len(at); i++ {
		name := s.nameAt(at[i])
		if bytes.Equal(s.nameAt(at[i-1]), name) {
			s.name, s.at = name, max(at[i-1], at[i])
			return s.fail(ErrDuplicate, what+" at byte", s.at, "first at byte", min(at[i-1], at[i]))
		}
	}
	return true
}

// disjoint sorts positions by offset in the data and compares neighbours.
func (s *scanner) disjoint(at []uint64) bool {
	get := func(pos uint64) tensor {
		s.pos = pos
		t, _ := s.tensor()
		return t
	}
	slices.SortFunc(at, func(a, b uint64) int { return cmp.Compare(get(a).offset, get(b).offset) })
	for i := 1; i < len(at); i++ {
		a, b := get(at[i-1]), get(at[i])
		if b.offset < a.offset+a.size {
			s.name = b.name
			return s.fail(ErrInvalid, "tensor offset", b.offset, "overlaps another tensor, whose data end at", a.offset+a.size)
		}
	}
	return true
}

// parse checks a file and indexes it. The header is checked where it lies, so
// that a faulty file costs no more than its error; then it is copied, and the
// copy is checked again, since a mapped file can change under its reader.
func parse(data []byte) (*File, error) {
	total := uint64(len(data))
	h, ferr := scan(data, total)
	if ferr != nil {
		return nil, ferr
	}
	if _, _, ferr = order(data, total, &h); ferr != nil {
		return nil, ferr
	}
	meta := bytes.Clone(data[:h.end])
	if h, ferr = scan(meta, total); ferr != nil {
		return nil, ferr
	}
	f := &File{Version: h.version, Alignment: h.align, size: total, meta: meta, segments: []segment{{dataAt: h.data, bytes: filemap.New(data)}}}
	if f.keys, f.tensors, ferr = order(meta, total, &h); ferr != nil {
		return nil, ferr
	}
	f.index(&h)
	return f, nil
}

// index fills the file's lists from its checked header.
func (f *File) index(h *header) {
	s := scanner{b: f.meta, total: f.size, pos: h.keysAt, v1: h.version == 1}
	f.names = make([]string, h.keys)
	for i := range f.names {
		kind, _ := s.key()
		f.names[i] = view(s.name)
		s.value(kind, 0)
	}
	f.Tensors = make([]TensorInfo, h.tensors)
	dims := make([]uint64, 0, h.tensors)
	for i := range f.Tensors {
		t, _ := s.tensor()
		at := len(dims)
		dims = append(dims, t.dims[:t.nDims]...)
		f.Tensors[i] = TensorInfo{
			Name: view(t.name), Type: t.layout.ID, Dims: dims[at:len(dims):len(dims)],
			Offset: h.data + t.offset, Size: t.size,
		}
	}
	f.sortTensors()
}

// view makes a string of bytes of the header's copy, which nothing writes to.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
