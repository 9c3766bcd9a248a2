package main

// The expansion of a panel's blocks to signed bytes, 64 for each group of 4 k,
// and of its scales to floats. Registers: DI panel, DX bytes, BX scales, R10
// blocks left or chunks.

func expandArgs(a *asm) {
	a.op("MOVQ a+0(FP), AX")
	a.op("MOVQ 0(AX), DI")
	a.op("MOVQ 8(AX), DX")
	a.op("MOVQ 16(AX), BX")
}

// expand32 expands blocks of 32 values of one panel: 512 bytes each, 1024 apart,
// for the other panel's lie between; a block's 16 scales are 64 bytes, minima
// the same 512 bytes on.
type expand32 struct {
	bytes  int
	scales func(a *asm, dst, t string)
	minima int                                       // where they begin, or 0
	step   func(a *asm, i int, w []string, t string) // brings values of groups i and i + 4 to w
	consts func(a *asm)
}

func (f expand32) emit(a *asm) {
	f.consts(a)
	expandArgs(a)
	a.op("MOVQ 24(AX), R10")
	w, t := a.regs('Z', 2), a.reg('Z')
	a.label("loop")
	for i := range 4 {
		f.step(a, i, w, t)
		a.op("VMOVDQU64 %s, %d(DX)", w[0], 64*i)
		a.op("VMOVDQU64 %s, %d(DX)", w[1], 64*(i+4))
	}
	f.scales(a, w[0], t)
	a.op("VMOVUPS %s, (BX)", w[0])
	if f.minima > 0 {
		a.op("VCVTPH2PS %d(DI), %s", f.minima, w[0])
		a.op("VMOVUPS %s, 512(BX)", w[0])
	}
	a.op("ADDQ $%d, DI", f.bytes)
	a.op("ADDQ $1024, DX")
	a.op("ADDQ $64, BX")
	a.op("DECQ R10")
	a.op("JNZ loop")
	a.op("VZEROUPPER")
	a.op("RET")
}

// expandQ8_0 takes the 128 off again.
func expandQ8_0(a *asm) {
	var flip string
	expand32{
		bytes:  544,
		consts: func(a *asm) { flip = a.constant('Z', 0x80808080) },
		scales: func(a *asm, dst, _ string) { a.op("VCVTPH2PS (DI), %s", dst) },
		step: func(a *asm, i int, w []string, _ string) {
			for j, reg := range w {
				a.op("VPXORD %d(DI), %s, %s", 32+64*(i+4*j), flip, reg)
			}
		},
	}.emit(a)
}

// expandNibbles expands formats whose low four bits lie as in Q4_0. levels is
// a table of signed bytes; other values are less offset.
func expandNibbles(f nibbles, levels string) func(*asm) {
	return func(a *asm) {
		var mask, bit, lut, off string
		x := expand32{bytes: f.bytes(), scales: func(a *asm, dst, t string) { a.panels = 1; f.scales(a, 0, 0, dst, t) }}
		if f.min {
			x.minima = f.minima()
		}
		x.consts = func(a *asm) {
			mask = a.constant('Z', 0x0f0f0f0f)
			if f.plane {
				bit = a.constant('Z', 0x10101010)
			}
			switch {
			case levels != "":
				lut = a.reg('Z')
				a.op("VBROADCASTI32X4 %s<>(SB), %s", levels, lut)
			case f.offset > 0:
				off = a.constant('Z', uint32(f.offset)*0x01010101)
			}
		}
		x.step = func(a *asm, i int, w []string, t string) {
			a.op("VMOVDQU64 %d(DI), %s", f.parts()+64*i, w[1])
			a.op("VPANDD %s, %s, %s", w[1], mask, w[0])
			a.op("VPSRLW $4, %s, %s", w[1], w[1])
			a.op("VPANDD %s, %s, %s", w[1], mask, w[1])
			for j, reg := range w {
				if f.plane {
					a.op("VMOVDQU64 %d(DI), %s", f.high(), t)
					raise(a, i+4*j, t, t)
					a.op("VPTERNLOGD $0xf8, %s, %s, %s", bit, t, reg)
				}
				if levels != "" {
					a.op("VPSHUFB %s, %s, %s", reg, lut, reg)
				} else if f.offset > 0 {
					a.op("VPSUBB %s, %s, %s", off, reg, reg)
				}
			}
		}
		x.emit(a)
	}
}

// expandK expands one block of a K type: scale × quant of 256 k in one plane of
// bytes, or in two as 64 × high + low, of 4096 bytes each; the scales as scaleK
// wants them. The loop takes a chunk of 64 k.
type expandK struct {
	header, chunk int
	planes        int
	minima        bool
	subs          int // sub-blocks of a chunk
	consts        func(a *asm, k *expandRegs)
	scale         func(a *asm, sub int, sc, t string)                  // to both words of each dword of sc
	quants        func(a *asm, k *expandRegs, sub, g int, w, t string) // group g of the sub-block as signed bytes
	mins          func(a *asm, t string)                               // those of the chunk to (R8), or nil
}

// expandRegs are registers of constants.
type expandRegs struct {
	mask, mask2, off, lut string
	even, low             string // words' low bytes, and six bits of each byte
}

func (f expandK) emit(a *asm) {
	var k expandRegs
	k.even = a.constant('Z', 0x00ff00ff)
	if f.planes == 2 {
		k.low = a.constant('Z', 0x3f3f3f3f)
	}
	f.consts(a, &k)
	expandArgs(a)
	sc, w, even, odd, t := a.reg('Z'), a.reg('Z'), a.reg('Z'), a.reg('Z'), a.reg('Z')
	a.op("VCVTPH2PS (DI), %s", t)
	a.op("VMOVUPS %s, (BX)", t)
	if f.minima {
		a.op("VCVTPH2PS 32(DI), %s", t)
		a.op("VMOVUPS %s, 64(BX)", t)
		a.op("LEAQ 128(BX), R8")
	}
	a.op("ADDQ $%d, DI", f.header)
	a.op("MOVQ $4, R10")
	a.label("chunk")
	if f.mins != nil {
		f.mins(a, t)
	}
	groups := 16 / f.subs
	for sub := range f.subs {
		f.scale(a, sub, sc, t)
		for g := range groups {
			f.quants(a, &k, sub, g, w, t)
			at := 64 * (groups*sub + g)
			a.op("VPSLLW $8, %s, %s", w, even)
			a.op("VPSRAW $8, %s, %s", even, even)
			a.op("VPSRAW $8, %s, %s", w, odd)
			a.op("VPMULLW %s, %s, %s", sc, even, even)
			a.op("VPMULLW %s, %s, %s", sc, odd, odd)
			if f.planes == 1 {
				a.op("VPSLLW $8, %s, %s", odd, odd)
				a.op("VPTERNLOGD $0xe2, %s, %s, %s", odd, k.even, even)
				a.op("VMOVDQU64 %s, %d(DX)", even, at)
				continue
			}
			a.op("VPSLLW $8, %s, %s", odd, t)
			a.op("VMOVDQA64 %s, %s", even, w)
			a.op("VPTERNLOGD $0xe2, %s, %s, %s", t, k.even, w)
			a.op("VPANDD %s, %s, %s", w, k.low, w)
			a.op("VMOVDQU64 %s, %d(DX)", w, at)
			a.op("VPSRAW $6, %s, %s", even, even)
			a.op("VPSLLW $2, %s, %s", odd, odd)
			a.op("VPTERNLOGD $0xe2, %s, %s, %s", odd, k.even, even)
			a.op("VMOVDQU64 %s, %d(DX)", even, 4096+at)
		}
	}
	a.op("ADDQ $%d, DI", f.chunk)
	a.op("ADDQ $1024, DX")
	a.op("DECQ R10")
	a.op("JNZ chunk")
	a.op("VZEROUPPER")
	a.op("RET")
}
