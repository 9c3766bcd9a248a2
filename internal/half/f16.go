// Package half converts between float32 and the two 16-bit floats that model
// files hold: IEEE binary16 (F16) and bfloat16 (BF16). Widening is exact,
// narrowing rounds to nearest, ties to even, and both are plain integer work,
// so every machine gives the same bits.
package half

import (
	"encoding/binary"
	"math"
)

// F16ToF32 widens an F16 code. Exact, subnormals included; a signalling NaN
// becomes quiet, as the hardware conversion makes it. Safe for concurrent use.
func F16ToF32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 0x1f
	man := uint32(h) & 0x3ff
	switch {
	case exp == 0x1f && man == 0:
		return math.Float32frombits(sign | 0x7f800000)
	case exp == 0x1f:
		return math.Float32frombits(sign | 0x7fc00000 | man<<13)
	case exp == 0:
		// man × 2⁻²⁴: both factors are float32 values and so is the product.
		return math.Float32frombits(sign | math.Float32bits(float32(man)*0x1p-24))
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | man<<13)
}

// F16FromF32 narrows to F16, round to nearest even: from 65520 upward the
// result is infinite, below 2⁻²⁵ (and at it) zero; NaN stays NaN, quiet, with
// the upper part of its payload. Safe for concurrent use.
func F16FromF32(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00 | uint16(b>>13&0x3ff)
	case b >= 0x477ff000: // 65520: half way between the largest value and 2¹⁶
		return sign | 0x7c00
	case b >= 0x38800000: // 2⁻¹⁴: normal
		b -= (127 - 15) << 23
		b += 0xfff + b>>13&1 // a carry out of the mantissa is the next exponent
		return sign | uint16(b>>13)
	case b < 0x33000000: // below 2⁻²⁵
		return sign
	}
	// Subnormal: the mantissa in units of 2⁻²⁴.
	shift := 126 - b>>23
	man := b&0x7fffff | 0x800000
	half := uint32(1) << (shift - 1)
	man += half - 1 + man>>shift&1
	return sign | uint16(man>>shift)
}

// DecodeF16 widens len(dst) little-endian F16 codes of src. It panics if src
// is too short. Safe for concurrent use on distinct dst.
func DecodeF16(dst []float32, src []byte) {
	src = src[:2*len(dst)]
	for i := range dst {
		dst[i] = F16ToF32(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// EncodeF16 narrows src to little-endian F16 codes. It panics if dst is too
// short. Safe for concurrent use on distinct dst.
func EncodeF16(dst []byte, src []float32) {
	dst = dst[:2*len(src)]
	for i, f := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], F16FromF32(f))
	}
}

// WidenF16 widens len(dst) codes of src. It panics if src is too short. Safe
// for concurrent use on distinct dst.
func WidenF16(dst []float32, src []uint16) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = F16ToF32(src[i])
	}
}

// NarrowF16 narrows len(src) values into dst. It panics if dst is too short.
// Safe for concurrent use on distinct dst.
func NarrowF16(dst []uint16, src []float32) {
	dst = dst[:len(src)]
	for i, f := range src {
		dst[i] = F16FromF32(f)
	}
}
