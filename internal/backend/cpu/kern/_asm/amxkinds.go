package main

// The expansions of K types: chunks as kblock and planes have them.

// double copies the even or odd word of each dword of sc to the other.
func double(a *asm, odd bool, sc, t string) {
	if odd {
		a.op("VPSRLD $16, %s, %s", sc, sc)
		a.op("VPSLLD $16, %s, %s", sc, t)
	} else {
		a.op("VPSLLD $16, %s, %s", sc, t)
		a.op("VPSRLD $16, %s, %s", t, sc)
	}
	a.op("VPORD %s, %s, %s", t, sc, sc)
}

// scales32 are those of Q4_K and Q5_K: unsigned bytes, a sub-block's 16 together.
func scales32(a *asm, sub int, sc, t string) {
	a.op("VPMOVZXBD %d(DI), %s", 16*sub, sc)
	a.op("VPSLLD $16, %s, %s", sc, t)
	a.op("VPORD %s, %s, %s", t, sc, sc)
}

// signedPairs are signed scales of an even and an odd sub-block side by side.
func signedPairs(a *asm, sub int, sc, t string) {
	a.op("VPMOVSXBW %d(DI), %s", 32*(sub/2), sc)
	double(a, sub%2 == 1, sc, t)
}

// lowPairs are the same in the low nibbles, unsigned.
func lowPairs(a *asm, sub int, sc, t string) {
	a.op("VPMOVZXBW %d(DI), %s", 32*(sub/2), sc)
	a.op("VPSLLW $12, %s, %s", sc, sc)
	a.op("VPSRLW $12, %s, %s", sc, sc)
	double(a, sub%2 == 1, sc, t)
}

// least stores minima as pairs of words, as scaleK wants them.
func least(a *asm, at int, high bool, t string) {
	a.op("VPMOVZXBW %d(DI), %s", at, t)
	if high {
		a.op("VPSRLW $4, %s, %s", t, t)
	}
	a.op("VMOVDQU64 %s, (R8)", t)
	a.op("ADDQ $64, R8")
}

// nibble brings group g's low or high nibbles to w.
func nibble(a *asm, k *expandRegs, at int, high bool, w string) {
	a.op("VMOVDQU64 %d(DI), %s", at, w)
	if high {
		a.op("VPSRLW $4, %s, %s", w, w)
	}
	a.op("VPANDD %s, %s, %s", w, k.mask, w)
}

func nibbleMask(a *asm, k *expandRegs) { k.mask = a.constant('Z', 0x0f0f0f0f) }

var expandQ4K = expandK{
	header: 64, chunk: 576, planes: 2, minima: true, subs: 2,
	consts: nibbleMask, scale: scales32,
	mins:   func(a *asm, t string) { least(a, 32, false, t) },
	quants: func(a *asm, k *expandRegs, sub, g int, w, _ string) { nibble(a, k, 64+64*g, sub == 1, w) },
}

var expandQ5K = expandK{
	header: 64, chunk: 704, planes: 2, minima: true, subs: 2,
	consts: func(a *asm, k *expandRegs) {
		nibbleMask(a, k)
		k.mask2 = a.constant('Z', 0x10101010)
	},
	scale: scales32, mins: expandQ4K.mins,
	quants: func(a *asm, k *expandRegs, sub, g int, w, t string) {
		nibble(a, k, 64+64*g, sub == 1, w)
		a.op("VMOVDQU64 %d(DI), %s", 576+64*sub, t)
		move(a, g, 4, t, t)
		a.op("VPTERNLOGD $0xf8, %s, %s, %s", k.mask2, t, w)
	},
}

var expandQ6K = expandK{
	header: 32, chunk: 832, planes: 2, subs: 4,
	consts: func(a *asm, k *expandRegs) {
		nibbleMask(a, k)
		k.mask2, k.off = a.constant('Z', 0x30303030), a.constant('Z', 0x20202020)
	},
	scale: signedPairs,
	quants: func(a *asm, k *expandRegs, sub, g int, w, t string) {
		nibble(a, k, 64+256*(sub/2)+64*g, sub%2 == 1, w)
		a.op("VMOVDQU64 %d(DI), %s", 576+64*g, t)
		q6kHigh(a, sub, t)
		a.op("VPTERNLOGD $0xf8, %s, %s, %s", k.mask2, t, w)
		a.op("VPSUBB %s, %s, %s", k.off, w, w)
	},
}

var expandIQ4XS = expandK{
	header: 32, chunk: 544, planes: 2, subs: 2,
	consts: func(a *asm, k *expandRegs) {
		nibbleMask(a, k)
		k.lut = a.reg('Z')
		a.op("VBROADCASTI32X4 iq4<>(SB), %s", k.lut)
	},
	scale: signedPairs,
	quants: func(a *asm, k *expandRegs, sub, g int, w, _ string) {
		nibble(a, k, 32+64*g, sub == 1, w)
		a.op("VPSHUFB %s, %s, %s", w, k.lut, w)
	},
}

// crumb brings group g of a format of two bits, and a third, to w.
func crumb(f crumbs) func(a *asm, k *expandRegs, sub, g int, w, t string) {
	return func(a *asm, k *expandRegs, sub, g int, w, t string) {
		f.weights(a, &kregs{mask: k.mask, mask2: k.mask2}, 0, 0, sub, g, w, t)
		if k.off != "" {
			a.op("VPSUBB %s, %s, %s", w, k.off, w)
		}
	}
}

var expandQ2K = expandK{
	header: 64, chunk: crumbs{minima: true}.chunk(), planes: 1, minima: true, subs: 4,
	consts: func(a *asm, k *expandRegs) { k.mask = a.constant('Z', 0x03030303) },
	scale:  lowPairs,
	mins: func(a *asm, t string) {
		least(a, 0, true, t)
		least(a, 32, true, t)
	},
	quants: crumb(crumbs{minima: true}),
}

// Q3_K's products reach +128, which no signed byte holds: they are negated, as
// 4 − q.
var expandQ3K = expandK{
	header: 32, chunk: crumbs{third: true}.chunk(), planes: 1, subs: 4,
	consts: func(a *asm, k *expandRegs) {
		k.mask, k.mask2 = a.constant('Z', 0x03030303), a.constant('Z', 0x04040404)
		k.off = a.constant('Z', 0x04040404)
	},
	scale:  signedPairs,
	quants: crumb(crumbs{third: true}),
}
