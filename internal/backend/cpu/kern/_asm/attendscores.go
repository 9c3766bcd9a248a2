package main

import "fmt"

// scoreRegs are the registers of a scores kernel.
type scoreRegs struct {
	q, k  []string     // pointers to queries and groups
	next  string       // scratch
	b     []string     // a dimension of each query
	acc   [][][]string // of a query, a group and a half
	x     string
	scale [][]string // of a group and a half: registers, or places in the frame
}

// scores: lane = key. Each dimension is one step: the keys' values are loaded
// once for all queries. Keys go by cache lines of 64 bytes of a group, and for
// each one line of the group that comes next is asked for.
func (a *attender) scores(queries, groups int) {
	free := pool{"SI", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15", "DI"}
	r := scoreRegs{x: a.reg(a.kind), b: a.regs(a.kind, queries)}
	a.op("MOVQ a+0(FP), AX")
	for i := range queries {
		r.q = append(r.q, free.take())
		a.op("MOVQ %d(AX), %s", 24+8*i, r.q[i])
	}
	for g := range groups {
		r.k = append(r.k, free.take())
		a.op("MOVQ %d(AX), %s", 56+8*g, r.k[g])
	}
	r.next = free.take()
	r.acc = make([][][]string, queries)
	for q := range r.acc {
		r.acc[q] = make([][]string, groups)
		for g := range r.acc[q] {
			r.acc[q][g] = a.regs(a.kind, a.halves())
			for _, reg := range r.acc[q][g] {
				a.zero(reg)
			}
		}
	}
	a.op("MOVQ 8(AX), DX")
	a.op("XORL BX, BX")
	a.op("XORL CX, CX")
	if a.quant {
		a.blocksOfScores(&r)
	} else {
		a.runOfScores(&r)
	}
	a.op("MOVQ 0(AX), DI")
	a.op("VBROADCASTSS 16(AX), %s", r.x)
	for q := range r.acc {
		for g := range r.acc[q] {
			for h, reg := range r.acc[q][g] {
				a.op("VMULPS %s, %s, %s", reg, r.x, reg)
				a.op("VMOVUPS %s, %d(DI)", reg, q*spanBytes+64*g+32*h)
			}
		}
	}
}

// runOfScores goes from dimension CX to DX, at least one, the keys' at BX.
func (a *attender) runOfScores(r *scoreRegs) {
	row := tokens * a.size
	unroll := 64 / row
	if unroll > 1 {
		a.op("SUBQ $%d, DX", unroll)
		a.op("CMPQ CX, DX")
		a.op("JGT rest")
	}
	a.label("lines")
	a.ask(r)
	for d := range unroll {
		a.step(r, d)
	}
	a.op("ADDQ $64, BX")
	a.op("ADDQ $%d, CX", unroll)
	a.op("CMPQ CX, DX")
	if unroll == 1 {
		a.op("JLT lines")
		return
	}
	a.op("JLE lines")
	a.label("rest")
	a.op("ADDQ $%d, DX", unroll)
	a.op("CMPQ CX, DX")
	a.op("JGE done")
	a.label("single")
	a.step(r, 0)
	a.op("ADDQ $%d, BX", row)
	a.op("INCQ CX")
	a.op("CMPQ CX, DX")
	a.op("JLT single")
	a.label("done")
}

// blocksOfScores goes by blocks of 32 dimensions, whose scales come first.
func (a *attender) blocksOfScores(r *scoreRegs) {
	limit := map[byte]int{'Y': 16, 'Z': 32}[a.kind]
	inRegs := a.next+len(r.k)*a.halves() <= limit
	r.scale = make([][]string, len(r.k))
	for g := range r.scale {
		for h := range a.halves() {
			if inRegs {
				r.scale[g] = append(r.scale[g], a.reg(a.kind))
			} else {
				r.scale[g] = append(r.scale[g], fmt.Sprintf("%d(SP)", 64*g+32*h))
				a.frame = 64 * len(r.k)
			}
		}
	}
	a.label("block")
	a.ask(r)
	for g := range r.scale {
		for h, s := range r.scale[g] {
			mem := place(16*h, r.k[g], "BX*1")
			if inRegs {
				a.op("VCVTPH2PS %s, %s", mem, s)
				continue
			}
			a.op("VCVTPH2PS %s, %s", mem, r.x)
			a.op("VMOVUPS %s, %s", r.x, s)
		}
	}
	a.op("ADDQ $%d, BX", 2*tokens)
	a.op("LEAQ %d(CX), DX", blockDims)
	a.op("CMPQ DX, 8(AX)")
	a.op("JLE whole")
	a.op("MOVQ 8(AX), DX")
	a.label("whole")
	a.runOfScores(r)
	a.op("CMPQ CX, 8(AX)")
	a.op("JLT block")
}

// ask prefetches a line of each group that comes next.
func (a *attender) ask(r *scoreRegs) {
	for g := range r.k {
		a.op("MOVQ %d(AX), %s", 120+8*g, r.next)
		a.op("PREFETCHT0 (%s)(BX*1)", r.next)
	}
}

// step is dimension CX + d.
func (a *attender) step(r *scoreRegs, d int) {
	for q, b := range r.b {
		a.op("VBROADCASTSS %s, %s", place(4*d, r.q[q], "CX*4"), b)
	}
	for g, k := range r.k {
		for h := range a.halves() {
			mem := place((d*tokens+h*a.lanes())*a.size, k, "BX*1")
			if a.name == "F32" && len(r.b) == 1 {
				a.op("VFMADD231PS %s, %s, %s", mem, r.b[0], r.acc[0][g][h])
				continue
			}
			a.widen(mem, r.x)
			if a.quant {
				a.op("VMULPS %s, %s, %s", r.scale[g][h], r.x, r.x)
			}
			for q, b := range r.b {
				a.op("VFMADD231PS %s, %s, %s", r.x, b, r.acc[q][g][h])
			}
		}
	}
}
