package main

import (
	"bytes"
	"fmt"
)

// neonShapes are the sizes of the attention kernels: queries × groups of 16
// keys, or queries × 16 dimensions; neonQuantShapes those of scores in Q8_0,
// whose scales take registers too.
var (
	neonShapes      = [][2]int{{1, 1}, {1, 4}, {2, 1}, {2, 2}, {3, 1}, {4, 1}}
	neonQuantShapes = [][2]int{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 1}, {4, 1}}
)

// neonAttender emits attention kernels for one type.
type neonAttender struct {
	neon
	kvType
	w     []int // 16 values
	frame int
}

func neonAttendFile() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("#include \"textflag.h\"\n")
	for _, t := range kvTypes {
		for _, s := range neonScoreShapes(t) {
			n := &neonAttender{kvType: t}
			n.scores(s[0], s[1])
			n.write(&b, attendName("scores", "NEON", t, s), "a *scoresArgs")
		}
		for _, s := range neonShapes {
			n := &neonAttender{kvType: t}
			n.values(s[0], s[1])
			n.write(&b, attendName("values", "NEON", t, s), "a *valuesArgs")
		}
	}
	return b.Bytes()
}

func neonScoreShapes(t kvType) [][2]int {
	if t.quant {
		return neonQuantShapes
	}
	return neonShapes
}

func (n *neonAttender) write(b *bytes.Buffer, name, args string) {
	n.op("RET")
	fmt.Fprintf(b, "\n// func %s(%s)\nTEXT ·%s(SB), NOSPLIT, $%d-8\n", name, args, name, n.frame)
	b.Write(n.body.Bytes())
}

// widen loads 16 values as float32, exactly, to w; quants are not yet scaled.
func (n *neonAttender) widen(base string, off int) {
	w := n.w
	switch n.name {
	case "F32":
		for i, reg := range w {
			n.load(base, off+16*i, reg)
		}
	case "F16", "BF16":
		low, high := "fcvtl", "fcvtl2"
		if n.name == "BF16" {
			low, high = "shll", "shll2"
		}
		for i := range 2 {
			n.load(base, off+16*i, w[2*i+1])
			n.v(low, w[2*i], w[2*i+1])
			n.v(high, w[2*i+1], w[2*i+1])
		}
	case "Q8":
		n.load(base, off, w[3])
		n.v("sxtl8h", w[1], w[3])
		n.v("sxtl28h", w[3], w[3])
		for i := 0; i < 4; i += 2 {
			n.v("sxtl4s", w[i], w[i+1])
			n.v("sxtl24s", w[i+1], w[i+1])
		}
		for _, reg := range w {
			n.v("scvtf", reg, reg)
		}
	}
}

// scores: lane = key. Each dimension is one step: the keys' values are loaded
// once for all queries.
func (n *neonAttender) scores(queries, groups int) {
	n.op("MOVD a+0(FP), R0")
	n.op("MOVD 8(R0), R24") // dimensions left
	for q := range queries {
		n.op("MOVD %d(R0), %s", 24+8*q, xAt(q))
	}
	for g := range groups {
		n.op("MOVD %d(R0), %s", 56+8*g, wAt(g))
		n.op("MOVD %d(R0), %s", 120+8*g, dAt(g))
	}
	acc := n.cube(queries, groups, 4)
	x := n.regs(queries)
	n.w = n.regs(4)
	var scale [][]int
	if n.quant {
		scale = n.square(groups, 4)
		n.label("block")
		for g := range groups {
			for i := range 2 {
				n.load(wAt(g), 16*i, scale[g][2*i+1])
				n.v("fcvtl", scale[g][2*i], scale[g][2*i+1])
				n.v("fcvtl2", scale[g][2*i+1], scale[g][2*i+1])
			}
			n.op("PRFM (%s), PLDL1KEEP", dAt(g))
		}
		n.advance(2*tokens, groups, wAt)
		n.advance(2*tokens, groups, dAt)
		n.op("MOVD $%d, R17", blockDims)
		n.op("CMP R17, R24")
		n.op("CSEL LT, R24, R17, R17")
		n.op("SUB R17, R24")
	} else {
		n.op("MOVD R24, R17")
	}
	step := func(d int) {
		for g := range groups {
			n.widen(wAt(g), tokens*n.size*d)
			if n.quant {
				for i, reg := range n.w {
					n.v("fmul", reg, reg, scale[g][i])
				}
			}
			for q := range queries {
				for i, reg := range n.w {
					n.fmlaElem(acc[q][g][i], reg, x[q], d)
				}
			}
		}
	}
	const unroll = 4
	stride := tokens * n.size
	n.op("SUBS $%d, R17", unroll)
	n.op("BLT rest")
	n.label("loop")
	for q := range queries {
		n.load(xAt(q), 0, x[q])
	}
	for g := range groups {
		for line := 0; line < stride*unroll; line += 64 {
			n.op("PRFM %d(%s), PLDL1KEEP", line, dAt(g))
		}
	}
	for d := range unroll {
		step(d)
	}
	n.advance(stride*unroll, groups, wAt)
	n.advance(stride*unroll, groups, dAt)
	n.advance(4*unroll, queries, xAt)
	n.op("SUBS $%d, R17", unroll)
	n.op("BGE loop")
	n.label("rest")
	n.op("ADDS $%d, R17", unroll)
	n.op("BEQ done")
	n.label("single")
	for q := range queries {
		n.op("FMOVS (%s), F%d", xAt(q), x[q])
	}
	step(0)
	n.advance(stride, groups, wAt)
	n.advance(4, queries, xAt)
	n.op("SUBS $1, R17")
	n.op("BNE single")
	n.label("done")
	if n.quant {
		n.op("CBNZ R24, block")
	}
	n.op("MOVD (R0), R19")
	n.op("ADD $16, R0, R26")
	n.everywhere("R26", n.w[0])
	for q := range queries {
		for g := range groups {
			for i, reg := range acc[q][g] {
				n.v("fmul", reg, reg, n.w[0])
				n.neon.store(reg, "R19", q*spanBytes+64*g+16*i)
			}
		}
	}
}

// values: lane = dimension. The accumulators stay in registers over all runs,
// whose fields values of the attender for amd64 shows.
func (n *neonAttender) values(queries, chunks int) {
	n.op("MOVD a+0(FP), R0")
	n.op("MOVD 0(R0), %s", outAt(0))
	n.op("MOVD 16(R0), R23")
	for q := 1; q < queries; q++ {
		n.op("ADD R23, %s, %s", outAt(q-1), outAt(q))
	}
	n.op("MOVD 8(R0), R5")
	n.op("MOVD 24(R0), R6")
	n.op("MOVD 32(R0), R17")
	n.op("ADD $40, R0, R7")
	acc := n.square(queries, 4*chunks)
	for q := range acc {
		for i, reg := range acc[q] {
			n.load(outAt(q), 16*i, reg)
		}
	}
	p := n.regs(queries)
	n.w = n.regs(4)
	scale, blocks := 0, (chunks*16+blockDims-1)/blockDims
	if n.quant {
		scale = n.reg()
		n.frame = blocks*4*tokens + 16
	}
	n.label("group")
	n.op("MOVD (R7), R1")
	n.op("MOVD 8(R7), R8")
	n.op("MOVD 24(R7), R2")
	if n.quant {
		n.op("ADD $16, RSP, R4")
		n.op("MOVD 32(R7), R3")
		for b := range blocks {
			for i := range 2 {
				n.load("R3", 2*tokens*b+16*i, n.w[2*i+1])
				n.v("fcvtl", n.w[2*i], n.w[2*i+1])
				n.v("fcvtl2", n.w[2*i+1], n.w[2*i+1])
			}
			for i, reg := range n.w {
				n.neon.store(reg, "R4", 4*tokens*b+16*i)
			}
		}
		n.op("MOVD 40(R7), R3")
		for line := 0; line < blocks*2*tokens; line += 64 {
			n.op("PRFM %d(R3), PLDL1KEEP", line)
		}
		n.op("MOVD 16(R7), R3")
		n.op("ADD R3<<2, R4, R3")
	}
	n.label("key")
	for line := 0; line < chunks*16*n.size; line += 64 {
		n.op("PRFM %d(R2), PLDL1KEEP", line)
	}
	for q := range queries {
		n.op("FMOVS %d(R5), F%d", q*spanBytes, p[q])
	}
	for c := range chunks {
		n.widen("R1", c*tokens*n.size)
		if n.quant {
			if c%2 == 0 {
				n.op("FMOVS %d(R3), F%d", c/2*4*tokens, scale)
			}
			for _, reg := range n.w {
				n.fmulElem(reg, reg, scale, 0)
			}
		}
		for q := range queries {
			for i, reg := range n.w {
				n.fmlaElem(acc[q][4*c+i], reg, p[q], 0)
			}
		}
	}
	n.op("ADD $4, R5")
	n.op("ADD R6, R1")
	n.op("ADD R6, R2")
	if n.quant {
		n.op("ADD $4, R3")
	}
	n.op("SUB $1, R8")
	n.op("CBNZ R8, key")
	n.op("ADD $48, R7")
	n.op("SUB $1, R17")
	n.op("CBNZ R17, group")
	for q := range acc {
		for i, reg := range acc[q] {
			n.neon.store(reg, outAt(q), 16*i)
		}
	}
}
