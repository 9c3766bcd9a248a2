package main

import "fmt"

// The vector phase: int32 tiles times scales into the outputs, one block of
// rows a call. It moves x, d, s and out of the arguments on to the next block
// of rows. A tile result is 32 rows of 64 bytes: those of both row tiles.
const resultBytes = 32 * 64

// scaleRegs are the registers of all vector phases: AX the arguments, BX
// results, CX rows, DI out, DX scales of activations, R9 their sums, R11 scales
// of weights, R12 activations; SI, R8, R10 and R13 the strides.
func scaleRegs(a *asm, sums bool) {
	a.op("MOVQ a+0(FP), AX")
	a.op("MOVQ %d(AX), R11", argW)
	a.op("MOVQ %d(AX), SI", argOutStride)
	a.op("MOVQ %d(AX), R8", argDStride)
	if sums {
		a.op("MOVQ %d(AX), R10", argSStride)
	}
	a.op("MOVQ %d(AX), R13", argXStride)
}

// scaleFirst points at the block's first row.
func scaleFirst(a *asm, sums bool) {
	a.op("MOVQ %d(AX), BX", argT)
	a.op("MOVQ %d(AX), CX", argRows)
	a.op("MOVQ %d(AX), DI", argOut)
	a.op("MOVQ %d(AX), DX", argD)
	if sums {
		a.op("MOVQ %d(AX), R9", argS)
	}
}

// scaleNext goes on to the next row and ends the loop.
func scaleNext(a *asm, sums bool, label string) {
	a.op("ADDQ $64, BX")
	a.op("ADDQ SI, DI")
	a.op("ADDQ R8, DX")
	if sums {
		a.op("ADDQ R10, R9")
	}
	a.op("DECQ CX")
	a.op("JNZ %s", label)
}

// scaleEnd hands the next block of rows on. x moves by whole rows of it.
func scaleEnd(a *asm, sums bool) {
	a.op("MOVQ DI, %d(AX)", argOut)
	a.op("MOVQ DX, %d(AX)", argD)
	if sums {
		a.op("MOVQ R9, %d(AX)", argS)
	}
	a.op("IMULQ %d(AX), R13", argRows)
	a.op("ADDQ R13, %d(AX)", argX)
	a.op("VZEROUPPER")
	a.op("RET")
}

// scale32 is the vector phase of formats of 32 values, for so many blocks and
// two panels: per block one result of each panel.
func scale32(blocks int, min bool) func(*asm) {
	return func(a *asm) {
		scaleRegs(a, min)
		scaleFirst(a, min)
		var dw, least [2][]string
		for p := range 2 {
			dw[p] = a.regs('Z', blocks)
			for b, reg := range dw[p] {
				a.op("VMOVUPS %d(R11), %s", 256*p+64*b, reg)
			}
			if !min {
				continue
			}
			least[p] = a.regs('Z', blocks)
			for b, reg := range least[p] {
				a.op("VMOVUPS %d(R11), %s", 512+256*p+64*b, reg)
			}
		}
		acc, sum, t := a.regs('Z', 2), a.regs('Z', 2), a.regs('Z', 2)
		a.label("row")
		for p, reg := range acc {
			a.op("VMOVUPS %d(DI), %s", 64*p, reg)
		}
		for b := range blocks {
			for p, reg := range acc {
				a.op("VCVTDQ2PS %d(BX), %s", resultBytes*(2*b+p), sum[p])
				a.op("VMULPS.BCST %d(DX), %s, %s", 4*b, dw[p][b], t[p])
				a.op("VFMADD231PS %s, %s, %s", t[p], sum[p], reg)
				if min {
					a.op("VFMADD231PS.BCST %d(R9), %s, %s", 4*b, least[p][b], reg)
				}
			}
		}
		for p, reg := range acc {
			a.op("VMOVUPS %s, %d(DI)", reg, 64*p)
		}
		scaleNext(a, min, "row")
		scaleEnd(a, min)
	}
}

// scaleK is the vector phase of K types, for one block of two panels: one plane
// of products, or two as 64 × high + low. A panel's scales are
//
//	0 d: 16 × f32, 64 dmin: 16 × f32, 128 mins: 64 B of int16 pairs for each 2 sums
type scaleK struct {
	planes   int
	negative bool // the products are the other way round
	mins     int  // pairs of sums
}

const scalesK = 1024 // bytes of a panel's scales

func (f scaleK) emit(a *asm) {
	sums := f.mins > 0
	scaleRegs(a, sums)
	dw, dmin := a.reg('Z'), a.reg('Z')
	mins := a.regs('Z', f.mins)
	acc, sum, t, zero := a.reg('Z'), a.reg('Z'), a.reg('Z'), a.reg('Z')
	if f.negative {
		a.zero(zero)
	}
	for p := range 2 {
		at, row := resultBytes*f.planes*p, fmt.Sprintf("row%d", p)
		scaleFirst(a, sums)
		a.op("VMOVUPS %d(R11), %s", scalesK*p, dw)
		if sums {
			a.op("VMOVUPS %d(R11), %s", scalesK*p+64, dmin)
		}
		for i, reg := range mins {
			a.op("VMOVDQU64 %d(R11), %s", scalesK*p+128+64*i, reg)
		}
		a.label(row)
		a.op("VMOVUPS %d(DI), %s", 64*p, acc)
		switch {
		case f.planes == 2:
			a.op("VPSLLD $6, %d(BX), %s", at+resultBytes, sum)
			a.op("VPADDD %d(BX), %s, %s", at, sum, sum)
			a.op("VCVTDQ2PS %s, %s", sum, sum)
		case f.negative:
			a.op("VPSUBD %d(BX), %s, %s", at, zero, sum)
			a.op("VCVTDQ2PS %s, %s", sum, sum)
		default:
			a.op("VCVTDQ2PS %d(BX), %s", at, sum)
		}
		a.op("VMULPS.BCST (DX), %s, %s", dw, t)
		a.op("VFMADD231PS %s, %s, %s", t, sum, acc)
		if sums {
			a.zero(sum)
			for i, reg := range mins {
				a.op("VPDPWSSD.BCST %d(R9), %s, %s", 4*i, reg, sum)
			}
			a.op("VCVTDQ2PS %s, %s", sum, sum)
			a.op("VMULPS.BCST (DX), %s, %s", dmin, t)
			a.op("VFNMADD231PS %s, %s, %s", t, sum, acc)
		}
		a.op("VMOVUPS %s, %d(DI)", acc, 64*p)
		scaleNext(a, sums, row)
	}
	scaleEnd(a, sums)
}

// scaleBF16 has nothing to scale: tiles are stored to the outputs.
func scaleBF16(a *asm) {
	a.op("MOVQ a+0(FP), AX")
	for _, m := range [][2]int{{argX, argXStride}, {argT, argTStride}} {
		a.op("MOVQ %d(AX), CX", m[1])
		a.op("IMULQ %d(AX), CX", argRows)
		a.op("ADDQ CX, %d(AX)", m[0])
	}
	a.op("RET")
}
