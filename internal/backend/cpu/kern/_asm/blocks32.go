package main

// A block32 is a format of 32 values and one f16 scale: Q8_0 and Q4_0. Both
// store unsigned weights; offset × Σx is taken off by starting the integer
// sums there.
type block32 struct {
	bytes  int // of a panel block
	offset int
	// load brings step i's weights of panel p to registers of values 0…255 and
	// tells which group of 4 activations each of them meets.
	steps int
	load  func(a *asm, i, p int, mask string, regs []string) (groups []int)
	regs  int // registers that load fills
	// half is AVX2's integer part for one half panel and all rows, with a
	// constant of its own, flip.
	half func(a *asm, p, h int, flip string, sums, t []string)
	flip uint32
	mask uint32 // a constant that load needs, or 0
}

// avx512 emits panels × rows with the integer sums in registers.
func (f block32) avx512(a *asm) {
	start := a.constant('Z', uint32(-f.offset))
	mask := ""
	if f.mask != 0 {
		mask = a.constant('Z', f.mask)
	}
	a.begin(true)
	acc := a.accumulators('Z', 1)
	sums := a.grid('Z')
	w := make([][]string, a.panels)
	for p := range w {
		w[p] = a.regs('Z', f.regs)
	}
	x := a.reg('Z')
	a.label("loop")
	a.spread(f.bytes, func() {
		for r := range a.rows {
			a.op("VPMULLD.BCST %s, %s, %s", a.s(r, 0), start, sums[0][r])
			for p := 1; p < a.panels; p++ {
				a.op("VMOVDQA64 %s, %s", sums[0][r], sums[p][r])
			}
		}
		for i := range f.steps {
			var groups []int
			for p := range a.panels {
				groups = f.load(a, i, p, mask, w[p])
			}
			for j, g := range groups {
				for r := range a.rows {
					if a.panels == 1 {
						a.op("VPDPBUSD.BCST %s, %s, %s", a.x(r, 4*g), w[0][j], sums[0][r])
						continue
					}
					a.op("VPBROADCASTD %s, %s", a.x(r, 4*g), x)
					for p := range a.panels {
						a.op("VPDPBUSD %s, %s, %s", x, w[p][j], sums[p][r])
					}
				}
			}
		}
		a.comment("acc = fma(float(sum), dw × dx, acc)")
		for p := range a.panels {
			a.op("VCVTPH2PS %s, %s", a.w(p, 0), w[p][0])
		}
		for r := range a.rows {
			for p := range a.panels {
				a.op("VCVTDQ2PS %s, %s", sums[p][r], sums[p][r])
				a.op("VMULPS.BCST %s, %s, %s", a.d(r), w[p][0], x)
				a.op("VFMADD231PS %s, %s, %s", x, sums[p][r], acc[p][r][0])
			}
		}
	})
	a.loop(f.bytes, 32, 4, 4)
	a.store(acc)
}

var q8_0 = block32{
	bytes: 544, offset: 128, steps: 8, regs: 1, half: halfQ8_0, flip: 0x80808080,
	load: func(a *asm, i, p int, mask string, regs []string) []int {
		a.op("VMOVDQU64 %s, %s", a.w(p, 32+64*i), regs[0])
		return []int{i}
	},
}

var q4_0 = block32{
	bytes: 288, offset: 8, steps: 4, regs: 2, mask: 0x0f0f0f0f, half: halfQ4_0, flip: 0x0f0f0f0f,
	load: func(a *asm, i, p int, mask string, regs []string) []int {
		a.op("VMOVDQU64 %s, %s", a.w(p, 32+64*i), regs[1])
		a.op("VPANDD %s, %s, %s", regs[1], mask, regs[0])
		a.op("VPSRLW $4, %s, %s", regs[1], regs[1])
		a.op("VPANDD %s, %s, %s", regs[1], mask, regs[1])
		return []int{i, i + 4}
	},
}

// avx2 emits one kernel for panels × 1 or 1 × rows: the integer sums of one
// half panel and one row, or of one half panel and all rows, live in registers
// at a time, so that 16 registers do.
func (f block32) avx2(a *asm) {
	flip := a.constant('Y', f.flip)
	a.begin(true)
	acc := a.accumulators('Y', 2)
	sums := a.regs('Y', a.rows)
	t := a.regs('Y', 3)
	a.label("loop")
	a.spread(f.bytes, func() {
		for p := range a.panels {
			for h := range 2 {
				f.half(a, p, h, flip, sums, t)
				a.op("VCVTPH2PS %s, %s", a.w(p, 16*h), t[0])
				for r := range a.rows {
					a.op("VCVTDQ2PS %s, %s", sums[r], sums[r])
					a.op("VBROADCASTSS %s, %s", a.d(r), t[1])
					a.op("VMULPS %s, %s, %s", t[1], t[0], t[1])
					a.op("VFMADD231PS %s, %s, %s", t[1], sums[r], acc[p][r][h])
				}
			}
		}
	})
	a.loop(f.bytes, 32, 4, 4)
	a.store(acc)
}

// ones is what VPMADDWD adds 16-bit pairs with; in memory, for want of registers.
const ones = `
DATA ones<>+0(SB)/8, $0x0001000100010001
DATA ones<>+8(SB)/8, $0x0001000100010001
DATA ones<>+16(SB)/8, $0x0001000100010001
DATA ones<>+24(SB)/8, $0x0001000100010001
GLOBL ones<>(SB), RODATA|NOPTR, $32
`

// halfQ8_0 leaves Σ w × x of 8 lanes in sums. |w| × (x with the sign of w)
// stays within 16 bits where VPMADDUBSW adds two, at most 2 × 128 × 127; with
// w + 128 it would saturate.
func halfQ8_0(a *asm, p, h int, flip string, sums, t []string) {
	for _, s := range sums {
		a.zero(s)
	}
	for g := range 8 {
		a.op("VPXOR %s, %s, %s", a.w(p, 32+64*g+32*h), flip, t[0])
		a.op("VPABSB %s, %s", t[0], t[1])
		for r, s := range sums {
			a.op("VPBROADCASTD %s, %s", a.x(r, 4*g), t[2])
			a.op("VPSIGNB %s, %s, %s", t[0], t[2], t[2])
			a.op("VPMADDUBSW %s, %s, %s", t[2], t[1], t[2])
			a.op("VPMADDWD ones<>(SB), %s, %s", t[2], t[2])
			a.op("VPADDD %s, %s, %s", t[2], s, s)
		}
	}
}

// halfQ4_0 leaves Σ (w − 8) × x of 8 lanes in sums. With w ≤ 15 all 8 groups
// fit 16 bits: 8 × 2 × 15 × 127 = 30480.
func halfQ4_0(a *asm, p, h int, mask string, sums, t []string) {
	for _, s := range sums {
		a.zero(s)
	}
	for part := range 4 {
		a.op("VMOVDQU %s, %s", a.w(p, 32+64*part+32*h), t[1])
		a.op("VPAND %s, %s, %s", t[1], mask, t[0])
		a.op("VPSRLW $4, %s, %s", t[1], t[1])
		a.op("VPAND %s, %s, %s", t[1], mask, t[1])
		for high, w := range t[:2] {
			for r, s := range sums {
				a.op("VPBROADCASTD %s, %s", a.x(r, 4*part+16*high), t[2])
				a.op("VPMADDUBSW %s, %s, %s", t[2], w, t[2])
				a.op("VPADDW %s, %s, %s", t[2], s, s)
			}
		}
	}
	for r, s := range sums {
		a.op("VPMADDWD ones<>(SB), %s, %s", s, s)
		a.op("VPBROADCASTD %s, %s", a.s(r, 0), t[2])
		a.op("VPSLLD $3, %s, %s", t[2], t[2])
		a.op("VPSUBD %s, %s, %s", t[2], s, s)
	}
}
