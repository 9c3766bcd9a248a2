package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
	"strings"
)

// find returns a scanner that stands at the key's value.
func (f *File) find(key string) (scanner, Kind, bool) {
	s := scanner{b: f.meta, total: f.size, v1: f.Version == 1}
	i, ok := sort.Find(len(f.keys), func(i int) int { return strings.Compare(key, view(s.nameAt(f.keys[i]))) })
	if !ok {
		return s, 0, false
	}
	s.pos = f.keys[i]
	kind, ok := s.key()
	return s, kind, ok
}

// Has tells whether the file has the key.
func (f *File) Has(key string) bool {
	_, _, ok := f.find(key)
	return ok
}

// KindOf returns the kind of the key's value. For an array it is KindArray,
// and elem and n are its elements' kind and number.
func (f *File) KindOf(key string) (kind, elem Kind, n uint64, ok bool) {
	s, kind, ok := f.find(key)
	if ok && kind == KindArray {
		elem, n = s.arrayHead()
	}
	return kind, elem, n, ok
}

// arrayHead reads an array's element type and length, checked at Open.
func (s *scanner) arrayHead() (Kind, uint64) {
	elem, _ := s.kind("array element type")
	n, _ := s.size("array length")
	return elem, n
}

// scalar finds a key and checks that its value is of a wanted kind.
func (f *File) scalar(key, want string, fits func(Kind) bool) (scanner, Kind, error) {
	s, kind, ok := f.find(key)
	if !ok {
		return s, 0, missing(key, want)
	}
	if !fits(kind) {
		text := kind.String()
		if kind == KindArray {
			elem, n := s.arrayHead()
			text = fmt.Sprintf("array of %d %v", n, elem)
		}
		return s, 0, wrongType(key, text, want)
	}
	return s, kind, nil
}

func missing(key, want string) error {
	return &FormatError{Err: ErrMissing, What: want, Name: clip([]byte(key))}
}

func wrongType(key, got, want string) error {
	return &FormatError{Err: ErrType, What: "value of type", Name: clip([]byte(key)), Text: got + " where " + want + " is wanted"}
}

func isInt(k Kind) bool {
	switch k {
	case KindUint8, KindInt8, KindUint16, KindInt16, KindUint32, KindInt32, KindUint64, KindInt64:
		return true
	}
	return false
}

func isFloat(k Kind) bool { return k == KindFloat32 || k == KindFloat64 }

// integer reads an integer: its bits as int64, and whether it is a uint64
// beyond that type. The scanner has checked that the bytes are there.
func (s *scanner) integer(k Kind) (v int64, big bool) {
	b := s.b[s.pos:]
	s.pos += kinds[k].size
	switch k {
	case KindUint8, KindBool:
		return int64(b[0]), false
	case KindInt8:
		return int64(int8(b[0])), false
	case KindUint16:
		return int64(binary.LittleEndian.Uint16(b)), false
	case KindInt16:
		return int64(int16(binary.LittleEndian.Uint16(b))), false
	case KindUint32:
		return int64(binary.LittleEndian.Uint32(b)), false
	case KindInt32:
		return int64(int32(binary.LittleEndian.Uint32(b))), false
	case KindUint64:
		v = int64(binary.LittleEndian.Uint64(b))
		return v, v < 0
	}
	return int64(binary.LittleEndian.Uint64(b)), false
}

// float reads a float32 or float64.
func (s *scanner) float(k Kind) float64 {
	b := s.b[s.pos:]
	s.pos += kinds[k].size
	if k == KindFloat32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// ranged reads an integer key that must lie in lo…hi.
func (f *File) ranged(key string, lo, hi int64) (int64, error) {
	s, kind, err := f.scalar(key, "an integer", isInt)
	if err != nil {
		return 0, err
	}
	at := s.pos
	v, big := s.integer(kind)
	if big || v < lo || v > hi {
		return 0, outOfRange(key, at, v, big, lo, hi)
	}
	return v, nil
}

func outOfRange(key string, at uint64, v int64, big bool, lo, hi int64) error {
	e := &FormatError{Err: ErrInvalid, What: "value", Name: clip([]byte(key)), Value: uint64(v), Offset: at, Detail: fmt.Sprintf("%d to", lo), Bound: uint64(hi)}
	if v < 0 && !big {
		e.Text = fmt.Sprint(v)
	}
	return e
}

// Uint32 returns an integer key of any width whose value fits.
func (f *File) Uint32(key string) (uint32, error) {
	v, err := f.ranged(key, 0, math.MaxUint32)
	return uint32(v), err
}

// Uint32Or is Uint32 with a value for files without the key. A value of the
// wrong type is still an error.
func (f *File) Uint32Or(key string, absent uint32) (uint32, error) {
	if !f.Has(key) {
		return absent, nil
	}
	return f.Uint32(key)
}

// Int32 returns an integer key of any width whose value fits.
func (f *File) Int32(key string) (int32, error) {
	v, err := f.ranged(key, math.MinInt32, math.MaxInt32)
	return int32(v), err
}

// Int32Or is Int32 with a value for files without the key.
func (f *File) Int32Or(key string, absent int32) (int32, error) {
	if !f.Has(key) {
		return absent, nil
	}
	return f.Int32(key)
}

// Float32 returns a float key, rounded if it is a float64. A float64 beyond
// the range of float32 is an error; NaN and infinities that stand in the file
// are returned as they are.
func (f *File) Float32(key string) (float32, error) {
	s, kind, err := f.scalar(key, "a float", isFloat)
	if err != nil {
		return 0, err
	}
	return narrow(key, s.float(kind))
}

func narrow(key string, v float64) (float32, error) {
	r := float32(v)
	if math.IsInf(float64(r), 0) && !math.IsInf(v, 0) {
		return 0, &FormatError{Err: ErrInvalid, What: "value", Name: clip([]byte(key)), Text: fmt.Sprint(v) + ", too large for a float32"}
	}
	return r, nil
}

// Float32Or is Float32 with a value for files without the key.
func (f *File) Float32Or(key string, absent float32) (float32, error) {
	if !f.Has(key) {
		return absent, nil
	}
	return f.Float32(key)
}

// Bool returns a bool key.
func (f *File) Bool(key string) (bool, error) {
	s, _, err := f.scalar(key, "a bool", func(k Kind) bool { return k == KindBool })
	if err != nil {
		return false, err
	}
	return s.b[s.pos] != 0, nil
}

// BoolOr is Bool with a value for files without the key.
func (f *File) BoolOr(key string, absent bool) (bool, error) {
	if !f.Has(key) {
		return absent, nil
	}
	return f.Bool(key)
}

// String returns a string key: any bytes, not necessarily UTF-8. The string is
// a view of the header's copy.
func (f *File) String(key string) (string, error) {
	s, _, err := f.scalar(key, "a string", func(k Kind) bool { return k == KindString })
	if err != nil {
		return "", err
	}
	v, _ := s.str("string length")
	return view(v), nil
}

// StringOr is String with a value for files without the key.
func (f *File) StringOr(key, absent string) (string, error) {
	if !f.Has(key) {
		return absent, nil
	}
	return f.String(key)
}
