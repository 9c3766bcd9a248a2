//go:build !noasm

package kern

import "unsafe"

//go:noescape
func ropeHalvesAVX2(a, b, cos, sin *float32, blocks int)

//go:noescape
func ropePairsAVX2(x, cos, sin *float32, blocks int)

func ropeHalvesAsm(a, b, cos, sin []float32) {
	n := len(cos) / 8
	if n > 0 {
		ropeHalvesAVX2(unsafe.SliceData(a), unsafe.SliceData(b), unsafe.SliceData(cos), unsafe.SliceData(sin), n)
	}
	n *= 8
	ropeHalves(a[n:], b[n:], cos[n:], sin[n:])
}

func ropePairsAsm(x, cos, sin []float32) {
	n := len(cos) / 4
	if n > 0 {
		ropePairsAVX2(unsafe.SliceData(x), unsafe.SliceData(cos), unsafe.SliceData(sin), n)
	}
	n *= 4
	ropePairs(x[2*n:], cos[n:], sin[n:])
}
