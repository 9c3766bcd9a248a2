//go:build !noasm

package cpuid

// cpuid runs CPUID with EAX = leaf and ECX = sub.
func cpuid(leaf, sub uint32) (a, b, c, d uint32)

// xgetbv reads XCR0: the register states that the operating system saves.
// Only to be called where CPUID reports OSXSAVE.
func xgetbv() (lo, hi uint32)

// Bits of XCR0.
const (
	xmmYmm = 1<<1 | 1<<2
	opmask = 1<<5 | 1<<6 | 1<<7 // mask registers, upper halves of zmm 0–15, zmm 16–31
	tiles  = 1<<17 | 1<<18      // their configuration and their data
)

// Bits of CPUID leaves 1 (ECX) and 7 (EBX, ECX, EDX).
const (
	fma     = 1 << 12
	osxsave = 1 << 27
	avx     = 1 << 28
	f16c    = 1 << 29

	avx2     = 1 << 5
	avx512f  = 1 << 16
	avx512dq = 1 << 17
	avx512bw = 1 << 30
	avx512vl = 1 << 31

	avx512vnni = 1 << 11

	amxBF16 = 1 << 22
	amxTile = 1 << 24
	amxInt8 = 1 << 25
)

func detect() Features { return features(cpuid, xgetbv) }

// features reads what the processor and the operating system say.
func features(cpuid func(leaf, sub uint32) (a, b, c, d uint32), xgetbv func() (lo, hi uint32)) Features {
	top, _, _, _ := cpuid(0, 0)
	if top < 7 {
		return Features{}
	}
	_, _, c1, _ := cpuid(1, 0)
	if !has(c1, osxsave|avx|fma|f16c) {
		return Features{}
	}
	saved, _ := xgetbv()
	_, b7, c7, d7 := cpuid(7, 0)
	amx := has(saved, tiles) && has(d7, amxTile) && top >= tileLeaf && palette1(cpuid(tileLeaf, 1))
	wide := has(saved, xmmYmm|opmask)
	return Features{
		AVX2:       has(saved, xmmYmm) && has(b7, avx2),
		AVX512:     wide && has(b7, avx512f|avx512dq|avx512bw|avx512vl),
		AVX512VNNI: wide && has(c7, avx512vnni),
		AMXInt8:    wide && amx && has(d7, amxInt8),
		AMXBF16:    wide && amx && has(d7, amxBF16),
	}
}

func has(word, bits uint32) bool { return word&bits == bits }

// tileLeaf describes the palettes of tiles.
const tileLeaf = 0x1d

// palette1 tells whether palette 1 is, by its leaf, what kernels are written
// for: at least 8 tiles of at least 16 rows of 64 bytes.
func palette1(a, b, c, _ uint32) bool {
	return a>>16 >= 1024 && b&0xffff >= 64 && b>>16 >= 8 && c&0xffff >= 16
}
