package quant

import (
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/num"
)

// ActKind says how activations are rounded before they meet a weight format.
type ActKind uint8

const (
	ActF32    ActKind = iota // as they are
	ActBF16                  // rounded to bf16, in blocks of 32
	ActQ8x32                 // signed 8 bit, an f16 scale per 32 values
	ActQ8x256                // signed 8 bit, an f32 scale per 256 values
	ActQ8x32S                // ActQ8x32 and each block's sum, rounded to f16, for formats with minima
)

// BlockElems returns the number of values that are rounded (or, for bf16,
// added) together: rows are padded with zeros to a multiple of it.
func (k ActKind) BlockElems() int { return int(actBlocks[k]) }

// String names the kind.
func (k ActKind) String() string { return actNames[k] }

var (
	actBlocks = [...]uint16{ActF32: 1, ActBF16: 32, ActQ8x32: 32, ActQ8x256: 256, ActQ8x32S: 32}
	actNames  = [...]string{ActF32: "f32", ActBF16: "bf16", ActQ8x32: "q8x32", ActQ8x256: "q8x256", ActQ8x32S: "q8x32s"}
)

// SubElems is the run of values behind one entry of Act.Sums.
const SubElems = 16

// Act is one row of activations, rounded for a kind of format. Set fills it
// and reuses its memory. For one goroutine at a time while it is set; then
// read-only use is safe from many.
type Act struct {
	Kind ActKind
	N    int       // values given, before padding
	F    []float32 // [padded N] ActF32 and ActBF16: the values
	Q    []int8    // [padded N] the 8-bit kinds: value ÷ scale, −127…127
	D    []float32 // [blocks] their scales
	S    []float32 // [blocks] ActQ8x32S: sums of 32 values
	Sums []int16   // [padded N ÷ 16] ActQ8x256: sums of 16 quants, for formats with minima
}

// Set rounds x to kind, padding with zeros to whole blocks. A row that holds a
// NaN keeps it: the block's quants are 0 and its scale is NaN.
func (a *Act) Set(kind ActKind, x []float32) {
	elems := kind.BlockElems()
	nb := (len(x) + elems - 1) / elems
	a.Kind, a.N = kind, len(x)
	a.F, a.Q, a.D, a.S, a.Sums = a.F[:0], a.Q[:0], a.D[:0], a.S[:0], a.Sums[:0]
	switch kind {
	case ActF32:
		a.F = append(a.F, x...)
	case ActBF16:
		a.F = grow(a.F, nb*elems)
		RoundBF16(a.F, x)
	case ActQ8x32:
		a.Q, a.D = grow(a.Q, nb*elems), grow(a.D, nb)
		QuantizeQ8x32(a.Q, a.D, x)
	case ActQ8x32S:
		a.Q, a.D, a.S = grow(a.Q, nb*elems), grow(a.D, nb), grow(a.S, nb)
		QuantizeQ8x32(a.Q, a.D, x)
		SumQ8x32(a.S, a.Q, x)
	case ActQ8x256:
		a.Q, a.D = grow(a.Q, nb*elems), grow(a.D, nb)
		a.Sums = grow(a.Sums, nb*elems/SubElems)
		QuantizeQ8x256(a.Q, a.D, a.Sums, x)
	default:
		panic(fmt.Sprintf("quant: unknown activation kind %d", kind))
	}
}

// grow returns s with length n, on its own memory where that suffices.
func grow[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n)
	}
	return s[:n]
}

// RoundBF16 writes x rounded to bf16 (nearest even) to dst, and zeros to what
// dst has beyond x. Denormals become zeros of their sign first, as the
// hardware conversion has it. Safe for concurrent use on distinct dst.
func RoundBF16(dst, x []float32) {
	for i, v := range x {
		dst[i] = half.BF16ToF32(half.BF16FromF32(num.Flush(v)))
	}
	clear(dst[len(x):])
}

// QuantizeQ8x32 rounds x, padded with zeros to len(q), to signed bytes with a
// scale per 32 values: with amax the largest magnitude of the block,
//
//	d = amax ÷ 127,  q = x × (127 ÷ amax) to the nearest, ties to even, in ±127
//
// and the stored scale is d rounded to f16. Each ÷ and × rounds to float32. (As
// the vector code of the engine that the golden data comes from: 1 ÷ d differs
// from 127 ÷ amax in the last bit, which once in a while turns a tie.)
// A q that is NaN is 0 (0 × ∞ in an all-zero or infinite block; the scale,
// which is 0, infinite or NaN, then decides). len(q) is 32 × len(d). Safe for
// concurrent use on distinct outputs.
func QuantizeQ8x32(q []int8, d, x []float32) {
	for b := range d {
		qb, xb := block(q, x, b, 32)
		amax := maxAbs(xb)
		quantize(qb, xb, 127/amax)
		d[b] = half.F16ToF32(half.F16FromF32(amax / 127))
	}
}

// SumQ8x32 writes the sum of each block that QuantizeQ8x32 made of x: the sum of
// its quants × the scale before that was rounded to f16, then rounded to f16
// itself, as the engine that the golden data comes from does; but one that is
// beyond f16 stays what it is. Safe for concurrent use on distinct s.
func SumQ8x32(s []float32, q []int8, x []float32) {
	for b := range s {
		qb, xb := block(q, x, b, 32)
		var sum int32
		for _, v := range qb {
			sum += int32(v)
		}
		s[b] = float32(sum) * (maxAbs(xb) / 127)
		if r := half.F16ToF32(half.F16FromF32(s[b])); !math.IsInf(float64(r), 0) {
			s[b] = r
		}
	}
}

// QuantizeQ8x256 rounds x, padded with zeros to len(q), to signed bytes with a
// scale per 256 values: with amax the largest magnitude of the block,
//
//	i = 127 ÷ amax,  q = x × i to the nearest, ties to even, in ±127,  d = 1 ÷ i
//
// NaN as in QuantizeQ8x32. sums receives the sum of each 16 quants. Other
// engines carry the sign of the largest value in i: that turns all signs of q
// and d at once and no bit of a product. len(q) is 256 × len(d) and 16 ×
// len(sums). Safe for concurrent use on distinct outputs.
func QuantizeQ8x256(q []int8, d []float32, sums []int16, x []float32) {
	for b := range d {
		qb, xb := block(q, x, b, 256)
		inv := 127 / maxAbs(xb)
		quantize(qb, xb, inv)
		d[b] = 1 / inv
		for s := range 256 / SubElems {
			var sum int16
			for _, v := range qb[s*SubElems : (s+1)*SubElems] {
				sum += int16(v)
			}
			sums[b*256/SubElems+s] = sum
		}
	}
}

// block returns the quants of block b and those of its values that exist.
func block(q []int8, x []float32, b, elems int) ([]int8, []float32) {
	lo := min(b*elems, len(x))
	return q[b*elems : (b+1)*elems], x[lo:min(lo+elems, len(x))]
}

// maxAbs returns the largest magnitude of x. Compared as integers, NaN is
// above infinity, so that one NaN makes the result NaN.
func maxAbs(x []float32) float32 {
	var m uint32
	for _, v := range x {
		m = max(m, math.Float32bits(v)&0x7fffffff)
	}
	return math.Float32frombits(m)
}

// quantize writes x × inv as bytes, and zeros beyond x.
func quantize(q []int8, x []float32, inv float32) {
	for i, v := range x {
		r := math.RoundToEven(float64(float32(v * inv)))
		switch {
		case r > 127:
			r = 127
		case r < -127:
			r = -127
		case r != r:
			r = 0
		}
		q[i] = int8(r)
	}
	clear(q[len(x):])
}

// want panics unless act is of the kind and length that a row of nb blocks
// needs: the caller's mistake.
func (a *Act) want(kind ActKind, row []byte, elems, bytes int) int {
	nb := len(row) / bytes
	if a.Kind != kind || len(row)%bytes != 0 || nb*elems != a.N {
		panic(fmt.Sprintf("quant: dot of %d bytes in blocks of %d (%d values) with %d activations of kind %v, want %v", len(row), bytes, elems, a.N, a.Kind, kind))
	}
	return nb
}
