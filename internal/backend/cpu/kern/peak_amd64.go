//go:build !noasm

package kern

//go:noescape
func peakReadAVX2(p *byte, stride, lines uintptr)

//go:noescape
func peakReadAVX512(p *byte, stride, lines uintptr)

//go:noescape
func peakFMAAVX2(rounds uintptr)

//go:noescape
func peakFMAAVX512(rounds uintptr)

//go:noescape
func peakDotAVX2(rounds uintptr)

//go:noescape
func peakDotAVX512(rounds uintptr)

// A round is 12 instructions, of 8 or 16 lanes; a dot is of 4 values a lane.
var (
	avx2Peak   = peakFuncs{peakReadAVX2, peakFMAAVX2, peakDotAVX2, 12 * 2 * 8, 12 * 2 * 32}
	avx512Peak = peakFuncs{peakReadAVX512, peakFMAAVX512, peakDotAVX512, 12 * 2 * 16, 12 * 2 * 64}
)
