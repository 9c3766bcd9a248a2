package half

import (
	"encoding/binary"
	"math"
)

// BF16ToF32 widens a BF16 code: the upper half of a float32. Exact, NaN
// payloads included. Safe for concurrent use.
func BF16ToF32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// BF16FromF32 narrows to BF16, round to nearest even, subnormals included;
// NaN stays NaN, quiet. Safe for concurrent use.
func BF16FromF32(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		// Rounding could carry a NaN into infinity.
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// DecodeBF16 widens len(dst) little-endian BF16 codes of src. It panics if
// src is too short. Safe for concurrent use on distinct dst.
func DecodeBF16(dst []float32, src []byte) {
	src = src[:2*len(dst)]
	for i := range dst {
		dst[i] = BF16ToF32(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// EncodeBF16 narrows src to little-endian BF16 codes. It panics if dst is too
// short. Safe for concurrent use on distinct dst.
func EncodeBF16(dst []byte, src []float32) {
	dst = dst[:2*len(src)]
	for i, f := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], BF16FromF32(f))
	}
}

// WidenBF16 widens len(dst) codes of src. It panics if src is too short. Safe
// for concurrent use on distinct dst.
func WidenBF16(dst []float32, src []uint16) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = BF16ToF32(src[i])
	}
}

// NarrowBF16 narrows len(src) values into dst. It panics if dst is too short.
// Safe for concurrent use on distinct dst.
func NarrowBF16(dst []uint16, src []float32) {
	dst = dst[:len(src)]
	for i, f := range src {
		dst[i] = BF16FromF32(f)
	}
}
