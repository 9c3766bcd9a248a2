// Package quant is the table of weight formats: how a block of a file's bytes
// becomes numbers, how activations are rounded to meet it, and the reference
// dot product that defines the result of every backend to the bit. One format
// is one row of the table and one file.
package quant

import (
	"fmt"
	"strings"
)

// Type is a weight format, numbered as ggml and GGUF files number it.
type Type uint32

// The formats of the table.
const (
	F32  Type = 0
	F16  Type = 1
	Q4_0 Type = 2
	Q8_0 Type = 8
	Q4K  Type = 12
	Q6K  Type = 14
	BF16 Type = 30
)

// String returns the format's name, or its number where the table lacks it.
func (t Type) String() string {
	if f, ok := Lookup(t); ok {
		return f.Name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Format is one row: the facts of a weight format and its reference code. A
// row of weights (one output's inner dimension) is whole blocks, in order.
type Format struct {
	Type       Type
	Name       string // as reference data names it, e.g. "q4_K"
	BlockElems int    // values in a block
	BlockBytes int    // bytes of a block
	Act        ActKind

	// Decode writes the values of src's blocks to dst: len(dst) is a multiple
	// of BlockElems and src holds as many blocks. Exact to the bit.
	Decode func(dst []float32, src []byte)

	// Encode quantises src into dst's blocks: len(src) is a multiple of
	// BlockElems and dst holds as many blocks. It rounds sensibly and simply;
	// other engines' quantisers search longer and make other bytes.
	Encode func(dst []byte, src []float32)

	// Dot returns the product of a weight row with a quantised activation
	// row. It is the definition: kernels must give these bits. The
	// activations must be of the format's kind and of the row's length.
	Dot func(row []byte, act *Act) float32
}

// table lists every format, in order of Type.
var table = [...]Format{
	{F32, "f32", 1, 4, ActF32, decodeF32, encodeF32, dotF32},
	{F16, "f16", 1, 2, ActF32, decodeF16, encodeF16, dotF16},
	{Q4_0, "q4_0", 32, q4_0Bytes, ActQ8x32, decodeQ4_0, encodeQ4_0, dotQ4_0},
	{Q8_0, "q8_0", 32, q8_0Bytes, ActQ8x32, decodeQ8_0, encodeQ8_0, dotQ8_0},
	{Q4K, "q4_K", 256, q4KBytes, ActQ8x256, decodeQ4K, encodeQ4K, dotQ4K},
	{Q6K, "q6_K", 256, q6KBytes, ActQ8x256, decodeQ6K, encodeQ6K, dotQ6K},
	{BF16, "bf16", 1, 2, ActBF16, decodeBF16, encodeBF16, dotBF16},
}

// Formats returns a copy of the table, in order of Type. Safe for concurrent
// use.
func Formats() []Format { return append([]Format(nil), table[:]...) }

// Lookup finds a format by its id. Safe for concurrent use.
func Lookup(t Type) (Format, bool) {
	for i := range table {
		if table[i].Type == t {
			return table[i], true
		}
	}
	return Format{}, false
}

// ByName finds a format by its name; case does not matter. Safe for
// concurrent use.
func ByName(name string) (Format, bool) {
	for i := range table {
		if strings.EqualFold(table[i].Name, name) {
			return table[i], true
		}
	}
	return Format{}, false
}

// RowBytes returns the bytes of a row of n values. A row is whole blocks: n
// that is negative or no multiple of BlockElems is an error. Safe for
// concurrent use.
func (f *Format) RowBytes(n int) (int, error) {
	if n < 0 || n%f.BlockElems != 0 {
		return 0, fmt.Errorf("quant: a row of %d values is not a whole number of %s blocks of %d values", n, f.Name, f.BlockElems)
	}
	return n / f.BlockElems * f.BlockBytes, nil
}

// blocks returns how many blocks n values make and cuts b to them. Wrong
// lengths are the caller's mistake.
func blocks(what string, n, elems int, b []byte, bytes int) (int, []byte) {
	if n%elems != 0 || len(b) < n/elems*bytes {
		panic(fmt.Sprintf("quant: %s: %d values and %d bytes do not make whole blocks of %d values in %d bytes", what, n, len(b), elems, bytes))
	}
	return n / elems, b[:n/elems*bytes]
}
