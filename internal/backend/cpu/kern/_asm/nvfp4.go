package main

// NVFP4: 64 values in 4 runs of 16 with scales of their own, so each run ends in
// a float step. Activations have two scales to a block.
const (
	nvfp4Scales = 4 * 32
	nvfp4Block  = nvfp4Scales + 4*128
)

// nvfp4AVX512 takes levels plus 12, and 12 × Σx off again: the sums of 16
// activations are not at hand, so they are made here, once for all panels.
func nvfp4AVX512(a *asm) {
	mask, twelve := a.constant('Z', 0x0f0f0f0f), a.constant('Z', 0x0c0c0c0c)
	lut := a.reg('Z')
	a.op("VBROADCASTI32X4 fp4<>(SB), %s", lut)
	a.begin(true)
	acc := a.accumulators('Z', 1)
	sums, off := a.grid('Z'), a.regs('Z', a.rows)
	w := make([][]string, a.panels)
	for p := range w {
		w[p] = a.regs('Z', 2)
	}
	x := a.reg('Z')
	a.label("loop")
	a.spread(nvfp4Block, func() {
		for run := range 4 {
			each(sums, func(_, _ int, reg string) { a.zero(reg) })
			for _, reg := range off {
				a.zero(reg)
			}
			for part := range 2 {
				for p := range a.panels {
					lo, hi := w[p][0], w[p][1]
					a.op("VMOVDQU64 %s, %s", a.w(p, nvfp4Scales+128*run+64*part), hi)
					a.op("VPANDD %s, %s, %s", hi, mask, lo)
					a.op("VPSRLW $4, %s, %s", hi, hi)
					a.op("VPANDD %s, %s, %s", hi, mask, hi)
					a.op("VPSHUFB %s, %s, %s", lo, lut, lo)
					a.op("VPSHUFB %s, %s, %s", hi, lut, hi)
				}
				for j := range 2 {
					for r := range a.rows {
						a.op("VPBROADCASTD %s, %s", a.x(r, 16*run+4*(part+2*j)), x)
						a.op("VPDPBUSD %s, %s, %s", x, twelve, off[r])
						for p := range a.panels {
							a.op("VPDPBUSD %s, %s, %s", x, w[p][j], sums[p][r])
						}
					}
				}
			}
			for p := range a.panels {
				a.op("VCVTPH2PS %s, %s", a.w(p, 32*run), w[p][0])
			}
			for r := range a.rows {
				for p := range a.panels {
					a.op("VPSUBD %s, %s, %s", off[r], sums[p][r], sums[p][r])
					a.op("VCVTDQ2PS %s, %s", sums[p][r], sums[p][r])
					a.op("VMULPS.BCST %s, %s, %s", at("BX", "R11", "R12", r, run/2*4), w[p][0], x)
					a.op("VFMADD231PS %s, %s, %s", x, sums[p][r], acc[p][r][0])
				}
			}
		}
	})
	a.loop(nvfp4Block, 64, 8, 8)
	a.store(acc)
}

// nvfp4AVX2 takes the levels signed, one half panel and all rows at a time.
func nvfp4AVX2(a *asm) {
	mask, lut := a.constant('Y', 0x0f0f0f0f), a.reg('Y')
	a.op("VBROADCASTI128 signedfp4<>(SB), %s", lut)
	a.begin(true)
	acc := a.accumulators('Y', 2)
	sums := a.regs('Y', a.rows)
	k := kregs{words: sums, products: [][]string{sums}, w: a.regs('Y', 3), x: a.reg('Y')}
	a.op("VMOVDQU ones<>(SB), %s", k.w[2]) // where signed has scales
	a.label("loop")
	a.spread(nvfp4Block, func() {
		for p := range a.panels {
			for h := range 2 {
				for run := range 4 {
					for _, s := range sums {
						a.zero(s)
					}
					for part := range 2 {
						for high := range 2 {
							w := k.w[0]
							a.op("VMOVDQU %s, %s", a.w(p, nvfp4Scales+128*run+64*part+32*h), w)
							if high == 1 {
								a.op("VPSRLW $4, %s, %s", w, w)
							}
							a.op("VPAND %s, %s, %s", w, mask, w)
							a.op("VPSHUFB %s, %s, %s", w, lut, w)
							a.op("VPABSB %s, %s", w, k.w[1])
							k.signed(a, 4*run+part+2*high)
						}
					}
					a.op("VCVTPH2PS %s, %s", a.w(p, 32*run+16*h), k.w[0])
					for r, s := range sums {
						a.op("VCVTDQ2PS %s, %s", s, s)
						a.op("VBROADCASTSS %s, %s", at("BX", "R11", "R12", r, run/2*4), k.w[1])
						a.op("VMULPS %s, %s, %s", k.w[1], k.w[0], k.w[1])
						a.op("VFMADD231PS %s, %s, %s", k.w[1], s, acc[p][r][h])
					}
				}
			}
		}
	})
	a.loop(nvfp4Block, 64, 8, 8)
	a.store(acc)
}
