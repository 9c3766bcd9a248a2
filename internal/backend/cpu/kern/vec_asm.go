//go:build !noasm && (amd64 || arm64)

package kern

import "unsafe"

// What is left of a row after its whole blocks goes to the portable kernel,
// which gives the same bits.

// gated joins a gate's assembly and its portable kernel.
func gated(asm func(dst, gate, up *float32, blocks int), portable func(dst, gate, up []float32)) func(dst, gate, up []float32) {
	return func(dst, gate, up []float32) {
		n := len(dst) / Lanes
		if n > 0 {
			asm(unsafe.SliceData(dst), unsafe.SliceData(gate), unsafe.SliceData(up), n)
		}
		n *= Lanes
		portable(dst[n:], gate[n:], up[n:])
	}
}

// capped joins a cap's assembly and its portable kernel.
func capped(asm func(x *float32, blocks int, mul, limit, twice float32)) func(x []float32, limit float32) {
	return func(x []float32, limit float32) {
		n := len(x) / Lanes
		if n > 0 {
			asm(unsafe.SliceData(x), n, 2/limit, limit, 2*limit)
		}
		softcap(x[n*Lanes:], limit)
	}
}
