// Package ggufwrite writes GGUF files, version 3: models made up for
// benchmarks and the inputs of tests.
package ggufwrite

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/paddock-go/paddock/internal/gguf"
)

// KV is one key. Value is a uint8, int8, uint16, int16, uint32, int32, uint64,
// int64, float32, float64, bool or string, or a slice of one of these.
type KV struct {
	Key   string
	Value any
}

// Tensor is one tensor. Its bytes are Data, or what Gen writes, so that a file
// larger than memory can be made.
type Tensor struct {
	Name string
	Type uint32   // see gguf.LayoutOf
	Dims []uint64 // the first is contiguous
	Data []byte
	Gen  func(w io.Writer) error // nil: Data
}

// Size returns the bytes that the tensor's type and dimensions take.
func (t *Tensor) Size() (uint64, error) {
	l, ok := gguf.LayoutOf(t.Type)
	if !ok {
		return 0, fmt.Errorf("ggufwrite: tensor %q has unknown type %d", t.Name, t.Type)
	}
	n := uint64(1)
	for _, d := range t.Dims {
		n *= d
	}
	if len(t.Dims) == 0 || t.Dims[0]%uint64(l.BlockElems) != 0 {
		return 0, fmt.Errorf("ggufwrite: tensor %q of dimensions %v does not fill blocks of %d (%s)", t.Name, t.Dims, l.BlockElems, l.Name)
	}
	return n / uint64(l.BlockElems) * uint64(l.BlockBytes), nil
}

// Align is the alignment of tensor data in the files written here: the
// format's default, so that no key has to say it.
const Align = 32

// Write writes a file with the keys and tensors in the order given. It checks
// that each tensor's bytes are as many as its dimensions say, and nothing
// else: tests need wrong files too. Safe for concurrent use on distinct w.
func Write(w io.Writer, kvs []KV, tensors []Tensor) error {
	e := &encoder{w: bufio.NewWriterSize(w, 1<<20)}
	sizes, err := e.header(kvs, tensors)
	if err != nil {
		return err
	}
	for i := range tensors {
		e.tensor(&tensors[i], sizes[i])
		e.pad()
	}
	if e.err != nil {
		return e.err
	}
	return e.w.Flush()
}

// Header writes what comes before the data of tensors, whose bytes are not looked
// at, and returns how long the file would be with them. Safe for concurrent use on
// distinct w.
func Header(w io.Writer, kvs []KV, tensors []Tensor) (total uint64, err error) {
	e := &encoder{w: bufio.NewWriterSize(w, 1<<16)}
	sizes, err := e.header(kvs, tensors)
	if err != nil {
		return 0, err
	}
	total = e.n
	for _, n := range sizes {
		total += (n + Align - 1) &^ (Align - 1)
	}
	if e.err != nil {
		return 0, e.err
	}
	return total, e.w.Flush()
}

// header writes all but the tensors' data and returns how many bytes each takes.
func (e *encoder) header(kvs []KV, tensors []Tensor) ([]uint64, error) {
	e.raw([]byte("GGUF"))
	e.u32(3)
	e.u64(uint64(len(tensors)))
	e.u64(uint64(len(kvs)))
	for _, kv := range kvs {
		e.str(kv.Key)
		e.value(kv)
	}
	var offset uint64
	sizes := make([]uint64, len(tensors))
	for i := range tensors {
		t := &tensors[i]
		size, err := t.Size()
		if err != nil {
			return nil, err
		}
		e.str(t.Name)
		e.u32(uint32(len(t.Dims)))
		for _, d := range t.Dims {
			e.u64(d)
		}
		e.u32(t.Type)
		e.u64(offset)
		sizes[i] = size
		offset = (offset + size + Align - 1) &^ (Align - 1)
	}
	e.pad()
	return sizes, nil
}

// encoder counts what it writes and keeps its first error.
type encoder struct {
	w   *bufio.Writer
	n   uint64
	err error
}

// Write is raw as an io.Writer, for Tensor.Gen.
func (e *encoder) Write(b []byte) (int, error) {
	e.raw(b)
	return len(b), e.err
}

func (e *encoder) raw(b []byte) {
	if e.err == nil {
		_, e.err = e.w.Write(b)
		e.n += uint64(len(b))
	}
}

func (e *encoder) u32(v uint32) { e.raw(binary.LittleEndian.AppendUint32(nil, v)) }
func (e *encoder) u64(v uint64) { e.raw(binary.LittleEndian.AppendUint64(nil, v)) }

func (e *encoder) str(s string) {
	e.u64(uint64(len(s)))
	e.raw([]byte(s))
}

func (e *encoder) pad() { e.raw(make([]byte, -e.n%Align)) }

func (e *encoder) tensor(t *Tensor, size uint64) {
	start := e.n
	if t.Gen == nil {
		e.raw(t.Data)
	} else if err := t.Gen(e); err != nil {
		e.err = errors.Join(e.err, err)
	}
	if got := e.n - start; e.err == nil && got != size {
		e.err = fmt.Errorf("ggufwrite: tensor %q: %d bytes given, its dimensions %v and type %d take %d", t.Name, got, t.Dims, t.Type, size)
	}
}

// value writes a key's type and value.
func (e *encoder) value(kv KV) {
	switch v := kv.Value.(type) {
	case []string:
		e.array(gguf.KindString, len(v))
		for _, s := range v {
			e.str(s)
		}
	case []bool:
		e.array(gguf.KindBool, len(v))
		for _, b := range v {
			e.raw([]byte{bit(b)})
		}
	case string:
		e.u32(uint32(gguf.KindString))
		e.str(v)
	case bool:
		e.u32(uint32(gguf.KindBool))
		e.raw([]byte{bit(v)})
	default:
		e.number(kv)
	}
}

// number writes the types that encoding/binary knows.
func (e *encoder) number(kv KV) {
	kind, n := kindOf(kv.Value)
	if kind == gguf.KindArray {
		e.err = errors.Join(e.err, fmt.Errorf("ggufwrite: key %q: a %T can't be written", kv.Key, kv.Value))
		return
	}
	if n < 0 {
		e.u32(uint32(kind))
	} else {
		e.array(kind, n)
	}
	b, err := binary.Append(nil, binary.LittleEndian, kv.Value)
	if err != nil {
		e.err = errors.Join(e.err, err)
	}
	e.raw(b)
}

// kindOf returns a number's kind, or its elements' kind and their number.
// KindArray stands for "none".
func kindOf(v any) (kind gguf.Kind, n int) {
	switch v := v.(type) {
	case uint8:
		return gguf.KindUint8, -1
	case int8:
		return gguf.KindInt8, -1
	case uint16:
		return gguf.KindUint16, -1
	case int16:
		return gguf.KindInt16, -1
	case uint32:
		return gguf.KindUint32, -1
	case int32:
		return gguf.KindInt32, -1
	case uint64:
		return gguf.KindUint64, -1
	case int64:
		return gguf.KindInt64, -1
	case float32:
		return gguf.KindFloat32, -1
	case float64:
		return gguf.KindFloat64, -1
	case []uint8:
		return gguf.KindUint8, len(v)
	case []int8:
		return gguf.KindInt8, len(v)
	case []uint16:
		return gguf.KindUint16, len(v)
	case []int16:
		return gguf.KindInt16, len(v)
	case []uint32:
		return gguf.KindUint32, len(v)
	case []int32:
		return gguf.KindInt32, len(v)
	case []uint64:
		return gguf.KindUint64, len(v)
	case []int64:
		return gguf.KindInt64, len(v)
	case []float32:
		return gguf.KindFloat32, len(v)
	case []float64:
		return gguf.KindFloat64, len(v)
	}
	return gguf.KindArray, math.MinInt
}

func (e *encoder) array(elem gguf.Kind, n int) {
	e.u32(uint32(gguf.KindArray))
	e.u32(uint32(elem))
	e.u64(uint64(n))
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
