//go:build !noasm

package kern

import (
	"unsafe"

	"github.com/paddock-go/paddock/internal/cpuid"
)

func supported() []Level {
	f := cpuid.Detect()
	s := []Level{Portable}
	if f.NEON {
		s = append(s, NEON)
	}
	if f.DotProd {
		s = append(s, NEONDot)
	}
	return s
}

// choose puts the level's kernels over the portable ones.
func choose(k *Kernels, l Level) {
	switch l {
	case NEON:
		chooseTiles(k, &neonTiles)
	case NEONDot:
		chooseTiles(k, &sdotTiles)
	default:
		return
	}
	k.vec, k.attend = neonVec, neonAttend
}

// unflushed makes a kernel of one that takes denormals as zero as ARM does:
// where the definition has the least normal float, for what 24 bits round up to
// it, ARM has zero. Such a result was flushed then, and all is computed again by
// the portable kernel. Weights of models and activations don't come near.
func unflushed(asm func(*dotArgs) (flushed bool), panels, rows int) func(*dotArgs) {
	return func(a *dotArgs) {
		if !asm(a) {
			return
		}
		one := *a
		for p := range panels {
			for r := range rows {
				one.w = unsafe.Add(a.w, uintptr(p)*a.wStride)
				one.x = unsafe.Add(a.x, uintptr(r)*a.xStride)
				one.out = unsafe.Add(a.out, uintptr(r)*a.outStride+uintptr(p)*Lanes*4)
				dotBF16(&one)
			}
		}
	}
}
