package quant

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/half"
)

// KVTypes lists the formats that a KV cache may hold keys and values in, the
// exact one first. A cache that is not exact holds what RoundKV makes of each
// key and value, and attention reads precisely that.
func KVTypes() []Type { return []Type{F32, F16, BF16, Q8_0} }

// IsKV tells whether a KV cache may be of type t. Safe for concurrent use.
func IsKV(t Type) bool { return t == F32 || t == F16 || t == BF16 || t == Q8_0 }

// KVBytes is the memory of one head's key or value of dim values for one token:
// whole blocks, of which the last is padded. It panics if t is none of KVTypes.
// Safe for concurrent use.
func KVBytes(t Type, dim int) int {
	switch t {
	case F32:
		return 4 * dim
	case F16, BF16:
		return 2 * dim
	case Q8_0:
		return (dim + 31) / 32 * q8_0Bytes
	}
	panic(fmt.Sprintf("quant: no KV cache of %v", t))
}

// RoundKV writes to dst what a KV cache of type t gives back for src, one head's
// key or value of one token: the nearest F16 or BF16 (half's rounding, denormals
// kept), or for Q8_0 quants × scale of QuantizeQ8x32 in blocks that begin with
// the head, the product exact. dst may be src; it has src's length. It panics
// if t is none of KVTypes. Safe for concurrent use on distinct dst.
func RoundKV(t Type, dst, src []float32) {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("quant: %d KV values rounded into %d", len(src), len(dst)))
	}
	switch t {
	case F32:
		copy(dst, src)
	case F16:
		for i, v := range src {
			dst[i] = half.F16ToF32(half.F16FromF32(v))
		}
	case BF16:
		for i, v := range src {
			dst[i] = half.BF16ToF32(half.BF16FromF32(v))
		}
	case Q8_0:
		for lo := 0; lo < len(src); lo += 32 {
			var q [32]int8
			var d [1]float32
			out := dst[lo:min(lo+32, len(dst))]
			QuantizeQ8x32(q[:], d[:], src[lo:lo+len(out)])
			for i := range out {
				out[i] = float32(q[i]) * d[0]
			}
		}
	default:
		panic(fmt.Sprintf("quant: no KV cache of %v", t))
	}
}
