package main

import "fmt"

// A nibbles is a format of kern's type of that name: 32 values whose low four
// bits lie as in Q4_0. Formats with minima meet activations with float sums;
// the others take offset × Σx off by starting the integer sums there.
type nibbles struct {
	scale  int    // bytes of a scale: 2 or 1
	min    bool   // minima
	plane  bool   // a fifth bit
	levels string // AVX-512: the levels plus offset, AVX2: those of signed<levels>
	offset int
}

func (f nibbles) minima() int { return 16 * f.scale }

func (f nibbles) high() int {
	if f.min {
		return f.minima() + 32
	}
	return f.minima()
}

func (f nibbles) parts() int {
	if f.plane {
		return f.high() + 64
	}
	return f.high()
}

func (f nibbles) bytes() int { return f.parts() + 4*64 }

// scales brings the 16 scales of panel p, or half h of them, to dst.
func (f nibbles) scales(a *asm, p, h int, dst, t string) {
	if f.scale == 2 {
		a.op("VCVTPH2PS %s, %s", a.w(p, 16*h), dst)
		return
	}
	a.comment("2^(e − 128) is max(e << 23 − 1 << 23, (e + 1) << 21)")
	a.op("VPMOVZXBD %s, %s", a.w(p, 8*h), dst)
	a.op("VPSLLD $21, %s, %s", dst, t)
	a.op("VPSLLD $23, %s, %s", dst, dst)
	if dst[0] == 'Z' {
		a.op("VPSUBD.BCST exponent<>(SB), %s, %s", dst, dst)
		a.op("VPADDD.BCST exponent<>+32(SB), %s, %s", t, t)
	} else {
		a.op("VPSUBD exponent<>(SB), %s, %s", dst, dst)
		a.op("VPADDD exponent<>+32(SB), %s, %s", t, t)
	}
	a.op("VPMAXSD %s, %s, %s", t, dst, dst)
}

// raise moves bit g of each byte to bit 4.
func raise(a *asm, g int, from, to string) {
	if g < 4 {
		a.op("VPSLLW $%d, %s, %s", 4-g, from, to)
	} else {
		a.op("VPSRLW $%d, %s, %s", g-4, from, to)
	}
}

// avx512 emits panels × rows with the integer sums in registers.
func (f nibbles) avx512(a *asm) {
	mask := a.constant('Z', 0x0f0f0f0f)
	start, bit, lut := "", "", ""
	if !f.min {
		start = a.constant('Z', uint32(-f.offset))
	}
	if f.plane {
		bit = a.constant('Z', 0x10101010)
	}
	if f.levels != "" {
		lut = a.reg('Z')
		a.op("VBROADCASTI32X4 %s<>(SB), %s", f.levels, lut)
	}
	a.begin(true)
	acc := a.accumulators('Z', 1)
	sums := a.grid('Z')
	w := make([][]string, a.panels)
	for p := range w {
		w[p] = a.regs('Z', 2)
	}
	var planes []string
	if f.plane {
		planes = a.regs('Z', a.panels)
	}
	x := a.reg('Z')
	a.label("loop")
	a.spread(f.bytes(), func() {
		for r := range a.rows {
			for p := range a.panels {
				switch {
				case f.min:
					a.zero(sums[p][r])
				case p == 0:
					a.op("VPMULLD.BCST %s, %s, %s", a.s(r, 0), start, sums[0][r])
				default:
					a.op("VMOVDQA64 %s, %s", sums[0][r], sums[p][r])
				}
			}
		}
		for p := range planes {
			a.op("VMOVDQU64 %s, %s", a.w(p, f.high()), planes[p])
		}
		for i := range 4 {
			for p := range a.panels {
				lo, hi := w[p][0], w[p][1]
				a.op("VMOVDQU64 %s, %s", a.w(p, f.parts()+64*i), hi)
				a.op("VPANDD %s, %s, %s", hi, mask, lo)
				a.op("VPSRLW $4, %s, %s", hi, hi)
				a.op("VPANDD %s, %s, %s", hi, mask, hi)
				for j, reg := range w[p] {
					if f.plane {
						raise(a, i+4*j, planes[p], x)
						a.op("VPTERNLOGD $0xf8, %s, %s, %s", bit, x, reg)
					}
					if f.levels != "" {
						a.op("VPSHUFB %s, %s, %s", reg, lut, reg)
					}
				}
			}
			for j := range 2 {
				for r := range a.rows {
					if a.panels == 1 {
						a.op("VPDPBUSD.BCST %s, %s, %s", a.x(r, 4*(i+4*j)), w[0][j], sums[0][r])
						continue
					}
					a.op("VPBROADCASTD %s, %s", a.x(r, 4*(i+4*j)), x)
					for p := range a.panels {
						a.op("VPDPBUSD %s, %s, %s", x, w[p][j], sums[p][r])
					}
				}
			}
		}
		for p := range a.panels {
			f.scales(a, p, 0, w[p][0], x)
			if f.min {
				a.op("VCVTPH2PS %s, %s", a.w(p, f.minima()), w[p][1])
			}
		}
		a.comment("acc = fma(float(sum), dw × dx, acc), and fma(min, sum of x, acc)")
		for r := range a.rows {
			for p := range a.panels {
				a.op("VCVTDQ2PS %s, %s", sums[p][r], sums[p][r])
				a.op("VMULPS.BCST %s, %s, %s", a.d(r), w[p][0], x)
				a.op("VFMADD231PS %s, %s, %s", x, sums[p][r], acc[p][r][0])
				if f.min {
					a.op("VFMADD231PS.BCST %s, %s, %s", a.s(r, 0), w[p][1], acc[p][r][0])
				}
			}
		}
	})
	a.loop(f.bytes(), 32, 4, 4)
	a.store(acc)
}

// avx2 takes one half panel and all rows at a time, so that 16 registers do.
func (f nibbles) avx2(a *asm) {
	mask := a.constant('Y', 0x0f0f0f0f)
	lut := ""
	if f.levels != "" {
		lut = a.reg('Y')
		a.op("VBROADCASTI128 signed%s<>(SB), %s", f.levels, lut)
	}
	a.begin(true)
	acc := a.accumulators('Y', 2)
	sums := a.regs('Y', a.rows)
	t := a.regs('Y', 5) // two of weights, magnitudes, the plane, what is at hand
	a.label("loop")
	a.spread(f.bytes(), func() {
		for p := range a.panels {
			for h := range 2 {
				f.half(a, p, h, mask, lut, sums, t)
				f.scales(a, p, h, t[0], t[1])
				if f.min {
					a.op("VCVTPH2PS %s, %s", a.w(p, f.minima()+16*h), t[1])
				}
				for r := range a.rows {
					a.op("VCVTDQ2PS %s, %s", sums[r], sums[r])
					a.op("VBROADCASTSS %s, %s", a.d(r), t[2])
					a.op("VMULPS %s, %s, %s", t[2], t[0], t[2])
					a.op("VFMADD231PS %s, %s, %s", t[2], sums[r], acc[p][r][h])
					if f.min {
						a.op("VBROADCASTSS %s, %s", a.s(r, 0), t[2])
						a.op("VFMADD231PS %s, %s, %s", t[2], t[1], acc[p][r][h])
					}
				}
			}
		}
	})
	a.loop(f.bytes(), 32, 4, 4)
	a.store(acc)
}

// half leaves Σ w × x of 8 lanes in sums. Levels are signed: |w| × (x with the
// sign of w), as for Q8_0; other weights are unsigned, and offset × Σx is taken
// off.
func (f nibbles) half(a *asm, p, h int, mask, lut string, sums, t []string) {
	for _, s := range sums {
		a.zero(s)
	}
	if f.plane {
		a.op("VMOVDQU %s, %s", a.w(p, f.high()+32*h), t[3])
	}
	for part := range 4 {
		a.op("VMOVDQU %s, %s", a.w(p, f.parts()+64*part+32*h), t[1])
		a.op("VPAND %s, %s, %s", t[1], mask, t[0])
		a.op("VPSRLW $4, %s, %s", t[1], t[1])
		a.op("VPAND %s, %s, %s", t[1], mask, t[1])
		for j, w := range t[:2] {
			g := part + 4*j
			if f.plane {
				raise(a, g, t[3], t[4])
				a.op("VPAND bit4<>(SB), %s, %s", t[4], t[4])
				a.op("VPOR %s, %s, %s", t[4], w, w)
			}
			if lut != "" {
				a.op("VPSHUFB %s, %s, %s", w, lut, w)
				a.op("VPABSB %s, %s", w, t[2])
			}
			for r, s := range sums {
				a.op("VPBROADCASTD %s, %s", a.x(r, 4*g), t[4])
				if lut != "" {
					a.op("VPSIGNB %s, %s, %s", w, t[4], t[4])
					a.op("VPMADDUBSW %s, %s, %s", t[4], t[2], t[4])
				} else {
					a.op("VPMADDUBSW %s, %s, %s", t[4], w, t[4])
				}
				a.op("VPMADDWD ones<>(SB), %s, %s", t[4], t[4])
				a.op("VPADDD %s, %s, %s", t[4], s, s)
			}
		}
	}
	if f.offset == 0 || lut != "" {
		return
	}
	for r, s := range sums {
		a.op("VPBROADCASTD %s, %s", a.s(r, 0), t[4])
		a.op("VPSLLD $4, %s, %s", t[4], t[4])
		a.op("VPSUBD %s, %s, %s", t[4], s, s)
	}
}

var (
	q4_1  = nibbles{scale: 2, min: true}
	q5_0  = nibbles{scale: 2, plane: true, offset: 16}
	q5_1  = nibbles{scale: 2, min: true, plane: true}
	iq4nl = nibbles{scale: 2, levels: "iq4", offset: 128}
	mxfp4 = nibbles{scale: 1, levels: "fp4", offset: 12}
)

// bit4 keeps bit 4 of each byte.
const bit4 = `
DATA bit4<>+0(SB)/8, $0x1010101010101010
DATA bit4<>+8(SB)/8, $0x1010101010101010
DATA bit4<>+16(SB)/8, $0x1010101010101010
DATA bit4<>+24(SB)/8, $0x1010101010101010
GLOBL bit4<>(SB), RODATA|NOPTR, $32
`

// exponents are 8 times 1 << 23 and 8 times 1 << 21.
const exponents = `
DATA exponent<>+0(SB)/8, $0x0080000000800000
DATA exponent<>+8(SB)/8, $0x0080000000800000
DATA exponent<>+16(SB)/8, $0x0080000000800000
DATA exponent<>+24(SB)/8, $0x0080000000800000
DATA exponent<>+32(SB)/8, $0x0020000000200000
DATA exponent<>+40(SB)/8, $0x0020000000200000
DATA exponent<>+48(SB)/8, $0x0020000000200000
DATA exponent<>+56(SB)/8, $0x0020000000200000
GLOBL exponent<>(SB), RODATA|NOPTR, $64
`

var (
	iq4Levels = [16]int{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}
	fp4Levels = [16]int{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}
)

// levelsData is a table of levels, once plus offset and once signed.
func levelsData(name string, levels [16]int, offset int) string {
	return bytesData(name, levels, offset) + bytesData("signed"+name, levels, 0)
}

func bytesData(name string, levels [16]int, offset int) string {
	s := "\n"
	for half := range 2 {
		var v uint64
		for i := range 8 {
			v |= uint64(uint8(levels[8*half+i]+offset)) << (8 * i)
		}
		s += fmt.Sprintf("DATA %s<>+%d(SB)/8, $%#016x\n", name, 8*half, v)
	}
	return s + fmt.Sprintf("GLOBL %s<>(SB), RODATA|NOPTR, $16\n", name)
}
