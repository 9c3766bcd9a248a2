//go:build !noasm

package kern

//go:noescape
func turn32AVX2(a *turnArgs)

//go:noescape
func turn16AVX2(a *turnArgs)

//go:noescape
func halvesAVX2(a *turnArgs)

//go:noescape
func headQ4KAVX2(dst, lines *byte)

//go:noescape
func splitQ6KAVX2(dst, src *byte, stride uintptr)

var avx2Packing = packing{turn32: turn32AVX2, turn16: turn16AVX2, halves: halvesAVX2, headQ4K: headQ4KAVX2, splitQ6K: splitQ6KAVX2}

// packingOf is a level's way to pack panels; nil: it has none. AVX2 is as fast
// as memory; wider vectors are not faster.
func packingOf(l Level) *packing {
	if l == Portable {
		return nil
	}
	return &avx2Packing
}
