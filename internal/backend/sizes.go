package backend

import (
	"math"
	"math/bits"

	"github.com/paddock-go/paddock/internal/prog"
)

// Product multiplies sizes, none of them negative; math.MaxInt64 where it is more.
// Safe for concurrent use.
func Product(sizes ...int64) int64 {
	n := uint64(1)
	for _, s := range sizes {
		high, low := bits.Mul64(n, uint64(s))
		if high != 0 || low > math.MaxInt64 {
			n = math.MaxInt64
			if s == 0 {
				return 0
			}
			continue
		}
		n = low
	}
	return int64(n)
}

// Sum adds sizes, none of them negative; math.MaxInt64 where it is more. Safe for
// concurrent use.
func Sum(sizes ...int64) int64 {
	var n int64
	for _, s := range sizes {
		if n > math.MaxInt64-s {
			return math.MaxInt64
		}
		n += s
	}
	return n
}

// KVBytes is the memory of a KV cache. Safe for concurrent use.
func KVBytes(p *prog.Program, l Limits) int64 {
	var token int64
	for layer := range p.KV {
		token = Sum(token, l.KVType.LayerBytes(p, layer))
	}
	return Product(token, int64(l.Pages), int64(l.PageSize))
}
