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
	F32    Type = 0
	F16    Type = 1
	Q4_0   Type = 2
	Q4_1   Type = 3
	Q5_0   Type = 6
	Q5_1   Type = 7
	Q8_0   Type = 8
	Q2K    Type = 10
	Q3K    Type = 11
	Q4K    Type = 12
	Q5K    Type = 13
	Q6K    Type = 14
	IQ2XXS Type = 16
	IQ2XS  Type = 17
	IQ3XXS Type = 18
	IQ1S   Type = 19
	IQ4NL  Type = 20
	IQ3S   Type = 21
	IQ2S   Type = 22
	IQ4XS  Type = 23
	IQ1M   Type = 29
	BF16   Type = 30
	TQ1_0  Type = 34
	TQ2_0  Type = 35
	MXFP4  Type = 39
	NVFP4  Type = 40
	Q1_0   Type = 41
	Q2_0   Type = 42
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

	// Layout takes blocks apart for backends that have no kernel of their own
	// for the format; nil for the formats with code of their own here.
	Layout *Layout
}

// Layouts by the length of a run, without and with minima.
func runs16(take func([]byte) Taken) Layout { return Layout{Run: 16, Take: take} }
func runs32(take func([]byte) Taken) Layout { return Layout{Run: 32, Take: take} }
func min32(take func([]byte) Taken) Layout  { return Layout{Run: 32, Minima: true, Take: take} }
func whole(take func([]byte) Taken) Layout  { return Layout{Run: 256, Take: take} }
func minima(take func([]byte) Taken) Layout { return Layout{Run: 256, Minima: true, Take: take} }

// table lists every format, in order of Type.
var table = [...]Format{
	{F32, "f32", 1, 4, ActF32, decodeF32, encodeF32, dotF32, nil},
	{F16, "f16", 1, 2, ActF32, decodeF16, encodeF16, dotF16, nil},
	{Q4_0, "q4_0", 32, q4_0Bytes, ActQ8x32, decodeQ4_0, encodeQ4_0, dotQ4_0, nil},
	taken(Q4_1, "q4_1", 32, q4_1Bytes, min32(takeQ4_1), encodeQ4_1),
	taken(Q5_0, "q5_0", 32, q5_0Bytes, runs32(takeQ5_0), encodeQ5_0),
	taken(Q5_1, "q5_1", 32, q5_1Bytes, min32(takeQ5_1), encodeQ5_1),
	{Q8_0, "q8_0", 32, q8_0Bytes, ActQ8x32, decodeQ8_0, encodeQ8_0, dotQ8_0, nil},
	taken(Q2K, "q2_K", 256, q2KBytes, minima(takeQ2K), encodeQ2K),
	taken(Q3K, "q3_K", 256, q3KBytes, whole(takeQ3K), encodeQ3K),
	{Q4K, "q4_K", 256, q4KBytes, ActQ8x256, decodeQ4K, encodeQ4K, dotQ4K, nil},
	taken(Q5K, "q5_K", 256, q5KBytes, minima(takeQ5K), encodeQ5K),
	{Q6K, "q6_K", 256, q6KBytes, ActQ8x256, decodeQ6K, encodeQ6K, dotQ6K, nil},
	taken(IQ2XXS, "iq2_xxs", 256, iq2XXSBytes, whole(takeIQ2XXS), encodeIQ2XXS),
	taken(IQ2XS, "iq2_xs", 256, iq2XSBytes, whole(takeIQ2XS), encodeIQ2XS),
	taken(IQ3XXS, "iq3_xxs", 256, iq3XXSBytes, whole(takeIQ3XXS), encodeIQ3XXS),
	taken(IQ1S, "iq1_s", 256, iq1SBytes, whole(takeIQ1S), encodeIQ1S),
	taken(IQ4NL, "iq4_nl", 32, iq4NLBytes, runs32(takeIQ4NL), encodeIQ4NL),
	taken(IQ3S, "iq3_s", 256, iq3SBytes, whole(takeIQ3S), encodeIQ3S),
	taken(IQ2S, "iq2_s", 256, iq2SBytes, whole(takeIQ2S), encodeIQ2S),
	taken(IQ4XS, "iq4_xs", 256, iq4XSBytes, whole(takeIQ4XS), encodeIQ4XS),
	taken(IQ1M, "iq1_m", 256, iq1MBytes, whole(takeIQ1M), encodeIQ1M),
	{BF16, "bf16", 1, 2, ActBF16, decodeBF16, encodeBF16, dotBF16, nil},
	taken(TQ1_0, "tq1_0", 256, tq1_0Bytes, whole(takeTQ1_0), encodeTQ1_0),
	taken(TQ2_0, "tq2_0", 256, tq2_0Bytes, whole(takeTQ2_0), encodeTQ2_0),
	taken(MXFP4, "mxfp4", 32, mxfp4Bytes, runs32(takeMXFP4), encodeMXFP4),
	taken(NVFP4, "nvfp4", 64, nvfp4Bytes, runs16(takeNVFP4), encodeNVFP4),
	taken(Q1_0, "q1_0", 128, q1_0Bytes, runs32(takeQ1_0), encodeQ1_0),
	taken(Q2_0, "q2_0", 64, q2_0Bytes, runs32(takeQ2_0), encodeQ2_0),
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
