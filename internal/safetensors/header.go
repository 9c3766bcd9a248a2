package safetensors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	mathbits "math/bits"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Bounds that the bytes of a file alone don't set.
const (
	maxHeader = 16 << 20 // some 140,000 tensors
	maxDims   = 8
	maxName   = 512
)

// Tensor describes one tensor of a file.
type Tensor struct {
	Name  string
	Type  Type
	Shape []uint64 // the last dimension is contiguous; none for a single value
	Size  uint64   // of the data, in bytes
	at    uint64   // of the data, from the file's start
}

// Elems returns the number of values.
func (t *Tensor) Elems() uint64 {
	n := uint64(1)
	for _, d := range t.Shape {
		n *= d // checked against Size at Open
	}
	return n
}

// parse checks a whole file and returns its tensors by name. It keeps nothing of
// data, which may change under its reader: the header is copied before it is read.
func parse(data []byte) ([]Tensor, error) {
	if len(data) < 8 {
		return nil, fault(ErrTruncated, "", "%d bytes, at least 8", len(data))
	}
	n := uint64(0)
	for i := 7; i >= 0; i-- {
		n = n<<8 | uint64(data[i])
	}
	room := uint64(len(data)) - 8
	switch {
	case n > room:
		return nil, fault(ErrTruncated, "", "a header of %d bytes, %d are left", n, room)
	case n > maxHeader:
		return nil, fault(ErrInvalid, "", "a header of %d bytes, at most %d", n, maxHeader)
	}
	head := bytes.Clone(data[8 : 8+n])
	if len(head) == 0 || head[0] != '{' || !utf8.Valid(head) {
		return nil, fault(ErrInvalid, "", "the header is no JSON object in UTF-8 from its first byte on")
	}
	r := newReader(head)
	var list []Tensor
	r.object("", func(name string) {
		if name == "__metadata__" {
			r.object(name, func(string) { r.text(name) })
			return
		}
		list = append(list, r.tensor(name))
	})
	r.end()
	if r.err != nil {
		return nil, r.err
	}
	if err := lay(list, room-n); err != nil {
		return nil, err
	}
	for i := range list {
		list[i].at += 8 + n
	}
	slices.SortFunc(list, byName)
	return list, nil
}

// lay checks that the tensors fill the data, each where the one before ends.
func lay(list []Tensor, room uint64) error {
	slices.SortStableFunc(list, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.Size, b.Size))
	})
	end := uint64(0)
	for i := range list {
		t := &list[i]
		switch {
		case t.at > room || t.Size > room-t.at:
			return fault(ErrTruncated, t.Name, "data of %d bytes at %d, the file holds %d", t.Size, t.at, room)
		case t.at < end:
			return fault(ErrInvalid, t.Name, "data at %d overlap those before, which end at %d", t.at, end)
		case t.at > end:
			return fault(ErrInvalid, t.Name, "data at %d leave a hole, those before end at %d", t.at, end)
		}
		end += t.Size
	}
	if end != room {
		return fault(ErrInvalid, "", "the tensors' data end at %d and the file's at %d", end, room)
	}
	return nil
}

// reader takes a header apart; the first fault sticks. It is no recursion and
// keeps what a header says and no more.
type reader struct {
	d   *json.Decoder
	src *bytes.Reader
	err error
}

func newReader(head []byte) *reader {
	src := bytes.NewReader(head)
	d := json.NewDecoder(src)
	d.UseNumber()
	return &reader{d: d, src: src}
}

func (r *reader) fail(err *Error) {
	if r.err == nil {
		r.err = err
	}
}

// next is the next token; nil after a fault.
func (r *reader) next(of string) json.Token {
	if r.err != nil {
		return nil
	}
	t, err := r.d.Token()
	if err != nil {
		r.fail(fault(ErrInvalid, of, "header, byte %d: %v", r.d.InputOffset(), err))
		return nil
	}
	return t
}

// delim takes an opening or closing bracket.
func (r *reader) delim(of string, want json.Delim) bool {
	if t := r.next(of); r.err == nil && t != want {
		r.fail(fault(ErrInvalid, of, "header, byte %d: want %v", r.d.InputOffset(), want))
	}
	return r.err == nil
}

func (r *reader) text(of string) string {
	t := r.next(of)
	s, ok := t.(string)
	if !ok && r.err == nil {
		r.fail(fault(ErrInvalid, of, "header, byte %d: want a string", r.d.InputOffset()))
	}
	return s
}

// number takes an integer of 0 to 2^63-1 that is written as one.
func (r *reader) number(of string) uint64 {
	t := r.next(of)
	s, ok := t.(json.Number)
	n, err := strconv.ParseUint(string(s), 10, 63)
	if (!ok || err != nil) && r.err == nil {
		r.fail(fault(ErrInvalid, of, "header, byte %d: want an integer of 0 to 2^63-1", r.d.InputOffset()))
	}
	return n
}

// object takes an object; field must take the value of key. No key comes twice.
func (r *reader) object(of string, field func(key string)) {
	if !r.delim(of, '{') {
		return
	}
	seen := map[string]bool{}
	for r.err == nil && r.d.More() {
		key := r.text(of)
		if seen[key] {
			r.fail(fault(ErrDuplicate, key, "the key comes twice"))
		}
		if seen[key] = true; r.err == nil {
			field(key)
		}
	}
	r.delim(of, '}')
}

// numbers takes an array of at most most integers.
func (r *reader) numbers(of string, most int) (list []uint64) {
	if !r.delim(of, '[') {
		return nil
	}
	for r.err == nil && r.d.More() {
		if len(list) == most {
			r.fail(fault(ErrInvalid, of, "an array of more than %d numbers", most))
			break
		}
		list = append(list, r.number(of))
	}
	r.delim(of, ']')
	return list
}

// end checks that nothing but blanks follows.
func (r *reader) end() {
	if r.err != nil {
		return
	}
	rest, err := io.ReadAll(io.MultiReader(r.d.Buffered(), r.src))
	if err != nil || len(bytes.TrimLeft(rest, " ")) > 0 {
		r.fail(fault(ErrInvalid, "", "something behind the header's object"))
	}
}

// tensor takes a description; at counts from the start of the data.
func (r *reader) tensor(name string) Tensor {
	t := Tensor{Name: name}
	if name == "" || len(name) > maxName {
		r.fail(fault(ErrInvalid, name, "a name of %d bytes, 1 to %d", len(name), maxName))
	}
	var span []uint64
	fields := 0
	r.object(name, func(key string) {
		fields++
		switch key {
		case "dtype":
			t.Type = Type(r.text(name))
		case "shape":
			t.Shape = r.numbers(name, maxDims)
		case "data_offsets":
			span = r.numbers(name, 2)
		default:
			r.fail(fault(ErrInvalid, name, "the field %q is not known", clip(key)))
		}
	})
	if r.err != nil {
		return t
	}
	if fields != 3 || len(span) != 2 || span[0] > span[1] {
		r.fail(fault(ErrInvalid, name, "want dtype, shape, and data_offsets of a start and an end behind it, got %v", span))
		return t
	}
	wide, ok := bits[t.Type]
	if !ok {
		r.fail(fault(ErrInvalid, name, "dtype %q is not known", clip(string(t.Type))))
		return t
	}
	t.at, t.Size = span[0], span[1]-span[0]
	elems, over := uint64(1), false
	for _, d := range t.Shape {
		hi, lo := mathbits.Mul64(elems, d)
		over = over || hi != 0
		elems = lo
	}
	if over || elems > 1<<60 || elems*wide/8 != t.Size {
		r.fail(fault(ErrInvalid, name, "shape %v of %s does not take the %d bytes of its data_offsets", t.Shape, t.Type, t.Size))
	}
	return t
}

func byName(a, b Tensor) int { return cmp.Compare(a.Name, b.Name) }
