package main

// Plain values, for NEON: one fused chain per output, k in order.

// neonPlain emits F32, or F16 where narrow.
func neonPlain(narrow bool) func(*neon) {
	return func(n *neon) {
		n.begin(false)
		acc := n.cube(n.panels, n.rows, 4)
		x, w := n.regs(n.rows), n.regs(4)
		bytes := 64
		if narrow {
			bytes = 32
		}
		step := func(k int) {
			for p := range n.panels {
				for q, reg := range w {
					switch {
					case !narrow:
						n.load(wAt(p), k*bytes+16*q, reg)
					case q%2 == 0:
						n.load(wAt(p), k*bytes+8*q, w[q+1])
						n.v("fcvtl", reg, w[q+1])
					default:
						n.v("fcvtl2", reg, reg)
					}
				}
				for r := range n.rows {
					for q, reg := range w {
						n.fmlaElem(acc[p][r][q], reg, x[r], k)
					}
				}
			}
		}
		const unroll = 4
		n.op("SUBS $%d, R17", unroll)
		n.op("BLT rest")
		n.label("loop")
		for r := range n.rows {
			n.load(xAt(r), 0, x[r])
		}
		for k := range unroll {
			step(k)
		}
		n.advance(unroll*bytes, n.panels, wAt)
		n.advance(unroll*4, n.rows, xAt)
		n.op("SUBS $%d, R17", unroll)
		n.op("BGE loop")
		n.label("rest")
		n.op("ADDS $%d, R17", unroll)
		n.op("BEQ done")
		n.label("single")
		for r := range n.rows {
			n.op("FMOVS (%s), F%d", xAt(r), x[r])
		}
		step(0)
		n.advance(bytes, n.panels, wAt)
		n.advance(4, n.rows, xAt)
		n.op("SUBS $1, R17")
		n.op("BNE single")
		n.label("done")
		n.write(acc)
	}
}

// neonBF16 emits the order of the bf16 tile product: per 32 k a chain over the
// even values and one over the odd ones, with denormals as zero. A pair of
// values is one word of a lane, the even one in its low half.
//
// Bit 24 of FPCR takes denormals as zero, but where the definition asks whether
// a result is tiny after rounding, ARM asks before. So the kernel tells whether
// any result was flushed, bit 3 of FPSR; the caller then computes it again.
func neonBF16(n *neon) {
	n.begin(false)
	n.op("MOVD FPCR, R24")
	n.op("MOVD FPSR, R25")
	n.op("ORR $0x1000000, R24, R26")
	n.op("MOVD R26, FPCR")
	n.op("MOVD ZR, FPSR")
	acc, even, odd := n.cube(n.panels, n.rows, 4), n.cube(n.panels, n.rows, 4), n.cube(n.panels, n.rows, 4)
	x, w := n.regs(n.rows), n.regs(2)
	n.label("loop")
	for p := range n.panels {
		n.clear(even[p], odd[p])
	}
	n.op("MOVD $8, R23")
	n.label("pairs") // two of them
	for r := range n.rows {
		n.load(xAt(r), 0, x[r])
	}
	for pair := range 2 {
		for p := range n.panels {
			for q := range 4 {
				n.load(wAt(p), 64*pair+16*q, w[0])
				n.shift("ushr", w[1], w[0], 16)
				n.shift("shl", w[0], w[0], 16)
				n.shift("shl", w[1], w[1], 16)
				for r := range n.rows {
					n.fmlaElem(even[p][r][q], w[0], x[r], 2*pair)
					n.fmlaElem(odd[p][r][q], w[1], x[r], 2*pair+1)
				}
			}
		}
	}
	n.advance(128, n.panels, wAt)
	n.advance(16, n.rows, xAt)
	n.op("SUB $1, R23")
	n.op("CBNZ R23, pairs")
	for p := range acc {
		for r := range acc[p] {
			for q, reg := range acc[p][r] {
				n.v("fadd", even[p][r][q], even[p][r][q], odd[p][r][q])
				n.v("fadd", reg, reg, even[p][r][q])
			}
		}
	}
	n.op("SUB $1, R17")
	n.op("CBNZ R17, loop")
	n.op("MOVD FPSR, R26")
	n.op("MOVD R25, FPSR")
	n.op("MOVD R24, FPCR")
	n.op("UBFX $3, R26, $1, R26")
	n.op("MOVB R26, flushed+8(FP)")
	n.write(acc)
}
