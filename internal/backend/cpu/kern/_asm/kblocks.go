package main

// The K types: 256 values, whose sub-blocks have integer scales. A panel block
// is a header and 4 chunks of 64 k; the loop over chunks moves DI, DX and R13
// along.
type kblock struct {
	header, chunk int
	sumStep       int // bytes of sums that a chunk takes
	sumFirst      int // where in a block's sums they begin

	// wide and half emit one chunk: products += Σ scale × (quants · activations),
	// for AVX-512, and for half a panel with AVX2.
	wide func(a *asm, k *kregs)
	half func(a *asm, k *kregs, p, h int)
	row  *krow // of wide for one row, or nil
	// offset takes Σ x off again or leaves the minima in k.dots, for one panel
	// (and half); DI and R13 are behind the chunks.
	offset func(a *asm, k *kregs, kind byte, p, h int)
	minima bool

	mask, mask2 uint32 // constants of wide, 0: 0x0f in each byte, and none; half has the first
	levels      string // levels of nibbles, in lut: for AVX2 those of signed<levels>
	factor      bool   // of the scales, in memory
}

// kregs are the registers of a K type's kernel.
type kregs struct {
	products, dots [][]string // [panel][row]; AVX2: one panel's at a time
	w              []string
	x              string
	mask, mask2    string
	lut            string
	words          []string // AVX2: 16-bit sums of a row

	xs, temps []string // of one row, see krow
	subs      [][]string
}

// constants hands out what stays in registers.
func (f kblock) constants(a *asm, k *kregs, kind byte) {
	mask := f.mask
	if mask == 0 {
		mask = 0x0f0f0f0f
	}
	k.mask = a.constant(kind, mask)
	if f.mask2 != 0 && kind == 'Z' {
		k.mask2 = a.constant(kind, f.mask2)
	}
	if f.levels == "" {
		return
	}
	k.lut = a.reg(kind)
	if kind == 'Z' {
		a.op("VBROADCASTI32X4 %s<>(SB), %s", f.levels, k.lut)
	} else {
		a.op("VBROADCASTI128 signed%s<>(SB), %s", f.levels, k.lut)
	}
}

// begin loads the arguments and moves on to the first chunk.
func (f kblock) begin(a *asm) {
	a.frame = 8
	a.begin(true)
	a.walk(f.header)
	if f.sumFirst > 0 {
		a.op("ADDQ $%d, R13", f.sumFirst)
	}
}

// back is an offset from behind the chunks to a block's chunk i, or to its
// header for −1.
func (f kblock) back(i int) int {
	if i < 0 {
		return -f.header - 4*f.chunk
	}
	return (i - 4) * f.chunk
}

// next closes the block loop: DI and R13 are behind the chunks.
func (f kblock) next(a *asm, acc [][][]string) {
	a.walk(f.header)
	a.op("ADDQ $%d, R13", 48-4*f.sumStep)
	a.op("ADDQ $4, BX")
	a.op("DECQ R10")
	a.op("JNZ loop")
	if a.rows == 1 {
		a.op("SUBQ $%d, DI", f.header) // begin adds it again
	}
	a.store(acc)
}

func (f kblock) avx512(a *asm) {
	var k kregs
	f.constants(a, &k, 'Z')
	f.begin(a)
	acc := a.accumulators('Z', 1)
	wide := f.wide
	if f.row != nil && a.rows == 1 {
		f.row.registers(a, &k)
		wide = f.row.wide
	} else {
		k.products, k.dots = a.grid('Z'), a.grid('Z')
		k.w = a.regs('Z', max(2, a.panels))
		k.x = a.reg('Z')
	}
	a.label("loop")
	each(k.products, func(_, _ int, reg string) { a.zero(reg) })
	a.op("MOVQ $4, chunks-8(SP)")
	a.label("chunk")
	a.spread(f.chunk, func() { wide(a, &k) })
	a.walk(f.chunk)
	a.op("ADDQ $64, DX")
	a.op("ADDQ $%d, R13", f.sumStep)
	a.op("DECQ chunks-8(SP)")
	a.op("JNZ chunk")
	a.spread(f.header, func() {
		for p := range a.panels {
			f.offset(a, &k, 'Z', p, 0)
			a.op("VCVTPH2PS %s, %s", a.w(p, f.back(-1)), k.w[0])
			if f.factor {
				a.op("VMULPS.BCST factor<>(SB), %s, %s", k.w[0], k.w[0])
			}
			for r := range a.rows {
				f.add(a, 'Z', r, k.products[p][r], k.w[0], k.x, acc[p][r][0], "VFMADD231PS")
			}
			if f.minima {
				a.op("VCVTPH2PS %s, %s", a.w(p, f.back(-1)+32), k.w[0])
				for r := range a.rows {
					f.add(a, 'Z', r, k.dots[p][r], k.w[0], k.x, acc[p][r][0], "VFNMADD231PS")
				}
			}
		}
	})
	f.next(a, acc)
}

// add is acc = fma(±float(sum), dw × dx, acc).
func (f kblock) add(a *asm, kind byte, r int, sum, dw, t, acc, op string) {
	a.op("VCVTDQ2PS %s, %s", sum, sum)
	if kind == 'Z' {
		a.op("VMULPS.BCST %s, %s, %s", a.d(r), dw, t)
	} else {
		a.op("VBROADCASTSS %s, %s", a.d(r), t)
		a.op("VMULPS %s, %s, %s", t, dw, t)
	}
	a.op("%s %s, %s, %s", op, t, sum, acc)
}

func each(g [][]string, f func(p, r int, reg string)) {
	for p := range g {
		for r, reg := range g[p] {
			f(p, r, reg)
		}
	}
}

// dot adds group g of the chunk: weights in w, one register for each panel. An
// activation is loaded once for all panels: loads are what there are most of.
func (k *kregs) dot(a *asm, g int) {
	for r := range a.rows {
		if a.panels == 1 {
			a.op("VPDPBUSD.BCST %s, %s, %s", a.x(r, 4*g), k.w[0], k.dots[0][r])
			continue
		}
		a.op("VPBROADCASTD %s, %s", a.x(r, 4*g), k.x)
		for p := range a.panels {
			a.op("VPDPBUSD %s, %s, %s", k.x, k.w[p], k.dots[p][r])
		}
	}
}

// scale adds the dots of panel p, times the scales in reg, to the products.
func (k *kregs) scale(a *asm, p int, reg string) {
	for r := range a.rows {
		a.op("VPMULLD %s, %s, %s", reg, k.dots[p][r], k.dots[p][r])
		a.op("VPADDD %s, %s, %s", k.dots[p][r], k.products[p][r], k.products[p][r])
	}
}

var q4k = kblock{
	header: 64, chunk: 576, sumStep: 4, sumFirst: 32, minima: true, row: &q4kRow,
	wide: func(a *asm, k *kregs) {
		for sub := range 2 {
			each(k.dots, func(_, _ int, reg string) { a.zero(reg) })
			for g := range 8 {
				for p := range a.panels {
					w := k.w[p]
					a.op("VMOVDQU64 %s, %s", a.w(p, 64+64*g), w)
					if sub == 1 {
						a.op("VPSRLW $4, %s, %s", w, w)
					}
					a.op("VPANDD %s, %s, %s", w, k.mask, w)
				}
				k.dot(a, g+8*sub)
			}
			for p := range a.panels {
				a.op("VPMOVZXBD %s, %s", a.w(p, 16*sub), k.w[0])
				k.scale(a, p, k.w[0])
			}
		}
	},
	half: func(a *asm, k *kregs, p, h int) {
		for sub := range 2 {
			for _, reg := range k.words {
				a.zero(reg)
			}
			for g := range 8 {
				a.op("VMOVDQU %s, %s", a.w(p, 64+64*g+32*h), k.w[0])
				if sub == 1 {
					a.op("VPSRLW $4, %s, %s", k.w[0], k.w[0])
				}
				a.op("VPAND %s, %s, %s", k.w[0], k.mask, k.w[0])
				for r, reg := range k.words {
					a.op("VPBROADCASTD %s, %s", a.x(r, 4*(g+8*sub)), k.x)
					a.op("VPMADDUBSW %s, %s, %s", k.x, k.w[0], k.x)
					a.op("VPADDW %s, %s, %s", k.x, reg, reg)
				}
			}
			a.comment("Each half of a lane's dword holds a sum, at most 8 × 2 × 15 × 127; the scale goes to both.")
			a.op("VPMOVZXBD %s, %s", a.w(p, 16*sub+8*h), k.w[0])
			a.op("VPSLLD $16, %s, %s", k.w[0], k.w[1])
			a.op("VPOR %s, %s, %s", k.w[0], k.w[1], k.w[0])
			for r, reg := range k.words {
				a.op("VPMADDWD %s, %s, %s", k.w[0], reg, reg)
				a.op("VPADDD %s, %s, %s", reg, k.products[0][r], k.products[0][r])
			}
		}
	},
	offset: minima32(576), // pairs of words, mins times sums of 32 activations
}

// pairs adds the two products of words of each lane to sum.
func pairs(a *asm, k *kregs, kind byte, sums, words, sum string) {
	if kind == 'Z' {
		a.op("VPDPWSSD.BCST %s, %s, %s", sums, words, sum)
		return
	}
	a.op("VPBROADCASTD %s, %s", sums, k.x)
	a.op("VPMADDWD %s, %s, %s", k.x, words, k.x)
	a.op("VPADDD %s, %s, %s", k.x, sum, sum)
}

var q6k = kblock{
	header: 32, chunk: 832, sumStep: 8, mask2: 0x30303030, row: &q6kRow,
	wide: func(a *asm, k *kregs) {
		for sub := range 4 {
			each(k.dots, func(_, _ int, reg string) { a.zero(reg) })
			for g := range 4 {
				for p := range a.panels {
					w := k.w[p]
					a.op("VMOVDQU64 %s, %s", a.w(p, 64+256*(sub/2)+64*g), w)
					a.op("VMOVDQU64 %s, %s", a.w(p, 576+64*g), k.x)
					if sub%2 == 1 {
						a.op("VPSRLW $4, %s, %s", w, w)
					}
					q6kHigh(a, sub, k.x)
					a.op("VPANDD %s, %s, %s", w, k.mask, w)
					a.comment("low | high & 0x30")
					a.op("VPTERNLOGD $0xf8, %s, %s, %s", k.mask2, k.x, w)
				}
				k.dot(a, g+4*sub)
			}
			for p := range a.panels {
				a.op("VPMOVSXBW %s, %s", a.w(p, 32*(sub/2)), k.w[0])
				if sub%2 == 0 {
					a.op("VPSLLD $16, %s, %s", k.w[0], k.w[0])
				}
				a.op("VPSRAD $16, %s, %s", k.w[0], k.w[0])
				k.scale(a, p, k.w[0])
			}
		}
	},
	half: func(a *asm, k *kregs, p, h int) {
		for sub := range 4 {
			a.op("VPMOVSXBW %s, %s", a.w(p, 32*(sub/2)+16*h), k.w[2])
			a.comment("The sub-block's scale to both words of each lane.")
			if sub%2 == 0 {
				a.op("VPSLLD $16, %s, %s", k.w[2], k.w[1])
				a.op("VPSRLD $16, %s, %s", k.w[1], k.w[2])
			} else {
				a.op("VPSRLD $16, %s, %s", k.w[2], k.w[2])
				a.op("VPSLLD $16, %s, %s", k.w[2], k.w[1])
			}
			a.op("VPOR %s, %s, %s", k.w[1], k.w[2], k.w[2])
			for g := range 4 {
				a.op("VMOVDQU %s, %s", a.w(p, 64+256*(sub/2)+64*g+32*h), k.w[0])
				a.op("VMOVDQU %s, %s", a.w(p, 576+64*g+32*h), k.w[1])
				if sub%2 == 1 {
					a.op("VPSRLW $4, %s, %s", k.w[0], k.w[0])
				}
				q6kHigh(a, sub, k.w[1])
				a.op("VPAND %s, %s, %s", k.w[0], k.mask, k.w[0])
				a.op("VPAND mask30<>(SB), %s, %s", k.w[1], k.w[1])
				a.op("VPOR %s, %s, %s", k.w[1], k.w[0], k.w[0])
				for r, reg := range k.words {
					a.op("VPBROADCASTD %s, %s", a.x(r, 4*(g+4*sub)), k.x)
					a.op("VPMADDUBSW %s, %s, %s", k.x, k.w[0], k.x)
					if g%2 == 0 {
						a.op("VMOVDQA %s, %s", k.x, reg)
						continue
					}
					a.comment("Two groups fit 16 bits, 2 × 2 × 63 × 127; four would not.")
					a.op("VPADDW %s, %s, %s", k.x, reg, reg)
					a.op("VPMADDWD %s, %s, %s", k.w[2], reg, reg)
					a.op("VPADDD %s, %s, %s", reg, k.products[0][r], k.products[0][r])
				}
			}
		}
	},
	// 32 × Σ scale × (sum of 16 activations).
	offset: func(a *asm, k *kregs, kind byte, p, h int) {
		i := min(p, len(k.dots)-1)
		for _, reg := range k.dots[i] {
			a.zero(reg)
		}
		for c := range 4 {
			for pair := range 2 {
				a.op("VPMOVSXBW %s, %s", a.w(p, -(4-c)*832+32*pair+16*h), k.w[0])
				for r, reg := range k.dots[i] {
					pairs(a, k, kind, a.s(r, -(4-c)*8+4*pair), k.w[0], reg)
				}
			}
		}
		for r, reg := range k.dots[i] {
			a.op("VPSLLD $5, %s, %s", reg, reg)
			a.op("VPSUBD %s, %s, %s", reg, k.products[i][r], k.products[i][r])
		}
	},
}

// q6kHigh brings the bits of sub-block sub to bits 4 and 5 of each byte.
func q6kHigh(a *asm, sub int, reg string) {
	switch {
	case sub < 2:
		a.op("VPSLLW $%d, %s, %s", 4-2*sub, reg, reg)
	case sub == 3:
		a.op("VPSRLW $2, %s, %s", reg, reg)
	}
}

const mask30 = `
DATA mask30<>+0(SB)/8, $0x3030303030303030
DATA mask30<>+8(SB)/8, $0x3030303030303030
DATA mask30<>+16(SB)/8, $0x3030303030303030
DATA mask30<>+24(SB)/8, $0x3030303030303030
GLOBL mask30<>(SB), RODATA|NOPTR, $32
`

// avx2 takes the panels and halves of a chunk one after another.
func (f kblock) avx2(a *asm) {
	var k kregs
	f.constants(a, &k, 'Y')
	f.begin(a)
	acc := a.accumulators('Y', 2)
	products := make([][2][]string, a.panels)
	for p := range products {
		products[p] = [2][]string{a.regs('Y', a.rows), a.regs('Y', a.rows)}
	}
	k.words = a.regs('Y', a.rows)
	k.dots = [][]string{k.words}
	k.w = a.regs('Y', 3)
	k.x = a.reg('Y')
	halves := func(do func(p, h int)) func() {
		return func() {
			for p := range products {
				for h := range 2 {
					k.products = [][]string{products[p][h]}
					do(p, h)
				}
			}
		}
	}
	a.label("loop")
	halves(func(_, _ int) {
		for _, reg := range k.products[0] {
			a.zero(reg)
		}
	})()
	a.op("MOVQ $4, chunks-8(SP)")
	a.label("chunk")
	a.spread(f.chunk, halves(func(p, h int) { f.half(a, &k, p, h) }))
	a.walk(f.chunk)
	a.op("ADDQ $64, DX")
	a.op("ADDQ $%d, R13", f.sumStep)
	a.op("DECQ chunks-8(SP)")
	a.op("JNZ chunk")
	a.spread(f.header, halves(func(p, h int) {
		f.offset(a, &k, 'Y', p, h)
		a.op("VCVTPH2PS %s, %s", a.w(p, f.back(-1)+16*h), k.w[0])
		if f.factor {
			a.op("VMULPS factor<>(SB), %s, %s", k.w[0], k.w[0])
		}
		for r := range a.rows {
			f.add(a, 'Y', r, k.products[0][r], k.w[0], k.x, acc[p][r][h], "VFMADD231PS")
		}
		if f.minima {
			a.op("VCVTPH2PS %s, %s", a.w(p, f.back(-1)+32+16*h), k.w[0])
			for r := range a.rows {
				f.add(a, 'Y', r, k.words[r], k.w[0], k.x, acc[p][r][h], "VFNMADD231PS")
			}
		}
	}))
	f.next(a, acc)
}
