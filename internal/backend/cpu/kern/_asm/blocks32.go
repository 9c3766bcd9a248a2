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
	regs  int    // registers that load fills
	mask  uint32 // a constant that load needs, or 0
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
	a.loop(f.bytes, 32, 4, 4)
	a.store(acc)
}

var q8_0 = block32{
	bytes: 544, offset: 128, steps: 8, regs: 1,
	load: func(a *asm, i, p int, mask string, regs []string) []int {
		a.op("VMOVDQU64 %s, %s", a.w(p, 32+64*i), regs[0])
		return []int{i}
	},
}

var q4_0 = block32{
	bytes: 288, offset: 8, steps: 4, regs: 2, mask: 0x0f0f0f0f,
	load: func(a *asm, i, p int, mask string, regs []string) []int {
		a.op("VMOVDQU64 %s, %s", a.w(p, 32+64*i), regs[1])
		a.op("VPANDD %s, %s, %s", regs[1], mask, regs[0])
		a.op("VPSRLW $4, %s, %s", regs[1], regs[1])
		a.op("VPANDD %s, %s, %s", regs[1], mask, regs[1])
		return []int{i, i + 4}
	},
}
