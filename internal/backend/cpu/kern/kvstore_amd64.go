//go:build !noasm

package kern

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/quant"
)

// Floats to 16 bits, in blocks of 16; blocks is at least one.

//go:noescape
func narrowF16AVX2(dst *byte, x *float32, blocks int)

//go:noescape
func narrowBF16AVX2(dst *byte, x *float32, blocks int)

var avx2Store = storeFuncs{key: storeKeyAsm, value: storeValueAsm}

// narrow writes x as codes of type t, F16 or BF16.
func narrow(dst []byte, t quant.Type, x []float32) {
	n := len(x) / Lanes
	dst = dst[:2*len(x)]
	if t == quant.F16 {
		if n > 0 {
			narrowF16AVX2(unsafe.SliceData(dst), unsafe.SliceData(x), n)
		}
		half.EncodeF16(dst[2*n*Lanes:], x[n*Lanes:])
		return
	}
	if n > 0 {
		narrowBF16AVX2(unsafe.SliceData(dst), unsafe.SliceData(x), n)
	}
	half.EncodeBF16(dst[2*n*Lanes:], x[n*Lanes:])
}

// narrow8 is round8.
func narrow8(q *[blockDims]int8, x []float32) (scale uint16) {
	if len(x) < blockDims {
		*q, scale = round8(x)
		return scale
	}
	var d float32
	var sum int32
	roundQ8x32AVX2(&q[0], &d, &sum, &x[0], 1)
	return half.F16FromF32(d)
}

func storeKeyAsm(dst []byte, t quant.Type, token int, key []float32) {
	switch t {
	case quant.F32:
		// A column of [dim][16]: bounds once, for its last element.
		column := dst[4*token:]
		for d, v := range key {
			binary.LittleEndian.PutUint32(column[4*d*GroupTokens:], math.Float32bits(v))
		}
	case quant.F16, quant.BF16:
		var codes [256]byte
		for lo := 0; lo < len(key); lo += len(codes) / 2 {
			part := key[lo:min(lo+len(codes)/2, len(key))]
			narrow(codes[:], t, part)
			column := dst[2*(lo*GroupTokens+token):]
			for d := range part {
				binary.LittleEndian.PutUint16(column[2*d*GroupTokens:], binary.LittleEndian.Uint16(codes[2*d:]))
			}
		}
	case quant.Q8_0:
		for b := range len(dst) / blockBytes8 {
			var q [blockDims]int8
			d := narrow8(&q, key[b*blockDims:min((b+1)*blockDims, len(key))])
			scatter8(dst[b*blockBytes8:], token, &q, d)
		}
	}
}

func storeValueAsm(dst []byte, t quant.Type, token int, value []float32) {
	switch t {
	case quant.F32:
		copy(dst[4*token*len(value):], bytesOf(value))
	case quant.F16, quant.BF16:
		narrow(dst[2*token*len(value):], t, value)
	case quant.Q8_0:
		for b := range len(dst) / blockBytes8 {
			var q [blockDims]int8
			d := narrow8(&q, value[b*blockDims:min((b+1)*blockDims, len(value))])
			lay8(dst, b, token, &q, d)
		}
	}
}
