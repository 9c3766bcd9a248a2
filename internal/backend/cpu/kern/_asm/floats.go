package main

// A floats is a format of plain values: F32 and F16. One fused chain per
// output, k in order.
type floats struct {
	bytes int    // of 16 values
	load  string // the instruction that widens them
}

// floatsUnroll is how many k a pass of the loop takes.
const floatsUnroll = 4

func (f floats) kernel(kind byte) func(*asm) {
	return func(a *asm) {
		v := vec{a, kind}
		halves := len(v.offsets())
		a.begin(false)
		acc := a.accumulators(kind, halves)
		x := a.regs(kind, a.rows)
		w := a.regs(kind, halves)
		step := func(k int) {
			for r := range a.rows {
				a.op("VBROADCASTSS %s, %s", a.x(r, 4*k), x[r])
			}
			for p := range a.panels {
				for h, reg := range w {
					a.op("%s %s, %s", f.load, a.w(p, k*f.bytes+h*f.bytes/2), reg)
					for r := range a.rows {
						a.op("VFMADD231PS %s, %s, %s", reg, x[r], acc[p][r][h])
					}
				}
			}
		}
		a.op("SUBQ $%d, R10", floatsUnroll)
		a.op("JLT rest")
		a.label("loop")
		a.spread(floatsUnroll*f.bytes, func() {
			for k := range floatsUnroll {
				step(k)
			}
		})
		a.walk(floatsUnroll * f.bytes)
		a.op("ADDQ $%d, DX", floatsUnroll*4)
		a.op("SUBQ $%d, R10", floatsUnroll)
		a.op("JGE loop")
		a.label("rest")
		a.op("ADDQ $%d, R10", floatsUnroll)
		a.op("JZ done")
		a.label("single")
		step(0)
		a.op("ADDQ $%d, DI", f.bytes)
		a.op("ADDQ $4, DX")
		a.op("DECQ R10")
		a.op("JNZ single")
		a.label("done")
		a.store(acc)
	}
}

var (
	plain32 = floats{64, "VMOVUPS"}
	plain16 = floats{32, "VCVTPH2PS"}
)

// bf16 emits the order of the bf16 tile product: per 32 k a chain over the even
// values and one over the odd ones, with denormals as zero. A pair of values is
// one dword of a lane, the even one in its low half.
func bf16(kind byte) func(*asm) {
	return func(a *asm) {
		v := vec{a, kind}
		halves := len(v.offsets())
		a.frame = 8
		a.begin(false)
		a.comment("Denormals are zero, results are flushed: bits 6 and 15.")
		a.op("STMXCSR saved-8(SP)")
		a.op("MOVL saved-8(SP), R13")
		a.op("ORL $0x8040, R13")
		a.op("MOVL R13, flush-4(SP)")
		a.op("LDMXCSR flush-4(SP)")
		acc := a.accumulators(kind, halves)
		even, odd := make([][][]string, a.panels), make([][][]string, a.panels)
		for p := range even {
			even[p], odd[p] = make([][]string, a.rows), make([][]string, a.rows)
			for r := range even[p] {
				even[p][r], odd[p][r] = a.regs(kind, halves), a.regs(kind, halves)
			}
		}
		w := a.regs(kind, 2)
		x := ""
		if kind == 'Y' {
			x = a.reg(kind)
		}
		fma := func(r, k int, w, acc string) {
			if kind == 'Z' {
				a.op("VFMADD231PS.BCST %s, %s, %s", a.x(r, 4*k), w, acc)
				return
			}
			a.op("VBROADCASTSS %s, %s", a.x(r, 4*k), x)
			a.op("VFMADD231PS %s, %s, %s", x, w, acc)
		}
		a.label("loop")
		for p := range even {
			for r := range even[p] {
				for h := range halves {
					a.zero(even[p][r][h])
					a.zero(odd[p][r][h])
				}
			}
		}
		a.op("MOVQ $16, BX")
		a.label("pair")
		for _, line := range a.lines(64) {
			a.op("PREFETCHT0 %s", line)
		}
		for p := range a.panels {
			for h := range halves {
				a.op("VMOVUPS %s, %s", a.w(p, 32*h), w[0])
				a.op("VPSRLD $16, %s, %s", w[0], w[1])
				a.op("VPSLLD $16, %s, %s", w[0], w[0])
				a.op("VPSLLD $16, %s, %s", w[1], w[1])
				for r := range a.rows {
					fma(r, 0, w[0], even[p][r][h])
					fma(r, 1, w[1], odd[p][r][h])
				}
			}
		}
		a.walk(64)
		a.op("ADDQ $8, DX")
		a.op("DECQ BX")
		a.op("JNZ pair")
		for p := range acc {
			for r := range acc[p] {
				for h, reg := range acc[p][r] {
					a.op("VADDPS %s, %s, %s", odd[p][r][h], even[p][r][h], even[p][r][h])
					a.op("VADDPS %s, %s, %s", even[p][r][h], reg, reg)
				}
			}
		}
		a.op("DECQ R10")
		a.op("JNZ loop")
		a.op("LDMXCSR saved-8(SP)")
		a.store(acc)
	}
}
