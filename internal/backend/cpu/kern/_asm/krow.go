package main

// One row of a K type with AVX-512. Registers are left over there, so that the
// sub-blocks of a chunk that share bytes are summed side by side: their bytes
// are loaded once, and loads are what there are most of.

// krow is that of one format.
type krow struct {
	subs   int // sub-blocks of a chunk
	groups int // of 4 k in a sub-block
	atOnce int // panels whose sub-blocks are summed side by side
	temps  int // registers that weights needs
	// weights brings group g of all sub-blocks of panel p to registers, one after
	// another, and calls dot with each.
	weights func(a *asm, k *kregs, p, g int, t []string, dot func(sub int, w string))
	// scale brings the scale of sub-block sub of panel p to dst.
	scale func(a *asm, p, sub int, dst string)
}

// wide is a kblock's.
func (f *krow) wide(a *asm, k *kregs) {
	for p0 := 0; p0 < a.panels; p0 += f.atOnce {
		p1 := min(p0+f.atOnce, a.panels)
		for p := p0; p < p1; p++ {
			for _, reg := range k.subs[p-p0] {
				a.zero(reg)
			}
		}
		for g := range f.groups {
			for sub := range f.subs {
				a.op("VPBROADCASTD %s, %s", a.x(0, 4*(g+f.groups*sub)), k.xs[sub])
			}
			for p := p0; p < p1; p++ {
				f.weights(a, k, p, g, k.temps, func(sub int, w string) {
					a.op("VPDPBUSD %s, %s, %s", k.xs[sub], w, k.subs[p-p0][sub])
				})
			}
		}
		for p := p0; p < p1; p++ {
			for sub, reg := range k.subs[p-p0] {
				f.scale(a, p, sub, k.temps[0])
				a.op("VPMULLD %s, %s, %s", k.temps[0], reg, reg)
				a.op("VPADDD %s, %s, %s", reg, k.products[p][0], k.products[p][0])
			}
		}
	}
}

// registers hands out what wide needs. Its activations and temporary registers
// are also what a block's end works with, whose dots are the first sums.
func (f *krow) registers(a *asm, k *kregs) {
	k.products, k.xs, k.temps = a.grid('Z'), a.regs('Z', f.subs), a.regs('Z', f.temps)
	for range min(a.panels, f.atOnce) {
		k.subs = append(k.subs, a.regs('Z', f.subs))
	}
	for p := range a.panels {
		k.dots = append(k.dots, k.subs[p%f.atOnce][:1])
	}
	k.x, k.w = k.xs[0], k.temps
}

// nibblePair is two sub-blocks in the low and high nibbles of group g's bytes.
func nibblePair(a *asm, k *kregs, from, lo, hi string) {
	a.op("VMOVDQU64 %s, %s", from, hi)
	a.op("VPANDD %s, %s, %s", hi, k.mask, lo)
	a.op("VPSRLW $4, %s, %s", hi, hi)
	a.op("VPANDD %s, %s, %s", hi, k.mask, hi)
}

func byteScale(a *asm, p, sub int, dst string) { a.op("VPMOVZXBD %s, %s", a.w(p, 16*sub), dst) }

// wordScale is for signed scales of two sub-blocks that lie together.
func wordScale(a *asm, p, sub int, dst string) {
	a.op("VPMOVSXBW %s, %s", a.w(p, 32*(sub/2)), dst)
	if sub%2 == 0 {
		a.op("VPSLLD $16, %s, %s", dst, dst)
	}
	a.op("VPSRAD $16, %s, %s", dst, dst)
}

var q4kRow = krow{
	subs: 2, groups: 8, atOnce: 4, temps: 2, scale: byteScale,
	weights: func(a *asm, k *kregs, p, g int, t []string, dot func(int, string)) {
		nibblePair(a, k, a.w(p, 64+64*g), t[0], t[1])
		dot(0, t[0])
		dot(1, t[1])
	},
}

var leveledRow = krow{
	subs: 2, groups: 8, atOnce: 4, temps: 2, scale: wordScale,
	weights: func(a *asm, k *kregs, p, g int, t []string, dot func(int, string)) {
		nibblePair(a, k, a.w(p, 32+64*g), t[0], t[1])
		for sub := range 2 {
			a.op("VPSHUFB %s, %s, %s", t[sub], k.lut, t[sub])
			dot(sub, t[sub])
		}
	},
}

var q6kRow = krow{
	subs: 4, groups: 4, atOnce: 2, temps: 4, scale: wordScale,
	weights: func(a *asm, k *kregs, p, g int, t []string, dot func(int, string)) {
		lo, hi, high, bits := t[0], t[1], t[2], t[3]
		a.op("VMOVDQU64 %s, %s", a.w(p, 576+64*g), high)
		for sub := range 4 {
			w := lo
			if sub%2 == 0 {
				nibblePair(a, k, a.w(p, 64+256*(sub/2)+64*g), lo, hi)
			} else {
				w = hi
			}
			move(a, 2*sub, 4, high, bits)
			a.op("VPTERNLOGD $0xf8, %s, %s, %s", k.mask2, bits, w)
			dot(sub, w)
		}
	},
}
