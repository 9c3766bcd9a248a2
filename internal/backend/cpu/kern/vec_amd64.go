//go:build !noasm

package kern

import (
	"unsafe"

	"github.com/paddock-go/paddock/internal/num"
)

// Assembly for whole blocks; blocks is at least one. The blocks are of 16
// values but for the rounding kernels.

//go:noescape
func sumSquaresAVX2(lanes *[16]float32, x *float32, blocks int, center float32)

//go:noescape
func sumAVX2(lanes *[16]float32, x *float32, blocks int)

//go:noescape
func maxAVX2(lanes *[16]float32, x *float32, blocks int)

//go:noescape
func scaleMulAVX2(dst, x, w *float32, blocks int, center, scale float32)

//go:noescape
func addAVX2(dst, src *float32, blocks int)

//go:noescape
func mergeAVX2(acc, acc2 *float32, blocks int, a, b float32)

//go:noescape
func roundQ8x32AVX2(q *int8, d *float32, s *int32, x *float32, blocks int)

//go:noescape
func roundQ8x256AVX2(q *int8, d *float32, sub *int16, x *float32, blocks int)

//go:noescape
func roundBF16AVX2(dst, x *float32, blocks int)

//go:noescape
func sumQ8x32AVX2(sum *float32, s *int32, x *float32, blocks int)

//go:noescape
func siluAVX2(dst, gate, up *float32, blocks int)

//go:noescape
func geluAVX2(dst, gate, up *float32, blocks int)

//go:noescape
func expSumAVX2(lanes *[16]float32, p *float32, blocks int, m float32)

//go:noescape
func softcapAVX2(x *float32, blocks int, mul, limit, twice float32)

//go:noescape
func softcapAVX512(x *float32, blocks int, mul, limit, twice float32)

//go:noescape
func siluAVX512(dst, gate, up *float32, blocks int)

//go:noescape
func geluAVX512(dst, gate, up *float32, blocks int)

//go:noescape
func expSumAVX512(lanes *[16]float32, p *float32, blocks int, m float32)

// The AVX-512 level has kernels of its own where the work is in arithmetic.
var (
	avx2Vec = vecFuncs{
		roundQ8x32: roundQ8x32Asm, roundQ8x256: roundQ8x256Asm, roundBF16: roundBF16Asm, sumQ8x32: sumQ8x32Asm,
		sumSquares: sumSquaresAsm, sum: sumAsm, scaleMul: scaleMulAsm, add: addAsm,
		silu: gated(siluAVX2, silu), gelu: gated(geluAVX2, gelu), softcap: capped(softcapAVX2),
		ropeHalves: ropeHalvesAsm, ropePairs: ropePairsAsm,
	}
	avx512Vec = vecFuncs{
		roundQ8x32: roundQ8x32Asm, roundQ8x256: roundQ8x256Asm, roundBF16: roundBF16Asm, sumQ8x32: sumQ8x32Asm,
		sumSquares: sumSquaresAsm, sum: sumAsm, scaleMul: scaleMulAsm, add: addAsm,
		silu: gated(siluAVX512, silu), gelu: gated(geluAVX512, gelu), softcap: capped(softcapAVX512),
		ropeHalves: ropeHalvesAsm, ropePairs: ropePairsAsm,
	}
)

// What is left of a row after its whole blocks goes to the portable kernel,
// which gives the same bits.

func sumSquaresAsm(x []float32, center float32) float32 {
	var l [Lanes]float32
	n := len(x) / Lanes
	if n > 0 {
		sumSquaresAVX2(&l, unsafe.SliceData(x), n, center)
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
		sumAVX2(&l, unsafe.SliceData(x), n)
	}
	for i, v := range x[n*Lanes:] {
		l[i] += v
	}
	return num.Tree16(&l)
}

func scaleMulAsm(dst, x, w []float32, center, scale float32) {
	n := len(x) / Lanes
	if n > 0 {
		scaleMulAVX2(unsafe.SliceData(dst), unsafe.SliceData(x), unsafe.SliceData(w), n, center, scale)
	}
	n *= Lanes
	scaleMul(dst[n:], x[n:], w[n:], center, scale)
}

func addAsm(dst, src []float32) {
	n := len(dst) / Lanes
	if n > 0 {
		addAVX2(unsafe.SliceData(dst), unsafe.SliceData(src), n)
	}
	add(dst[n*Lanes:], src[n*Lanes:])
}

func roundQ8x32Asm(q []int8, d []float32, s []int32, x []float32) {
	n := len(x) / 32
	if n > 0 {
		roundQ8x32AVX2(unsafe.SliceData(q), unsafe.SliceData(d), unsafe.SliceData(s), unsafe.SliceData(x), n)
	}
	roundQ8x32(q[32*n:], d[n:], s[n:], x[32*n:])
}

func roundQ8x256Asm(q []int8, d []float32, sub []int16, x []float32) {
	n := len(x) / 256
	if n > 0 {
		roundQ8x256AVX2(unsafe.SliceData(q), unsafe.SliceData(d), unsafe.SliceData(sub), unsafe.SliceData(x), n)
	}
	roundQ8x256(q[256*n:], d[n:], sub[subSums*n:], x[256*n:])
}

func roundBF16Asm(dst, x []float32) {
	n := len(x) / Lanes
	if n > 0 {
		roundBF16AVX2(unsafe.SliceData(dst), unsafe.SliceData(x), n)
	}
	roundBF16(dst[n*Lanes:], x[n*Lanes:])
}

func sumQ8x32Asm(sum []float32, q []int8, s []int32, x []float32) {
	n := len(x) / 32
	if n > 0 {
		sumQ8x32AVX2(unsafe.SliceData(sum), unsafe.SliceData(s), unsafe.SliceData(x), n)
	}
	sumQ8x32(sum[n:], q[32*n:], s[n:], x[32*n:])
}
