package main

import (
	"bytes"
	"fmt"
	"strings"
)

// asm collects the body of one kernel. Registers, the same in all of them:
//
//	AX args, or with several rows the weights to ask for
//	R10 blocks left
//	DI panel 0, SI and R8: once and three times the stride between panels
//	DX row 0,   CX and R9: the same between rows of activations
//	BX scales of row 0, R11 and R12: the same between rows of scales
//	R13 sums of row 0,  R14 and R15: the same between rows of sums
type asm struct {
	out          *bytes.Buffer
	body         bytes.Buffer
	panels, rows int
	frame        int
	next         int // vector registers handed out
}

func (a *asm) op(format string, args ...any) {
	fmt.Fprintf(&a.body, "\t"+format+"\n", args...)
}

func (a *asm) label(l string) { fmt.Fprintf(&a.body, "%s:\n", l) }

func (a *asm) comment(format string, args ...any) {
	fmt.Fprintf(&a.body, "\n\t// "+format+"\n", args...)
}

// reg hands out a vector register.
func (a *asm) reg(kind byte) string {
	limit := 32
	if kind == 'Y' {
		limit = 16
	}
	if a.next >= limit {
		panic(fmt.Sprintf("out of registers: %d panels, %d rows", a.panels, a.rows))
	}
	a.next++
	return fmt.Sprintf("%c%d", kind, a.next-1)
}

// constant hands out a register of 32-bit copies of v. It uses R8 and so comes
// before begin.
func (a *asm) constant(kind byte, v uint32) string {
	r := a.reg(kind)
	a.op("MOVL $%#x, R8", v)
	if kind == 'Z' {
		a.op("VPBROADCASTD R8, %s", r)
		return r
	}
	a.op("VMOVD R8, X%s", r[1:])
	a.op("VPBROADCASTD X%s, %s", r[1:], r)
	return r
}

// regs hands out n vector registers.
func (a *asm) regs(kind byte, n int) []string {
	r := make([]string, n)
	for i := range r {
		r[i] = a.reg(kind)
	}
	return r
}

// at addresses element i of a base with strides once and thrice.
func at(base, once, thrice string, i, off int) string {
	index := [...]string{"", "(" + once + "*1)", "(" + once + "*2)", "(" + thrice + "*1)"}[i]
	if off == 0 {
		return fmt.Sprintf("(%s)%s", base, index)
	}
	return fmt.Sprintf("%d(%s)%s", off, base, index)
}

func (a *asm) w(panel, off int) string { return at("DI", "SI", "R8", panel, off) }
func (a *asm) x(row, off int) string   { return at("DX", "CX", "R9", row, off) }
func (a *asm) d(row int) string        { return at("BX", "R11", "R12", row, 0) }
func (a *asm) s(row, off int) string   { return at("R13", "R14", "R15", row, off) }

// begin loads the arguments. scaled kernels have scales and sums. Kernels of one
// row go on with the next panel of each run from the label on.
func (a *asm) begin(scaled bool) {
	a.op("MOVQ a+0(FP), AX")
	a.op("MOVQ 0(AX), DI")
	if a.panels > 1 {
		a.op("MOVQ 8(AX), SI")
	}
	if a.panels > 3 {
		a.op("LEAQ (SI)(SI*2), R8")
	}
	if a.rows > 1 {
		a.op("MOVQ 24(AX), CX")
	}
	if a.rows > 3 {
		a.op("LEAQ (CX)(CX*2), R9")
	}
	if scaled && a.rows > 1 {
		a.op("MOVQ 40(AX), R11")
		a.op("MOVQ 56(AX), R14")
	}
	if scaled && a.rows > 3 {
		a.op("LEAQ (R11)(R11*2), R12")
		a.op("LEAQ (R14)(R14*2), R15")
	}
	if a.rows == 1 {
		a.label("panel")
	}
	a.op("MOVQ 16(AX), DX")
	if scaled {
		a.op("MOVQ 32(AX), BX")
		a.op("MOVQ 48(AX), R13")
	}
	a.op("MOVQ 80(AX), R10")
	if a.rows > 1 {
		a.op("MOVQ 96(AX), AX")
	}
}

// loop closes the block loop: steps in bytes.
func (a *asm) loop(w, x, d, s int) {
	a.walk(w)
	a.op("ADDQ $%d, DX", x)
	if d > 0 {
		a.op("ADDQ $%d, BX", d)
		a.op("ADDQ $%d, R13", s)
	}
	a.op("DECQ R10")
	a.op("JNZ loop")
}

// ahead is how far, in bytes of a panel, the weights are asked for in advance.
// Without it the formats whose blocks are read in several passes reached half
// of the memory's rate, and AVX2 two thirds. With 1 or 2 KiB it is best; more cost
// up to a tenth, for it is lost where a stream ends.
const ahead = 1024

// spread emits f and, evenly between its instructions, requests for the n bytes
// of each panel that are to be read some time later: many at once would wait for
// each other. Kernels of several rows pass by their panels again and again, and
// only the first pass would have to wait: each asks for every
// other line of what comes next, where the caller says.
func (a *asm) spread(n int, f func()) { a.between(a.lines(n), f) }

// lines are the next n bytes that are to be asked for.
func (a *asm) lines(n int) (lines []string) {
	for off := 0; off < n; off += 64 {
		for p := range a.panels {
			switch {
			case a.rows == 1:
				lines = append(lines, a.w(p, ahead+off))
			case off%128 == 0:
				lines = append(lines, at("AX", "SI", "R8", p, off))
			}
		}
	}
	return lines
}

// between emits f and, evenly between its instructions, requests for lines.
func (a *asm) between(lines []string, f func()) {
	before := a.body.String()
	a.body.Reset()
	f()
	ops := strings.SplitAfter(a.body.String(), "\n")
	a.body.Reset()
	a.body.WriteString(before)
	asked := 0
	for i, op := range ops {
		for ; asked < len(lines) && asked*len(ops) <= i*len(lines); asked++ {
			a.op("PREFETCHT0 %s", lines[asked])
		}
		a.body.WriteString(op)
	}
}

// walk moves on by n bytes of the panels.
func (a *asm) walk(n int) {
	a.op("ADDQ $%d, DI", n)
	if a.rows > 1 {
		a.op("ADDQ $%d, AX", n)
	}
}

// store writes the accumulators, acc[panel][row][half], and returns, or goes on
// with the next panels, where DI is by now.
func (a *asm) store(acc [][][]string) {
	out := "DI"
	a.op("MOVQ a+0(FP), AX")
	if a.rows == 1 {
		out = "R9"
	} else {
		a.op("MOVQ 72(AX), SI")
	}
	a.op("MOVQ 64(AX), %s", out)
	if a.rows == 1 {
		a.op("ADDQ 112(AX), %s", out)
	}
	if a.rows > 3 {
		a.op("LEAQ (SI)(SI*2), R8")
	}
	for p := range acc {
		if p > 0 {
			a.op("ADDQ 88(AX), %s", out)
		}
		for r := range acc[p] {
			for h, reg := range acc[p][r] {
				a.op("VMOVUPS %s, %s", reg, at(out, "SI", "R8", r, 32*h))
			}
		}
	}
	if a.rows == 1 {
		a.op("ADDQ $64, 112(AX)") // not at 64: the collector must find no pointer behind the outputs
		a.op("DECQ 104(AX)")
		a.op("JNZ panel")
	}
	a.op("VZEROUPPER")
	a.op("RET")
}

// accumulators hands out and clears acc[panel][row][half].
func (a *asm) accumulators(kind byte, halves int) [][][]string {
	acc := make([][][]string, a.panels)
	for p := range acc {
		acc[p] = make([][]string, a.rows)
		for r := range acc[p] {
			acc[p][r] = a.regs(kind, halves)
			for _, reg := range acc[p][r] {
				a.zero(reg)
			}
		}
	}
	return acc
}

func (a *asm) zero(reg string) {
	if reg[0] == 'Z' {
		a.op("VPXORD %s, %s, %s", reg, reg, reg)
		return
	}
	a.op("VPXOR %s, %s, %s", reg, reg, reg)
}

// grid hands out panels × rows registers.
func (a *asm) grid(kind byte) [][]string {
	g := make([][]string, a.panels)
	for p := range g {
		g[p] = a.regs(kind, a.rows)
	}
	return g
}
