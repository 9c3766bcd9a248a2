package main

import "fmt"

// values: lane = dimension. The accumulators stay in registers over all runs of
// keys. A run lies in one group:
//
//	0  first key's values   24  what comes after them, to be asked for
//	8  keys                 32  Q8: scales of the group's first block
//	16 token of the first   40  and those that come after
//
// The scales of a group, [block][16 tokens], are widened to the frame when its
// run begins.
func (a *attender) values(queries, chunks int) {
	per := a.halves() * chunks // registers of a query
	step := a.lanes() * a.size
	blocks := (chunks*16 + blockDims - 1) / blockDims
	a.op("MOVQ a+0(FP), AX")
	a.op("MOVQ 0(AX), DI")
	a.op("MOVQ 8(AX), BX")
	a.op("MOVQ 16(AX), R11")
	a.op("MOVQ 24(AX), R12")
	a.op("MOVQ 32(AX), R8")
	a.op("LEAQ 40(AX), R9")
	if queries > 3 {
		a.op("LEAQ (R11)(R11*2), R10")
	}
	acc := make([][]string, queries)
	for q := range acc {
		acc[q] = a.regs(a.kind, per)
		for i, r := range acc[q] {
			a.op("VMOVUPS %s, %s", at("DI", "R11", "R10", q, 4*a.lanes()*i), r)
		}
	}
	p, x := a.regs(a.kind, queries), a.reg(a.kind)
	scale := ""
	if a.quant && a.kind == 'Y' {
		scale = a.reg(a.kind)
	}
	a.label("group")
	a.op("MOVQ 0(R9), SI")
	a.op("MOVQ 8(R9), CX")
	a.op("MOVQ 24(R9), R14")
	if a.quant {
		a.frame = blocks * 4 * tokens
		a.op("MOVQ 16(R9), R13")
		a.op("LEAQ (SP)(R13*4), R13")
		a.op("MOVQ 32(R9), R15")
		a.op("MOVQ 40(R9), DX")
		for i := range blocks * a.halves() {
			a.op("VCVTPH2PS %d(R15), %s", i*2*a.lanes(), x)
			a.op("VMOVUPS %s, %d(SP)", x, i*4*a.lanes())
		}
		for line := 0; line < blocks*2*tokens; line += 64 {
			a.op("PREFETCHT0 %d(DX)", line)
		}
	}
	a.label("key")
	for line := 0; line < chunks*16*a.size; line += 64 {
		a.op("PREFETCHT0 %d(R14)", line)
	}
	for q := range queries {
		a.op("VBROADCASTSS %d(BX), %s", q*spanBytes, p[q])
	}
	for i := range per {
		mem := fmt.Sprintf("%d(SI)", step*i)
		if a.name == "F32" && queries == 1 {
			a.op("VFMADD231PS %s, %s, %s", mem, p[0], acc[0][i])
			continue
		}
		a.widen(mem, x)
		if a.quant {
			a.scaleValues(i, x, scale)
		}
		for q := range queries {
			a.op("VFMADD231PS %s, %s, %s", x, p[q], acc[q][i])
		}
	}
	a.op("ADDQ $4, BX")
	a.op("ADDQ R12, SI")
	a.op("ADDQ R12, R14")
	if a.quant {
		a.op("ADDQ $4, R13")
	}
	a.op("DECQ CX")
	a.op("JNZ key")
	a.op("ADDQ $48, R9")
	a.op("DECQ R8")
	a.op("JNZ group")
	for q := range queries {
		for i, r := range acc[q] {
			a.op("VMOVUPS %s, %s", r, at("DI", "R11", "R10", q, 4*a.lanes()*i))
		}
	}
}

// scaleValues multiplies register i of a key's values by their block's scale.
func (a *attender) scaleValues(i int, x, scale string) {
	per := blockDims / a.lanes()
	mem := fmt.Sprintf("%d(R13)", i/per*4*tokens)
	if a.kind == 'Z' {
		a.op("VMULPS.BCST %s, %s, %s", mem, x, x)
		return
	}
	if i%per == 0 {
		a.op("VBROADCASTSS %s, %s", mem, scale)
	}
	a.op("VMULPS %s, %s, %s", scale, x, x)
}
