//go:build !noasm

package kern

import (
	"unsafe"

	"github.com/paddock-go/paddock/internal/num"
)

// Assembly for whole blocks; blocks is at least one. The blocks are of 16
// values but for the rounding kernels and rotary embedding, whose are of 4 pairs.

//go:noescape
func sumSquaresNEON(lanes *[16]float32, x *float32, blocks int, center float32)

//go:noescape
func sumNEON(lanes *[16]float32, x *float32, blocks int)

//go:noescape
func maxNEON(lanes *[16]float32, x *float32, blocks int)

//go:noescape
func scaleMulNEON(dst, x, w *float32, blocks int, center, scale float32)

//go:noescape
func addNEON(dst, src *float32, blocks int)

//go:noescape
func mergeNEON(acc, acc2 *float32, blocks int, a, b float32)

//go:noescape
func roundQ8x32NEON(q *int8, d *float32, s *int32, x *float32, blocks int)

//go:noescape
func roundQ8x256NEON(q *int8, d *float32, s *int16, x *float32, blocks int)

//go:noescape
func siluNEON(dst, gate, up *float32, blocks int)

//go:noescape
func geluNEON(dst, gate, up *float32, blocks int)

//go:noescape
func expSumNEON(lanes *[16]float32, p *float32, blocks int, m float32)

//go:noescape
func softcapNEON(x *float32, blocks int, mul, limit, twice float32)

//go:noescape
func ropeHalvesNEON(a, b, cos, sin *float32, blocks int)

//go:noescape
func ropePairsNEON(x, cos, sin *float32, blocks int)

var neonVec = vecFuncs{
	roundQ8x32: roundQ8x32Asm, roundQ8x256: roundQ8x256Asm, roundBF16: roundBF16, sumQ8x32: sumQ8x32,
	sumSquares: sumSquaresAsm, sum: sumAsm, scaleMul: scaleMulAsm, add: addAsm,
	silu: gated(siluNEON, silu), gelu: gated(geluNEON, gelu), softcap: capped(softcapNEON),
	ropeHalves: ropeHalvesAsm, ropePairs: ropePairsAsm,
}

func sumSquaresAsm(x []float32, center float32) float32 {
	var l [Lanes]float32
	n := len(x) / Lanes
	if n > 0 {
		sumSquaresNEON(&l, unsafe.SliceData(x), n, center)
	}
	for i, v := range x[n*Lanes:] {
		v -= center
		l[i] = num.FMA32(v, v, l[i])
	}
	return num.Tree16(&l)
}

func sumAsm(x []float32) float32 {
	var l [Lanes]float32
	n := len(x) / Lanes
	if n > 0 {
		sumNEON(&l, unsafe.SliceData(x), n)
	}
	for i, v := range x[n*Lanes:] {
		l[i] += v
	}
	return num.Tree16(&l)
}

func scaleMulAsm(dst, x, w []float32, center, scale float32) {
	n := len(x) / Lanes
	if n > 0 {
		scaleMulNEON(unsafe.SliceData(dst), unsafe.SliceData(x), unsafe.SliceData(w), n, center, scale)
	}
	n *= Lanes
	scaleMul(dst[n:], x[n:], w[n:], center, scale)
}

func addAsm(dst, src []float32) {
	n := len(dst) / Lanes
	if n > 0 {
		addNEON(unsafe.SliceData(dst), unsafe.SliceData(src), n)
	}
	add(dst[n*Lanes:], src[n*Lanes:])
}

func roundQ8x32Asm(q []int8, d []float32, s []int32, x []float32) {
	n := len(x) / 32
	if n > 0 {
		roundQ8x32NEON(unsafe.SliceData(q), unsafe.SliceData(d), unsafe.SliceData(s), unsafe.SliceData(x), n)
	}
	roundQ8x32(q[32*n:], d[n:], s[n:], x[32*n:])
}

func roundQ8x256Asm(q []int8, d []float32, sub []int16, x []float32) {
	n := len(x) / 256
	if n > 0 {
		roundQ8x256NEON(unsafe.SliceData(q), unsafe.SliceData(d), unsafe.SliceData(sub), unsafe.SliceData(x), n)
	}
	roundQ8x256(q[256*n:], d[n:], sub[subSums*n:], x[256*n:])
}

func ropeHalvesAsm(a, b, cos, sin []float32) {
	n := len(cos) / 4
	if n > 0 {
		ropeHalvesNEON(unsafe.SliceData(a), unsafe.SliceData(b), unsafe.SliceData(cos), unsafe.SliceData(sin), n)
	}
	n *= 4
	ropeHalves(a[n:], b[n:], cos[n:], sin[n:])
}

func ropePairsAsm(x, cos, sin []float32) {
	n := len(cos) / 4
	if n > 0 {
		ropePairsNEON(unsafe.SliceData(x), unsafe.SliceData(cos), unsafe.SliceData(sin), n)
	}
	n *= 4
	ropePairs(x[2*n:], cos[n:], sin[n:])
}
