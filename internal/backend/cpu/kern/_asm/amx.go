package main

import "bytes"

// The tile phase. Its arguments are kern's tileArgs, read by these offsets; the
// tiles are
//
//	            b: 16 outputs   b1: 16 more
//	            tmm6            tmm7
//	x:  rows    tmm0            tmm1
//	tmm4
//	x1: rows    tmm2            tmm3
//	tmm5
const (
	argX = 64 + 8*iota
	argXStride
	argX1
	argXStep
	argXPair
	argB
	argB1
	argBStep
	argBPair
	argT
	argTStride
	argTRow1
	argTCol1
	argTPair
	argSteps
	argPairs
	argTimes
	argScale
	// The vector phase's own.
	argRows
	argD
	argDStride
	argS
	argSStride
	argOut
	argOutStride
	argW
)

// tilePhase emits the function that runs the tiles: for each block of rows,
// pairs × steps × 4 products, then a call of the vector phase, which moves the
// arguments on to the next block of rows.
func tilePhase(a *asm, p product, name string) {
	a.op("MOVQ a+0(FP), AX")
	a.tile(ldtilecfg("AX"), "ldtilecfg [AX]")
	a.op("MOVQ $64, R11")
	a.label("rows")
	a.op("MOVQ %d(AX), R8", argX)
	a.op("MOVQ %d(AX), R9", argXStride)
	a.op("MOVQ %d(AX), R10", argX1)
	a.op("ADDQ R8, R10")
	a.op("MOVQ %d(AX), SI", argB)
	a.op("MOVQ %d(AX), DI", argB1)
	a.op("ADDQ SI, DI")
	a.op("MOVQ %d(AX), BX", argT)
	a.op("MOVQ %d(AX), R12", argTStride)
	a.op("MOVQ %d(AX), DX", argPairs)
	a.label("pair")
	for t := range 4 {
		a.tile(tilezero(t), "tilezero tmm%d", t)
	}
	a.op("MOVQ %d(AX), CX", argSteps)
	a.label("step")
	load := func(tile int, base, index string) {
		a.tile(tileloadd(tile, base, index), "tileloadd tmm%d, [%s + %s]", tile, base, index)
	}
	dot := func(d, x, b int) { a.tile(p.code(d, x, b), "%s tmm%d, tmm%d, tmm%d", name, d, x, b) }
	load(4, "R8", "R9")
	load(6, "SI", "R11")
	dot(0, 4, 6)
	load(7, "DI", "R11")
	dot(1, 4, 7)
	load(5, "R10", "R9")
	dot(2, 5, 6)
	dot(3, 5, 7)
	a.op("ADDQ %d(AX), R8", argXStep)
	a.op("ADDQ %d(AX), R10", argXStep)
	a.op("ADDQ %d(AX), SI", argBStep)
	a.op("ADDQ %d(AX), DI", argBStep)
	a.op("DECQ CX")
	a.op("JNZ step")
	a.op("MOVQ %d(AX), R15", argTCol1)
	a.op("ADDQ BX, R15")
	a.op("MOVQ %d(AX), CX", argTRow1)
	store := func(tile int, base string) {
		a.tile(tilestored(tile, base, "R12"), "tilestored [%s + R12], tmm%d", base, tile)
	}
	store(0, "BX")
	store(1, "R15")
	a.op("ADDQ CX, R15")
	a.op("ADDQ BX, CX")
	store(2, "CX")
	store(3, "R15")
	a.op("ADDQ %d(AX), BX", argTPair)
	a.op("ADDQ %d(AX), R8", argXPair)
	a.op("ADDQ %d(AX), R10", argXPair)
	a.op("ADDQ %d(AX), SI", argBPair)
	a.op("ADDQ %d(AX), DI", argBPair)
	a.op("DECQ DX")
	a.op("JNZ pair")
	a.comment("The vector phase of this block of rows.")
	a.op("MOVQ AX, 0(SP)")
	a.op("MOVQ %d(AX), CX", argScale)
	a.op("CALL CX")
	a.op("MOVQ a+0(FP), AX")
	a.op("MOVQ $64, R11")
	a.op("DECQ %d(AX)", argTimes)
	a.op("JNZ rows")
	a.tile(tilerelease(), "tilerelease")
	a.op("RET")
}

// peak emits products of tiles that stay in registers: 4 a turn, none of which
// waits for another of its turn.
func peak(a *asm) {
	a.op("MOVQ config+0(FP), AX")
	a.op("MOVQ turns+8(FP), CX")
	a.tile(ldtilecfg("AX"), "ldtilecfg [AX]")
	for t := range 8 {
		a.tile(tilezero(t), "tilezero tmm%d", t)
	}
	a.label("turn")
	for t := range 4 {
		a.tile(tdpbssd.code(t, 4+t/2, 6+t%2), "tdpbssd tmm%d, tmm%d, tmm%d", t, 4+t/2, 6+t%2)
	}
	a.op("DECQ CX")
	a.op("JNZ turn")
	a.tile(tilerelease(), "tilerelease")
	a.op("RET")
}

// amxFunc is one function of the AMX level that takes arguments of a type.
type amxFunc struct {
	name, args string
	size       int // of the arguments, if not 8
	frame      int
	body       bytes.Buffer
}

func newAMX(name, args string, emit func(*asm)) amxFunc {
	f := amxFunc{name: name, args: args}
	a := &asm{out: &f.body}
	emit(a)
	f.body, f.frame = a.body, a.frame
	return f
}
