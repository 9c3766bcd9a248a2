package main

import (
	"bytes"
	"fmt"
)

// Registers of the constants of exp, in the order of their table, from V12 on.
const firstConst = 12

func neonConst(name string) int {
	for i, c := range expConsts {
		if c.name == name {
			return firstConst + i
		}
	}
	panic("no constant " + name)
}

// consts loads them all.
func (n *neon) consts() {
	n.op("MOVD $expTable<>(SB), R26")
	for i := range expConsts {
		n.op("VLD1R.P 4(R26), [V%d.S4]", firstConst+i)
	}
}

// exp leaves num.Exp32 of x in p. n2, r and t are scratch.
func (n *neon) exp(x, p, n2, r, t int) {
	c := neonConst
	n.v("mov", t, c("magic"))
	n.v("fmla", t, x, c("log2e"))
	n.v("fsub", n2, t, c("magic"))
	n.v("mov", r, x)
	n.v("fmls", r, n2, c("ln2hi"))
	n.v("fmls", r, n2, c("ln2lo"))
	last, next := c("c7"), n2
	for i, name := range []string{"c6", "c5", "c4", "c3", "c2", "one", "one"} {
		n.v("mov", next, c(name))
		n.v("fmla", next, last, r)
		if last, next = next, p; i%2 == 1 {
			next = n2
		}
	}
	// 2ⁿ in two steps, n/2 each.
	n.v("sub", t, t, c("magic"))
	n.shift("sshr", r, t, 1)
	n.v("sub", t, t, r)
	for _, half := range []int{r, t} {
		n.v("add", half, half, c("bias"))
		n.shift("shl", half, half, 23)
		n.v("fmul", p, last, half)
		last = p
	}
	n.v("fcmgt", t, x, c("top"))
	n.v("bit", p, c("inf"), t)
	n.v("fcmgt", t, c("low"), x)
	n.v("bic", p, p, t)
}

// half rounds x to half precision and back.
func (n *neon) half(x int) {
	n.v("fcvtn", x, x)
	n.v("fcvtl", x, x)
}

// neonExpFile is exp_arm64.s.
func neonExpFile() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("#include \"textflag.h\"\n\n")
	for i, c := range expConsts {
		fmt.Fprintf(&b, "DATA expTable<>+%d(SB)/4, $%#08x // %s\n", 4*i, c.bits, c.name)
	}
	fmt.Fprintf(&b, "GLOBL expTable<>(SB), RODATA|NOPTR, $%d\n", 4*len(expConsts))
	c := neonConst
	const x, p, n2, r, t, whole = 0, 1, 2, 3, 4, 5
	consts := func(n *neon, _ []int) { n.consts() }
	for _, gate := range []struct {
		name  string
		arg   func(n *neon)
		table bool
	}{
		{"siluNEON", func(n *neon) { n.v("fneg", 6, x) }, false},
		{"geluNEON", func(n *neon) {
			n.v("fmul", 6, x, x)
			n.v("mov", 7, c("gelu1"))
			n.v("fmla", 7, c("gelu3"), 6)
			n.v("fmul", 6, x, 7)
		}, true},
	} {
		neonRows(&b, gate.name, floatsOf("dst", "gate", "up"), nil, consts, func(n *neon, _ []int) {
			for q := range 4 {
				n.load("R1", 16*q, x)
				if gate.table {
					n.v("mov", whole, x)
					n.half(x)
				}
				gate.arg(n)
				n.exp(6, p, n2, r, t)
				n.v("fadd", p, p, c("one"))
				n.v("fdiv", p, x, p)
				if gate.table {
					n.half(p)
					n.v("fcmge", t, whole, c("ten"))
					n.v("bit", p, whole, t)
					n.v("fcmge", t, c("minus10"), whole)
					n.v("bic", p, p, t)
				}
				n.load("R2", 16*q, t)
				n.v("fmul", p, p, t)
				n.store(p, "R0", 16*q)
			}
			for i := range 3 {
				n.op("ADD $64, R%d", i)
			}
		}, nil)
	}
	// Scalars take V0 to V2 here: exp has others.
	neonRows(&b, "softcapNEON", floatsOf("x"), []string{"mul", "limit", "twice"}, consts, func(n *neon, s []int) {
		for q := range 4 {
			n.load("R0", 16*q, 3)
			n.v("fmul", 3, 3, s[0])
			n.exp(3, 4, 5, 6, 7)
			n.v("fadd", 4, 4, c("one"))
			n.v("fdiv", 4, s[2], 4)
			n.v("fsub", 4, s[1], 4)
			n.store(4, "R0", 16*q)
		}
		n.op("ADD $64, R0")
	}, nil)
	neonRows(&b, "expSumNEON", append([]neonArg{floatLanes}, floatsOf("p")...), []string{"m"},
		func(n *neon, _ []int) {
			n.consts()
			for q := range 4 {
				n.zero(8 + q)
			}
		}, func(n *neon, s []int) {
			for q := range 4 {
				n.load("R1", 16*q, 3)
				n.v("fsub", 3, 3, s[0])
				n.exp(3, 4, 5, 6, 7)
				n.store(4, "R1", 16*q)
				n.v("fadd", 8+q, 8+q, 4)
			}
			n.op("ADD $64, R1")
		}, func(n *neon, _ []int) {
			for q := range 4 {
				n.store(8+q, "R0", 16*q)
			}
		})
	return b.Bytes()
}
