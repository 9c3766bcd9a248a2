package main

import "fmt"

// The formats of kern's type planes, as K types: see there for the layouts.

// doubled puts the even or odd word of each dword of reg into both.
func doubled(a *asm, odd bool, reg, t string) {
	if odd {
		a.op("VPSRLD $16, %s, %s", reg, reg)
		a.op("VPSLLD $16, %s, %s", reg, t)
	} else {
		a.op("VPSLLD $16, %s, %s", reg, t)
		a.op("VPSRLD $16, %s, %s", t, reg)
	}
	a.op("VPOR %s, %s, %s", t, reg, reg)
}

// move brings bit from of each byte to bit to; what else moves is masked off.
func move(a *asm, from, to int, reg, dst string) {
	switch {
	case from < to:
		a.op("VPSLLW $%d, %s, %s", to-from, reg, dst)
	case from > to:
		a.op("VPSRLW $%d, %s, %s", from-to, reg, dst)
	case reg[0] == 'Z':
		a.op("VMOVDQA64 %s, %s", reg, dst)
	default:
		a.op("VMOVDQA %s, %s", reg, dst)
	}
}

// minima32 leaves Σ min × (sum of 32 activations) in the dots.
func minima32(chunk int) func(*asm, *kregs, byte, int, int) {
	return func(a *asm, k *kregs, kind byte, p, h int) {
		dots := k.dots[min(p, len(k.dots)-1)]
		for _, reg := range dots {
			a.zero(reg)
		}
		for i := range 4 {
			a.op("VPMOVZXBW %s, %s", a.w(p, -(4-i)*chunk+32+16*h), k.w[0])
			for r, reg := range dots {
				pairs(a, k, kind, a.s(r, -(4-i)*4), k.w[0], reg)
			}
		}
	}
}

// Q5_K is Q4_K with a plane of fifth bits for each sub-block.
var q5k = kblock{
	header: 64, chunk: 64 + 512 + 128, sumStep: 4, sumFirst: 32, minima: true, mask2: 0x10101010,
	offset: minima32(64 + 512 + 128),
	wide: func(a *asm, k *kregs) {
		for sub := range 2 {
			each(k.dots, func(_, _ int, reg string) { a.zero(reg) })
			for g := range 8 {
				for p := range a.panels {
					w := k.w[p]
					a.op("VMOVDQU64 %s, %s", a.w(p, 64+64*g), w)
					a.op("VMOVDQU64 %s, %s", a.w(p, 576+64*sub), k.x)
					if sub == 1 {
						a.op("VPSRLW $4, %s, %s", w, w)
					}
					move(a, g, 4, k.x, k.x)
					a.op("VPANDD %s, %s, %s", w, k.mask, w)
					a.op("VPTERNLOGD $0xf8, %s, %s, %s", k.mask2, k.x, w)
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
			a.op("VPMOVZXBD %s, %s", a.w(p, 16*sub+8*h), k.w[2])
			a.op("VPSLLD $16, %s, %s", k.w[2], k.w[1])
			a.op("VPOR %s, %s, %s", k.w[1], k.w[2], k.w[2])
			for g := range 8 {
				a.op("VMOVDQU %s, %s", a.w(p, 64+64*g+32*h), k.w[0])
				a.op("VMOVDQU %s, %s", a.w(p, 576+64*sub+32*h), k.w[1])
				if sub == 1 {
					a.op("VPSRLW $4, %s, %s", k.w[0], k.w[0])
				}
				move(a, g, 4, k.w[1], k.w[1])
				a.op("VPAND %s, %s, %s", k.w[0], k.mask, k.w[0])
				a.op("VPAND bit4<>(SB), %s, %s", k.w[1], k.w[1])
				a.op("VPOR %s, %s, %s", k.w[1], k.w[0], k.w[0])
				k.words4(a, g, g+8*sub)
			}
		}
	},
}

// words4 adds group g's products, of weights up to 31 in w[0], to words, and
// after each fourth the words, times the scales in w[2], to the products: four
// fit 16 bits, 4 × 2 × 31 × 127; eight would not.
func (k *kregs) words4(a *asm, g, x int) {
	for r, reg := range k.words {
		a.op("VPBROADCASTD %s, %s", a.x(r, 4*x), k.x)
		if g%4 == 0 {
			a.op("VPMADDUBSW %s, %s, %s", k.x, k.w[0], reg)
			continue
		}
		a.op("VPMADDUBSW %s, %s, %s", k.x, k.w[0], k.x)
		a.op("VPADDW %s, %s, %s", k.x, reg, reg)
		if g%4 == 3 {
			a.op("VPMADDWD %s, %s, %s", k.w[2], reg, reg)
			a.op("VPADDD %s, %s, %s", reg, k.products[0][r], k.products[0][r])
		}
	}
}

// IQ4_XS and others have levels for nibbles; AVX-512 takes them plus 128, and 128 × Σ scale
// × (sum of 32 activations) off again, AVX2 takes them signed.
func leveled(levels string, factor bool) kblock {
	f := leveled32
	f.levels, f.factor = levels, factor
	return f
}

var leveled32 = kblock{
	header: 32, chunk: 32 + 512, sumStep: 4, sumFirst: 32, row: &leveledRow,
	wide: func(a *asm, k *kregs) {
		for sub := range 2 {
			each(k.dots, func(_, _ int, reg string) { a.zero(reg) })
			for g := range 8 {
				for p := range a.panels {
					w := k.w[p]
					a.op("VMOVDQU64 %s, %s", a.w(p, 32+64*g), w)
					if sub == 1 {
						a.op("VPSRLW $4, %s, %s", w, w)
					}
					a.op("VPANDD %s, %s, %s", w, k.mask, w)
					a.op("VPSHUFB %s, %s, %s", w, k.lut, w)
				}
				k.dot(a, g+8*sub)
			}
			for p := range a.panels {
				a.op("VPMOVSXBW %s, %s", a.w(p, 0), k.w[0])
				if sub == 0 {
					a.op("VPSLLD $16, %s, %s", k.w[0], k.w[0])
				}
				a.op("VPSRAD $16, %s, %s", k.w[0], k.w[0])
				k.scale(a, p, k.w[0])
			}
		}
	},
	half: func(a *asm, k *kregs, p, h int) {
		for sub := range 2 {
			a.op("VPMOVSXBW %s, %s", a.w(p, 16*h), k.w[2])
			doubled(a, sub == 1, k.w[2], k.w[1])
			for g := range 8 {
				a.op("VMOVDQU %s, %s", a.w(p, 32+64*g+32*h), k.w[0])
				if sub == 1 {
					a.op("VPSRLW $4, %s, %s", k.w[0], k.w[0])
				}
				a.op("VPAND %s, %s, %s", k.w[0], k.mask, k.w[0])
				a.op("VPSHUFB %s, %s, %s", k.w[0], k.lut, k.w[0])
				a.op("VPABSB %s, %s", k.w[0], k.w[1])
				k.signed(a, g+8*sub)
			}
		}
	},
	offset: func(a *asm, k *kregs, kind byte, p, h int) {
		if kind != 'Z' {
			return
		}
		for _, reg := range k.dots[p] {
			a.zero(reg)
		}
		for c := range 4 {
			a.op("VPMOVSXBW %s, %s", a.w(p, -(4-c)*(32+512)), k.w[0])
			for r, reg := range k.dots[p] {
				pairs(a, k, kind, a.s(r, -(4-c)*4), k.w[0], reg)
			}
		}
		for r, reg := range k.dots[p] {
			a.op("VPSLLD $7, %s, %s", reg, reg)
			a.op("VPSUBD %s, %s, %s", reg, k.products[p][r], k.products[p][r])
		}
	},
}

// crumbs are the formats of 16 sub-blocks of two bits, and a third bit in some.
// The bits are unsigned weights, less what offset times the sums of activations
// takes off; or, with levels, they pick those, as in leveled.
type crumbs struct {
	third, minima, levels bool
	shift                 int // without minima: weights are bits − (1 << shift)
}

func (f crumbs) kblock() kblock {
	k := kblock{header: 32, chunk: f.chunk(), sumStep: 8, minima: f.minima, mask: 0x03030303, wide: f.wide, half: f.half, offset: f.offset}
	if f.minima {
		k.header = 64
	}
	if f.third {
		k.mask2 = 0x04040404
	}
	return k
}

func (f crumbs) chunk() int {
	if f.third {
		return 64 + 256 + 128
	}
	return 64 + 256
}

// weights brings group g of sub-block sub, half h, to w; t is free.
func (f crumbs) weights(a *asm, k *kregs, p, h, sub, g int, w, t string) {
	mov, and := "VMOVDQU64", "VPANDD"
	if w[0] == 'Y' {
		mov, and = "VMOVDQU", "VPAND"
	}
	a.op("%s %s, %s", mov, a.w(p, 64+64*g+32*h), w)
	if sub > 0 {
		a.op("VPSRLW $%d, %s, %s", 2*sub, w, w)
	}
	a.op("%s %s, %s, %s", and, w, k.mask, w)
	if f.third {
		a.op("%s %s, %s", mov, a.w(p, 64+256+64*(g/2)+32*h), t)
		move(a, sub+4*(g%2), 2, t, t)
		if w[0] == 'Z' {
			a.op("VPTERNLOGD $0xf8, %s, %s, %s", k.mask2, t, w)
		} else {
			a.op("VPAND bit2<>(SB), %s, %s", t, t)
			a.op("VPOR %s, %s, %s", t, w, w)
		}
	}
	if f.levels {
		a.op("VPSHUFB %s, %s, %s", w, k.lut, w)
	}
}

func (f crumbs) wide(a *asm, k *kregs) {
	for sub := range 4 {
		each(k.dots, func(_, _ int, reg string) { a.zero(reg) })
		for g := range 4 {
			for p := range a.panels {
				f.weights(a, k, p, 0, sub, g, k.w[p], k.x)
			}
			k.dot(a, g+4*sub)
		}
		for p := range a.panels {
			reg := k.w[0]
			a.op("VPMOVSXBW %s, %s", a.w(p, 32*(sub/2)), reg)
			switch {
			case f.minima: // the low nibble of the word
				a.op("VPSLLD $%d, %s, %s", 28-16*(sub%2), reg, reg)
				a.op("VPSRLD $28, %s, %s", reg, reg)
			case sub%2 == 0:
				a.op("VPSLLD $16, %s, %s", reg, reg)
				a.op("VPSRAD $16, %s, %s", reg, reg)
			default:
				a.op("VPSRAD $16, %s, %s", reg, reg)
			}
			k.scale(a, p, reg)
		}
	}
}

func (f crumbs) half(a *asm, k *kregs, p, h int) {
	for sub := range 4 {
		a.op("VPMOVSXBW %s, %s", a.w(p, 32*(sub/2)+16*h), k.w[2])
		if f.minima {
			a.op("VPSLLW $12, %s, %s", k.w[2], k.w[2])
			a.op("VPSRLW $12, %s, %s", k.w[2], k.w[2])
		}
		doubled(a, sub%2 == 1, k.w[2], k.w[1])
		for g := range 4 {
			f.weights(a, k, p, h, sub, g, k.w[0], k.w[1])
			if f.levels {
				a.op("VPABSB %s, %s", k.w[0], k.w[1])
				k.signed(a, g+4*sub)
			} else {
				k.words4(a, g, g+4*sub)
			}
		}
	}
}

// offset is Σ scale × (sum of 16 activations) << shift, taken off, or Σ min ×
// that sum in the dots.
func (f crumbs) offset(a *asm, k *kregs, kind byte, p, h int) {
	shift := f.shift
	if f.levels {
		if shift = 7; kind != 'Z' {
			return // signed there
		}
	}
	i := min(p, len(k.dots)-1)
	for _, reg := range k.dots[i] {
		a.zero(reg)
	}
	for c := range 4 {
		for pair := range 2 {
			at := a.w(p, -(4-c)*f.chunk()+32*pair+16*h)
			if f.minima {
				a.op("VPMOVZXBW %s, %s", at, k.w[0])
				a.op("VPSRLW $4, %s, %s", k.w[0], k.w[0])
			} else {
				a.op("VPMOVSXBW %s, %s", at, k.w[0])
			}
			for r, reg := range k.dots[i] {
				pairs(a, k, kind, a.s(r, -(4-c)*8+4*pair), k.w[0], reg)
			}
		}
	}
	if f.minima {
		return
	}
	for r, reg := range k.dots[i] {
		if shift > 0 {
			a.op("VPSLLD $%d, %s, %s", shift, reg, reg)
		}
		a.op("VPSUBD %s, %s, %s", reg, k.products[i][r], k.products[i][r])
	}
}

// signed adds the products of group x: weights in w[0], their magnitudes in
// w[1], the scales in both words of w[2].
func (k *kregs) signed(a *asm, x int) {
	for r := range k.words {
		a.op("VPBROADCASTD %s, %s", a.x(r, 4*x), k.x)
		a.op("VPSIGNB %s, %s, %s", k.w[0], k.x, k.x)
		a.op("VPMADDUBSW %s, %s, %s", k.x, k.w[1], k.x)
		a.op("VPMADDWD %s, %s, %s", k.w[2], k.x, k.x)
		a.op("VPADDD %s, %s, %s", k.x, k.products[0][r], k.products[0][r])
	}
}

// leveledCrumbs are levels of three bits; their scales have factors.
func leveledCrumbs(levels string) kblock {
	k := crumbs{third: true, levels: true}.kblock()
	k.levels, k.factor = levels, true
	return k
}

var (
	iq4xs  = leveled("iq4", false)
	iq3s   = leveled("iq3s", false)
	iq3xxs = leveled("iq3xxs", true)
	q2k    = crumbs{minima: true}.kblock()
	q3k    = crumbs{third: true, shift: 2}.kblock()
	tq     = crumbs{}.kblock()
	iq2    = leveledCrumbs("iq2")
	iq1    = leveledCrumbs("iq1")

	iq3sLevels   = mirrored(1, 3, 5, 7, 9, 11, 13, 15)
	iq3xxsLevels = mirrored(4, 12, 20, 28, 36, 44, 52, 62)
	iq2Levels    = mirrored(8, 25, 43)
	iq1Levels    = mirrored(1, 7, 9)
)

// mirrored lists the values and then their negatives.
func mirrored(values ...int) (l [16]int) {
	copy(l[:], values)
	for i, v := range values {
		l[len(values)+i] = -v
	}
	return l
}

// factor is a power of two, 8 times as float32.
func factor(bits uint32) string {
	s := "\n"
	for i := range 4 {
		s += fmt.Sprintf("DATA factor<>+%d(SB)/8, $%#08x%08x\n", 8*i, bits, bits)
	}
	return s + "GLOBL factor<>(SB), RODATA|NOPTR, $32\n"
}

const (
	quarter = 0x3e800000
	eighth  = 0x3e000000
)

// bit2 keeps bit 2 of each byte.
const bit2 = `
DATA bit2<>+0(SB)/8, $0x0404040404040404
DATA bit2<>+8(SB)/8, $0x0404040404040404
DATA bit2<>+16(SB)/8, $0x0404040404040404
DATA bit2<>+24(SB)/8, $0x0404040404040404
GLOBL bit2<>(SB), RODATA|NOPTR, $32
`
