package main

import (
	"bytes"
	"fmt"
)

// neonFunction writes a function with what emit makes of it.
func neonFunction(b *bytes.Buffer, name, args string, size int, emit func(*neon)) {
	n := &neon{}
	emit(n)
	fmt.Fprintf(b, "\n// func %s(%s)\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", name, args, name, size)
	b.Write(n.body.Bytes())
}

// neonArg is a pointer that a function takes: the first in R0, the next in R1 and so on.
type neonArg struct{ name, kind string }

// neonRows emits a function with a loop over blocks: before, block and after are
// its parts, s the registers over which the scalars are spread. The parts advance
// the pointers.
func neonRows(b *bytes.Buffer, name string, pointers []neonArg, scalars []string, before, block, after func(n *neon, s []int)) {
	args, off := "", 0
	for i, p := range pointers {
		if i > 0 {
			args += ", "
		}
		args += p.name + " " + p.kind
		off += 8
	}
	args += ", blocks int"
	size := off + 8
	for _, s := range scalars {
		args += ", " + s + " float32"
		size += 4
	}
	neonFunction(b, name, args, size, func(n *neon) {
		for i, p := range pointers {
			n.op("MOVD %s+%d(FP), R%d", p.name, 8*i, i)
		}
		n.op("MOVD blocks+%d(FP), R17", off)
		regs := n.regs(len(scalars))
		for i, s := range scalars {
			n.op("FMOVS %s+%d(FP), F%d", s, off+8+4*i, regs[i])
			n.spread(regs[i], regs[i], 0)
		}
		if before != nil {
			before(n, regs)
		}
		n.label("loop")
		block(n, regs)
		n.op("SUB $1, R17")
		n.op("CBNZ R17, loop")
		if after != nil {
			after(n, regs)
		}
		n.op("RET")
	})
}

// lanes0 clears four accumulators, V28 to V31; lanesOut stores them to R0.
func lanes0(n *neon, _ []int) {
	for q := range 4 {
		n.zero(28 + q)
	}
}

func lanesOut(n *neon, _ []int) {
	for q := range 4 {
		n.store(28+q, "R0", 16*q)
	}
}

var (
	floatLanes = neonArg{"lanes", "*[16]float32"}
	floatsOf   = func(names ...string) (l []neonArg) {
		for _, n := range names {
			l = append(l, neonArg{n, "*float32"})
		}
		return l
	}
)

// neonVecFile is vec_arm64.s: the small kernels over one row, and rotary
// embedding. Products are rounded before they are added, but where the portable
// code says fma.
func neonVecFile() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("#include \"textflag.h\"\n")
	over := func(name string, before, each func(n *neon, x, acc int, s []int), scalars ...string) {
		start := lanes0
		if before != nil {
			start = func(n *neon, s []int) { before(n, 0, 0, s) }
		}
		neonRows(&b, name, append([]neonArg{floatLanes}, floatsOf("x")...), scalars, start, func(n *neon, s []int) {
			for q := range 4 {
				n.load("R1", 16*q, 16+q)
				each(n, 16+q, 28+q, s)
			}
			n.op("ADD $64, R1")
		}, lanesOut)
	}
	over("sumSquaresNEON", nil, func(n *neon, x, acc int, s []int) {
		n.v("fsub", x, x, s[0])
		n.v("fmla", acc, x, x)
	}, "center")
	over("sumNEON", nil, func(n *neon, x, acc int, _ []int) { n.v("fadd", acc, acc, x) })
	// A NaN is above nothing.
	over("maxNEON", func(n *neon, _, _ int, _ []int) {
		for q := range 4 {
			n.word32(28+q, 0xff800000)
		}
	}, func(n *neon, x, acc int, _ []int) {
		n.v("fcmgt", 24, x, acc)
		n.v("bit", acc, x, 24)
	})
	// inPlace is a block of dst made from the pointers' values.
	inPlace := func(name string, pointers []string, scalars []string, each func(n *neon, in, s []int) int) {
		neonRows(&b, name, floatsOf(pointers...), scalars, nil, func(n *neon, s []int) {
			for q := range 4 {
				var in []int
				for i := range pointers {
					if i == 0 && pointers[0] == "dst" && len(pointers) > 2 {
						continue // only written
					}
					in = append(in, 16+4*len(in)+q)
					n.load(fmt.Sprintf("R%d", i), 16*q, in[len(in)-1])
				}
				n.store(each(n, in, s), "R0", 16*q)
			}
			for i := range pointers {
				n.op("ADD $64, R%d", i)
			}
		}, nil)
	}
	inPlace("scaleMulNEON", []string{"dst", "x", "w"}, []string{"center", "scale"}, func(n *neon, in, s []int) int {
		n.v("fsub", in[0], in[0], s[0])
		n.v("fmul", in[0], in[0], s[1])
		n.v("fmul", in[0], in[0], in[1])
		return in[0]
	})
	inPlace("addNEON", []string{"dst", "src"}, nil, func(n *neon, in, _ []int) int {
		n.v("fadd", in[0], in[0], in[1])
		return in[0]
	})
	inPlace("mergeNEON", []string{"acc", "acc2"}, []string{"a", "b"}, func(n *neon, in, s []int) int {
		n.v("fmul", in[0], in[0], s[0])
		n.v("fmla", in[0], in[1], s[1])
		return in[0]
	})
	neonRope(&b)
	neonRounds(&b)
	return b.Bytes()
}

// neonRope emits rotary embedding, for blocks of 4 pairs.
func neonRope(b *bytes.Buffer) {
	turn := func(n *neon) { // V0, V1 by V2, V3
		n.v("fmul", 4, 0, 2)
		n.v("fmul", 5, 1, 3)
		n.v("fsub", 4, 4, 5)
		n.v("fmul", 5, 0, 3)
		n.v("fmul", 6, 1, 2)
		n.v("fadd", 5, 5, 6)
	}
	neonRows(b, "ropeHalvesNEON", floatsOf("a", "b", "cos", "sin"), nil, nil, func(n *neon, _ []int) {
		for i := range 4 {
			n.load(fmt.Sprintf("R%d", i), 0, i)
		}
		turn(n)
		n.store(4, "R0", 0)
		n.store(5, "R1", 0)
		for i := range 4 {
			n.op("ADD $16, R%d", i)
		}
	}, nil)
	neonRows(b, "ropePairsNEON", floatsOf("x", "cos", "sin"), nil, nil, func(n *neon, _ []int) {
		n.op("VLD2 (R0), [V0.S4, V1.S4]")
		n.load("R1", 0, 2)
		n.load("R2", 0, 3)
		turn(n)
		n.op("VST2 [V4.S4, V5.S4], (R0)")
		n.op("ADD $32, R0")
		n.op("ADD $16, R1")
		n.op("ADD $16, R2")
	}, nil)
}

// neonRounds emits the rounding to 8 bit. Magnitudes are compared as integers,
// so that NaN is above infinity; the conversion takes NaN to 0 and saturates.
func neonRounds(b *bytes.Buffer) {
	const top, one, least = 31, 30, 29 // 127 and 1 as floats, −127 as bytes
	before := func(n *neon, _ []int) {
		n.word32(top, 0x42fe0000)
		n.word32(one, 0x3f800000)
		n.word32(least, 0x81818181)
	}
	// quants turns the 16 values of 4 registers × inv into bytes in the first.
	quants := func(n *neon, x, inv int) {
		for i := range 4 {
			n.v("fmul", x+i, x+i, inv)
			n.v("fcvtns", x+i, x+i)
		}
		n.v("sqxtn", x, x)
		n.v("sqxtn2", x, x+1)
		n.v("sqxtn", x+2, x+2)
		n.v("sqxtn2", x+2, x+3)
		n.v("sqxtnb", x, x)
		n.v("sqxtn2b", x, x+2)
		n.v("smax16b", x, x, least)
	}
	pointers := func(sums string) []neonArg {
		return []neonArg{{"q", "*int8"}, {"d", "*float32"}, {"s", sums}, {"x", "*float32"}}
	}
	neonRows(b, "roundQ8x32NEON", pointers("*int32"), nil, before, func(n *neon, _ []int) {
		for i := range 8 {
			n.load("R3", 16*i, i)
			n.v("fabs", 8+i, i)
		}
		for w := 4; w > 0; w /= 2 {
			for i := range w {
				n.v("umax", 8+i, 8+i, 8+i+w)
			}
		}
		n.v("umaxv", 8, 8)
		n.spread(8, 8, 0)
		n.v("fdiv", 9, top, 8)
		n.v("fdiv", 8, 8, top)
		n.v("fcvtn", 8, 8)
		n.v("fcvtl", 8, 8)
		n.op("FMOVS F8, (R1)")
		quants(n, 0, 9)
		quants(n, 4, 9)
		n.store(0, "R0", 0)
		n.store(4, "R0", 16)
		n.v("saddlpb", 8, 0)
		n.v("sadalpb", 8, 4)
		n.v("saddlv", 8, 8)
		n.op("FMOVS F8, (R2)")
		n.op("ADD $32, R0")
		n.op("ADD $4, R1")
		n.op("ADD $4, R2")
		n.op("ADD $128, R3")
	}, nil)
	// The sums of 16 come from a tree over 8 registers' pairs, in order.
	neonRows(b, "roundQ8x256NEON", pointers("*int16"), nil, before, func(n *neon, _ []int) {
		n.zero(8)
		n.op("MOVD $16, R23")
		n.op("MOVD R3, R24")
		n.label("widest")
		for i := range 4 {
			n.load("R24", 16*i, i)
			n.v("fabs", i, i)
			n.v("umax", 8, 8, i)
		}
		n.op("ADD $64, R24")
		n.op("SUB $1, R23")
		n.op("CBNZ R23, widest")
		n.v("umaxv", 8, 8)
		n.spread(8, 8, 0)
		n.v("fdiv", 9, top, 8)
		n.v("fdiv", 8, one, 9)
		n.op("FMOVS F8, (R1)")
		n.op("MOVD $2, R23")
		n.label("half")
		for i := range 8 {
			for j := range 4 {
				n.load("R3", 64*i+16*j, j)
			}
			quants(n, 0, 9)
			n.store(0, "R0", 16*i)
			n.v("saddlpb", 16+i, 0)
		}
		for w := 4; w > 0; w /= 2 {
			for i := range w {
				n.v("addp8h", 16+i, 16+2*i, 16+2*i+1)
			}
		}
		n.store(16, "R2", 0)
		n.op("ADD $128, R0")
		n.op("ADD $16, R2")
		n.op("ADD $512, R3")
		n.op("SUB $1, R23")
		n.op("CBNZ R23, half")
		n.op("FMOVQ -32(R2), F17")
		n.v("addp8h", 16, 17, 16)
		n.store(16, "R2", 0)
		n.op("ADD $16, R2")
		n.op("ADD $4, R1")
	}, nil)
}
