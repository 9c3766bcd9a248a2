package gguf

import (
	"encoding/binary"
	"math/bits"
	"strconv"
)

// Bounds that the bytes of a file alone don't set.
const (
	maxKeyBytes  = 65535 // the format's own limit
	maxNameBytes = 256   // four times the format's limit for tensors: some writers exceed it
	maxDims      = 4
	maxItems     = 1 << 16 // keys, and tensors; the largest models have some 2,000
	maxDepth     = 4       // arrays within arrays; no known key nests at all
	defaultAlign = 32      // where the file does not say
)

// scanner walks a header in place. It allocates nothing but its error, and
// reads no byte that it did not check to be there. Positions never exceed
// len(b), so no sum of one position and one checked length can wrap.
type scanner struct {
	b     []byte
	total uint64 // bytes of the whole file; b may be its header alone
	pos   uint64
	at    uint64 // start of the field read last, for errors
	v1    bool
	name  []byte // key or tensor being read
	err   *FormatError
}

// fail keeps the first fault. It returns false, so that callers can end with
// it.
func (s *scanner) fail(err error, what string, value uint64, detail string, bound uint64) bool {
	if s.err == nil {
		s.err = &FormatError{Err: err, What: what, Name: clip(s.name), Value: value, Bound: bound, Offset: s.at, Detail: detail}
	}
	return false
}

// clip copies at most 64 bytes of a name for an error.
func clip(name []byte) string { return string(name[:min(len(name), 64)]) }

func (s *scanner) left() uint64 { return uint64(len(s.b)) - s.pos }

// need checks that n bytes follow.
func (s *scanner) need(what string, n uint64) bool {
	s.at = s.pos
	if n > s.left() {
		return s.fail(ErrTruncated, what+" bytes", n, "bytes left:", s.left())
	}
	return true
}

func (s *scanner) u32(what string) (v uint32, ok bool) {
	s.at = s.pos
	if s.left() < 4 {
		return 0, s.fail(ErrTruncated, what, 4, "bytes needed, left:", s.left())
	}
	v = binary.LittleEndian.Uint32(s.b[s.pos:])
	s.pos += 4
	return v, true
}

func (s *scanner) u64(what string) (v uint64, ok bool) {
	s.at = s.pos
	if s.left() < 8 {
		return 0, s.fail(ErrTruncated, what, 8, "bytes needed, left:", s.left())
	}
	v = binary.LittleEndian.Uint64(s.b[s.pos:])
	s.pos += 8
	return v, true
}

// size reads a count or length: 32 bits in version 1, 64 later.
func (s *scanner) size(what string) (uint64, bool) {
	if s.v1 {
		v, ok := s.u32(what)
		return uint64(v), ok
	}
	return s.u64(what)
}

// sizeBytes is what size reads.
func (s *scanner) sizeBytes() uint64 {
	if s.v1 {
		return 4
	}
	return 8
}

// count reads a count of items that take at least least bytes each, and checks
// that so many can follow.
func (s *scanner) count(what string, least uint64) (uint64, bool) {
	n, ok := s.size(what)
	if ok && n > s.left()/least {
		return 0, s.fail(ErrTruncated, what, n, "at most, by the bytes left:", s.left()/least)
	}
	return n, ok
}

// str reads a length and its bytes, in place.
func (s *scanner) str(what string) ([]byte, bool) {
	n, ok := s.size(what)
	if !ok {
		return nil, false
	}
	if n > s.left() {
		return nil, s.fail(ErrTruncated, what, n, "bytes left:", s.left())
	}
	v := s.b[s.pos : s.pos+n]
	s.pos += n
	return v, true
}

// head is the file's first fields.
type head struct {
	version uint32
	tensors uint64
	keys    uint64
}

func (s *scanner) head() (h head, ok bool) {
	if len(s.b) < 8 {
		return h, s.fail(ErrTruncated, "file size", uint64(len(s.b)), "at least", 8)
	}
	magic := binary.LittleEndian.Uint32(s.b)
	switch magic {
	case 0x46554747: // "GGUF"
	case 0x47475546: // "FUGG": byte-swapped as a whole
		return h, s.fail(ErrBigEndian, "magic", uint64(magic), "convert the file to little-endian, whose magic is", 0x46554747)
	default:
		s.fail(ErrMagic, "magic", uint64(magic), "wanted GGUF, as a number", 0x46554747)
		s.err.Text = strconv.Quote(string(s.b[:4]))
		return h, false
	}
	s.pos = 4
	h.version, _ = s.u32("version")
	if h.version != 0 && h.version&0xffff == 0 {
		// A big-endian file keeps the magic and swaps all numbers.
		return h, s.fail(ErrBigEndian, "version", uint64(h.version), "convert the file to little-endian; read the other way it is version", uint64(bits.ReverseBytes32(h.version)))
	}
	if h.version < 1 || h.version > 3 {
		return h, s.fail(ErrVersion, "version", uint64(h.version), "known: 1 to", 3)
	}
	s.v1 = h.version == 1
	sz := s.sizeBytes()
	// The least tensor: name of one byte, one dimension. The least key: name
	// of one byte, type, value of one byte.
	if h.tensors, ok = s.count("tensor count", sz+1+4+sz+4+8); !ok {
		return h, false
	}
	if h.keys, ok = s.count("key count", sz+1+4+1); !ok {
		return h, false
	}
	// Names are sorted to find duplicates; this bounds the time that takes.
	if h.tensors > maxItems {
		return h, s.fail(ErrInvalid, "tensor count", h.tensors, "at most", maxItems)
	}
	if h.keys > maxItems {
		return h, s.fail(ErrInvalid, "key count", h.keys, "at most", maxItems)
	}
	return h, true
}

// key reads a key's name and kind; the value is next.
func (s *scanner) key() (kind Kind, ok bool) {
	s.name = nil
	name, ok := s.str("key length")
	if !ok {
		return 0, false
	}
	if n := uint64(len(name)); n == 0 || n > maxKeyBytes {
		return 0, s.fail(ErrInvalid, "key length", n, "1 to", maxKeyBytes)
	}
	s.name = name
	return s.kind("value type")
}

func (s *scanner) kind(what string) (Kind, bool) {
	v, ok := s.u32(what)
	if ok && v >= uint32(len(kinds)) {
		return 0, s.fail(ErrType, what, uint64(v), "known: 0 to", uint64(len(kinds)-1))
	}
	return Kind(v), ok
}

// value skips a value.
func (s *scanner) value(kind Kind, depth int) bool {
	switch kind {
	case KindString:
		_, ok := s.str("string length")
		return ok
	case KindArray:
		return s.array(depth + 1)
	}
	n := kinds[kind].size
	if !s.need(kinds[kind].name, n) {
		return false
	}
	if kind == KindBool && s.b[s.pos] > 1 {
		return s.fail(ErrInvalid, "bool", uint64(s.b[s.pos]), "0 or", 1)
	}
	s.pos += n
	return true
}

// array skips an array's element type, count and elements.
func (s *scanner) array(depth int) bool {
	if depth > maxDepth {
		return s.fail(ErrInvalid, "array depth", uint64(depth), "at most", maxDepth)
	}
	elem, ok := s.kind("array element type")
	if !ok {
		return false
	}
	n, ok := s.count("array length", s.leastBytes(elem))
	if !ok {
		return false
	}
	if fixed := kinds[elem].size; fixed != 0 && elem != KindBool {
		s.pos += n * fixed // count checked that they are there
		return true
	}
	for range n {
		if !s.value(elem, depth) {
			return false
		}
	}
	return true
}

// leastBytes is the least that a value of a kind takes.
func (s *scanner) leastBytes(k Kind) uint64 {
	switch k {
	case KindString:
		return s.sizeBytes()
	case KindArray:
		return 4 + s.sizeBytes()
	}
	return kinds[k].size
}

// tensor is a tensor's description as it stands in the file; offset counts
// from the start of the data.
type tensor struct {
	name   []byte
	nDims  int
	dims   [maxDims]uint64
	layout *Layout
	offset uint64
	size   uint64
}

func (s *scanner) tensor() (t tensor, ok bool) {
	s.name = nil
	if t.name, ok = s.str("tensor name length"); !ok {
		return t, false
	}
	if n := uint64(len(t.name)); n == 0 || n > maxNameBytes {
		return t, s.fail(ErrInvalid, "tensor name length", n, "1 to", maxNameBytes)
	}
	s.name = t.name
	n, ok := s.u32("dimension count")
	if !ok {
		return t, false
	}
	if n < 1 || n > maxDims {
		return t, s.fail(ErrInvalid, "dimension count", uint64(n), "1 to", maxDims)
	}
	t.nDims = int(n)
	elems := uint64(1)
	for i := range t.nDims {
		d, ok := s.size("dimension")
		if !ok {
			return t, false
		}
		if d == 0 {
			return t, s.fail(ErrInvalid, "dimension", d, "at least", 1)
		}
		t.dims[i] = d
		var over uint64
		// A value takes two bits or more in every format but the smallest,
		// which takes one: more than 8 values a byte of the file can't be.
		if over, elems = bits.Mul64(elems, d); over != 0 || elems/8 > s.total {
			return t, s.fail(ErrTruncated, "dimension", d, "the product of the dimensions exceeds 8 values for each byte of the file, which has", s.total)
		}
	}
	id, ok := s.u32("tensor type")
	if !ok {
		return t, false
	}
	if t.layout = findLayout(id); t.layout == nil {
		return t, s.fail(ErrType, "tensor type", uint64(id), "withdrawn, or newer than this reader, whose last is", uint64(layouts[len(layouts)-1].ID))
	}
	per := uint64(t.layout.BlockElems)
	if t.dims[0]%per != 0 {
		return t, s.fail(ErrInvalid, "first dimension", t.dims[0], "must be a multiple of the format's block of", per)
	}
	t.size = elems / per * uint64(t.layout.BlockBytes)
	t.offset, ok = s.u64("tensor offset")
	return t, ok
}
