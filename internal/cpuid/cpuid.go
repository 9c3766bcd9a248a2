// Package cpuid tells which instruction sets the processor and the operating
// system offer, as the handful of booleans that the kernels choose by.
package cpuid

// Features are the instruction sets in use. A field is true only if the
// processor has the instructions and the operating system saves the registers
// they need.
type Features struct {
	AVX2       bool // with FMA and F16C, which every processor with AVX2 has
	AVX512     bool // F, BW, DQ and VL
	AVX512VNNI bool // with AVX512
	AMXInt8    bool // tiles and their products of bytes, with AVX512VNNI; see PermitTiles
	AMXBF16    bool // tile products of bf16, with AMXInt8

	NEON    bool // every arm64 processor has it
	DotProd bool // SDOT and UDOT, with NEON
}

// disabled is what tests have switched off; production code never writes it.
var disabled Features

// Detect asks the processor. Safe for concurrent use, but not with Disable.
func Detect() Features {
	f := detect()
	f.AVX2 = f.AVX2 && !disabled.AVX2
	f.AVX512 = f.AVX512 && f.AVX2 && !disabled.AVX512
	f.AVX512VNNI = f.AVX512VNNI && f.AVX512 && !disabled.AVX512VNNI
	f.AMXInt8 = f.AMXInt8 && f.AVX512VNNI && !disabled.AMXInt8
	f.AMXBF16 = f.AMXBF16 && f.AMXInt8 && !disabled.AMXBF16
	f.NEON = f.NEON && !disabled.NEON
	f.DotProd = f.DotProd && f.NEON && !disabled.DotProd
	return f
}

// Disable makes Detect report the set fields of off as absent, and what builds
// on them too, until the returned function is called. For tests only: not safe
// for concurrent use.
func Disable(off Features) (undo func()) {
	was := disabled
	disabled.AVX2 = was.AVX2 || off.AVX2
	disabled.AVX512 = was.AVX512 || off.AVX512
	disabled.AVX512VNNI = was.AVX512VNNI || off.AVX512VNNI
	disabled.AMXInt8 = was.AMXInt8 || off.AMXInt8
	disabled.AMXBF16 = was.AMXBF16 || off.AMXBF16
	disabled.NEON = was.NEON || off.NEON
	disabled.DotProd = was.DotProd || off.DotProd
	return func() { disabled = was }
}
