package main

import (
	"bytes"
	"fmt"
)

// neonShapes are the sizes of the attention kernels: queries × groups of 16
// keys, or queries × 16 dimensions.
var neonShapes = [][2]int{{4, 1}, {2, 2}, {2, 1}, {1, 4}, {1, 1}}

func neonAttendFile() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("#include \"textflag.h\"\n")
	for _, s := range neonShapes {
		neonFunction(&b, shapeName("scores", "NEON", s), "a *scoresArgs", 8, func(n *neon) { n.scores(s[0], s[1]) })
	}
	for _, s := range neonShapes {
		neonFunction(&b, shapeName("values", "NEON", s), "a *valuesArgs", 8, func(n *neon) { n.values(s[0], s[1]) })
	}
	return b.Bytes()
}

// neonAttendStubs declares them and lists them for the code that chooses.
func neonAttendStubs() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("package kern\n")
	for _, base := range []string{"scores", "values"} {
		for _, s := range neonShapes {
			fmt.Fprintf(&b, "\n//go:noescape\nfunc %s(a *%sArgs)\n", shapeName(base, "NEON", s), base)
		}
	}
	return b.Bytes()
}

// scores: lane = key. Each dimension is one step: the keys' values are loaded
// once for all queries.
func (n *neon) scores(queries, groups int) {
	n.op("MOVD a+0(FP), R0")
	n.op("MOVD 8(R0), %s", xAt(0))
	n.op("MOVD 48(R0), R23")
	for q := 1; q < queries; q++ {
		n.op("ADD R23, %s, %s", xAt(q-1), xAt(q))
	}
	for g := range groups {
		n.op("MOVD %d(R0), %s", 16+8*g, wAt(g))
	}
	n.op("MOVD 56(R0), R17")
	acc := n.cube(queries, groups, 4)
	x, w := n.regs(queries), n.regs(4)
	step := func(d int) {
		for g := range groups {
			for i, reg := range w {
				n.load(wAt(g), 64*d+16*i, reg)
			}
			for q := range queries {
				for i, reg := range w {
					n.fmlaElem(acc[q][g][i], reg, x[q], d)
				}
			}
		}
	}
	const unroll = 4
	n.op("SUBS $%d, R17", unroll)
	n.op("BLT rest")
	n.label("loop")
	for q := range queries {
		n.load(xAt(q), 0, x[q])
	}
	for d := range unroll {
		step(d)
	}
	n.advance(64*unroll, groups, wAt)
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
	n.advance(64, groups, wAt)
	n.advance(4, queries, xAt)
	n.op("SUBS $1, R17")
	n.op("BNE single")
	n.label("done")
	n.op("MOVD (R0), R19")
	n.op("ADD $64, R0, R26")
	n.everywhere("R26", w[0])
	for q := range queries {
		for g := range groups {
			for i, reg := range acc[q][g] {
				n.v("fmul", reg, reg, w[0])
				n.store(reg, "R19", q*spanBytes+64*g+16*i)
			}
		}
	}
	n.op("RET")
}

// values: lane = dimension. The accumulators stay in registers over all groups.
func (n *neon) values(queries, chunks int) {
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
	p, w := n.regs(queries), n.regs(4)
	n.label("group")
	n.op("MOVD (R7), R1")
	n.op("MOVD 32(R7), R8")
	n.label("key")
	for q := range queries {
		n.op("FMOVS %d(R5), F%d", q*spanBytes, p[q])
	}
	for i := range 4 * chunks {
		n.load("R1", 16*i, w[i%4])
		for q := range queries {
			n.fmlaElem(acc[q][i], w[i%4], p[q], 0)
		}
	}
	n.op("ADD $4, R5")
	n.op("ADD R6, R1")
	n.op("SUB $1, R8")
	n.op("CBNZ R8, key")
	n.op("ADD $8, R7")
	n.op("SUB $1, R17")
	n.op("CBNZ R17, group")
	for q := range acc {
		for i, reg := range acc[q] {
			n.store(reg, outAt(q), 16*i)
		}
	}
	n.op("RET")
}
