package main

import (
	"bytes"
	"fmt"
)

// Go's assembler for arm64 lacks most vector instructions, SDOT among them. So
// all of the arithmetic is written as words, each with the instruction beside
// it as disassemblers print it; loads, stores and loops are Go's own.

// neonWord is an instruction of one to three vector registers.
type neonWord struct {
	bits   uint32
	syntax string // with a %d for each register
}

// neonWords are the instructions by name. The register fields are added: the
// first to bits 0–4, the second to 5–9, the third to 16–20.
var neonWords = map[string]neonWord{
	"mov":     {0x4ea01c00, "mov v%d.16b, v%d.16b"}, // orr with itself
	"and":     {0x4e201c00, "and v%d.16b, v%d.16b, v%d.16b"},
	"bic":     {0x4e601c00, "bic v%d.16b, v%d.16b, v%d.16b"},
	"orr":     {0x4ea01c00, "orr v%d.16b, v%d.16b, v%d.16b"},
	"eor":     {0x6e201c00, "eor v%d.16b, v%d.16b, v%d.16b"},
	"bit":     {0x6ea01c00, "bit v%d.16b, v%d.16b, v%d.16b"},
	"tbl":     {0x4e000000, "tbl v%d.16b, {v%d.16b}, v%d.16b"},
	"add":     {0x4ea08400, "add v%d.4s, v%d.4s, v%d.4s"},
	"sub":     {0x6ea08400, "sub v%d.4s, v%d.4s, v%d.4s"},
	"mla":     {0x4ea09400, "mla v%d.4s, v%d.4s, v%d.4s"},
	"addp":    {0x4ea0bc00, "addp v%d.4s, v%d.4s, v%d.4s"},
	"addp8h":  {0x4e60bc00, "addp v%d.8h, v%d.8h, v%d.8h"},
	"smax":    {0x4ea06400, "smax v%d.4s, v%d.4s, v%d.4s"},
	"smax16b": {0x4e206400, "smax v%d.16b, v%d.16b, v%d.16b"},
	"umax":    {0x6ea06400, "umax v%d.4s, v%d.4s, v%d.4s"},
	"umaxv":   {0x6eb0a800, "umaxv s%d, v%d.4s"},

	// Integer products: of bytes to 16 bits, of those to 32.
	"smull":   {0x0e20c000, "smull v%d.8h, v%d.8b, v%d.8b"},
	"smull2":  {0x4e20c000, "smull2 v%d.8h, v%d.16b, v%d.16b"},
	"smlal":   {0x0e208000, "smlal v%d.8h, v%d.8b, v%d.8b"},
	"smlal2":  {0x4e208000, "smlal2 v%d.8h, v%d.16b, v%d.16b"},
	"smlal4":  {0x0e608000, "smlal v%d.4s, v%d.4h, v%d.4h"},
	"smlal24": {0x4e608000, "smlal2 v%d.4s, v%d.8h, v%d.8h"},
	"saddlp":  {0x4e602800, "saddlp v%d.4s, v%d.8h"},
	"saddlpb": {0x4e202800, "saddlp v%d.8h, v%d.16b"},
	"sadalp":  {0x4e606800, "sadalp v%d.4s, v%d.8h"},
	"sadalpb": {0x4e206800, "sadalp v%d.8h, v%d.16b"},
	"saddlv":  {0x4e703800, "saddlv s%d, v%d.8h"},

	// Widening and narrowing.
	"sxtl8h":  {0x0f08a400, "sxtl v%d.8h, v%d.8b"},
	"sxtl28h": {0x4f08a400, "sxtl2 v%d.8h, v%d.16b"},
	"sxtl4s":  {0x0f10a400, "sxtl v%d.4s, v%d.4h"},
	"sxtl24s": {0x4f10a400, "sxtl2 v%d.4s, v%d.8h"},
	"shll":    {0x2e613800, "shll v%d.4s, v%d.4h, #16"},
	"shll2":   {0x6e613800, "shll2 v%d.4s, v%d.8h, #16"},
	"uxtl8h":  {0x2f08a400, "uxtl v%d.8h, v%d.8b"},
	"uxtl4s":  {0x2f10a400, "uxtl v%d.4s, v%d.4h"},
	"sqxtn":   {0x0e614800, "sqxtn v%d.4h, v%d.4s"},
	"sqxtn2":  {0x4e614800, "sqxtn2 v%d.8h, v%d.4s"},
	"sqxtnb":  {0x0e214800, "sqxtn v%d.8b, v%d.8h"},
	"sqxtn2b": {0x4e214800, "sqxtn2 v%d.16b, v%d.8h"},
	"fcvtl":   {0x0e217800, "fcvtl v%d.4s, v%d.4h"},
	"fcvtl2":  {0x4e217800, "fcvtl2 v%d.4s, v%d.8h"},
	"fcvtn":   {0x0e216800, "fcvtn v%d.4h, v%d.4s"},
	"scvtf":   {0x4e21d800, "scvtf v%d.4s, v%d.4s"},
	"fcvtns":  {0x4e21a800, "fcvtns v%d.4s, v%d.4s"},

	// Floats. fmla and fmls round once, as fma does.
	"fadd":  {0x4e20d400, "fadd v%d.4s, v%d.4s, v%d.4s"},
	"fsub":  {0x4ea0d400, "fsub v%d.4s, v%d.4s, v%d.4s"},
	"fmul":  {0x6e20dc00, "fmul v%d.4s, v%d.4s, v%d.4s"},
	"fdiv":  {0x6e20fc00, "fdiv v%d.4s, v%d.4s, v%d.4s"},
	"fmla":  {0x4e20cc00, "fmla v%d.4s, v%d.4s, v%d.4s"},
	"fmls":  {0x4ea0cc00, "fmls v%d.4s, v%d.4s, v%d.4s"},
	"fneg":  {0x6ea0f800, "fneg v%d.4s, v%d.4s"},
	"fabs":  {0x4ea0f800, "fabs v%d.4s, v%d.4s"},
	"fcmgt": {0x6ea0e400, "fcmgt v%d.4s, v%d.4s, v%d.4s"},
	"fcmge": {0x6e20e400, "fcmge v%d.4s, v%d.4s, v%d.4s"},
}

// neonShifts are shifts of the lanes by a constant: the immediate is base + n
// to the left, base − n to the right.
var neonShifts = map[string]struct {
	bits   uint32
	base   int
	left   bool
	syntax string
}{
	"shl16b":  {0x4f005400, 8, true, "shl v%d.16b, v%d.16b, #%d"},
	"ushr16b": {0x6f000400, 16, false, "ushr v%d.16b, v%d.16b, #%d"},
	"shl":     {0x4f005400, 32, true, "shl v%d.4s, v%d.4s, #%d"},
	"ushr":    {0x6f000400, 64, false, "ushr v%d.4s, v%d.4s, #%d"},
	"sshr":    {0x4f000400, 64, false, "sshr v%d.4s, v%d.4s, #%d"},
}

// neon collects the body of a function for arm64. General registers, the same
// in all dot kernels:
//
//	R0 args          R1–R4 panels      R5–R8 rows of activations
//	R9–R12 scales    R13–R16 sums      R17 blocks left
//	R19–R22 rows of the output         R23–R26 scratch
type neon struct {
	body         bytes.Buffer
	panels, rows int
	dot          bool // with SDOT
	next         int  // vector registers handed out
}

// op writes an instruction in Go's syntax.
func (n *neon) op(format string, args ...any) { fmt.Fprintf(&n.body, "\t"+format+"\n", args...) }

func (n *neon) label(l string) { fmt.Fprintf(&n.body, "%s:\n", l) }

func (n *neon) word(bits uint32, syntax string, args ...any) {
	fmt.Fprintf(&n.body, "\tWORD $0x%08x // %s\n", bits, fmt.Sprintf(syntax, args...))
}

// v writes an instruction of the table.
func (n *neon) v(name string, regs ...int) {
	w, ok := neonWords[name]
	if !ok {
		panic("no instruction " + name)
	}
	bits, args := w.bits, make([]any, len(regs))
	for i, r := range regs {
		bits |= uint32(r) << [...]int{0, 5, 16}[i]
		args[i] = r
	}
	if name == "mov" {
		bits |= uint32(regs[1]) << 16
	}
	n.word(bits, w.syntax, args...)
}

// shift writes a shift by a constant.
func (n *neon) shift(name string, dst, src, by int) {
	s, ok := neonShifts[name]
	if !ok {
		panic("no shift " + name)
	}
	imm := s.base - by
	if s.left {
		imm = s.base + by
	}
	n.word(s.bits|uint32(imm)<<16|uint32(src)<<5|uint32(dst), s.syntax, dst, src, by)
}

// elem is the field of a register's 32-bit element i.
func elem(reg, i int) uint32 {
	return uint32(reg)<<16 | uint32(i&1)<<21 | uint32(i>>1)<<11
}

// sdot adds to each 32-bit lane of acc the products of its 4 bytes of w with the
// 4 bytes of element i of x.
func (n *neon) sdot(acc, w, x, i int) {
	n.word(0x4f80e000|elem(x, i)|uint32(w)<<5|uint32(acc), "sdot v%d.4s, v%d.16b, v%d.4b[%d]", acc, w, x, i)
}

// fmlaElem is acc += w × element i of x, rounded once.
func (n *neon) fmlaElem(acc, w, x, i int) {
	n.word(0x4f801000|elem(x, i)|uint32(w)<<5|uint32(acc), "fmla v%d.4s, v%d.4s, v%d.s[%d]", acc, w, x, i)
}

// fmulElem is dst = w × element i of x.
func (n *neon) fmulElem(dst, w, x, i int) {
	n.word(0x4f809000|elem(x, i)|uint32(w)<<5|uint32(dst), "fmul v%d.4s, v%d.4s, v%d.s[%d]", dst, w, x, i)
}

// spread puts element i of src in all lanes.
func (n *neon) spread(dst, src, i int) {
	n.word(0x4e040400|uint32(i)<<19|uint32(src)<<5|uint32(dst), "dup v%d.4s, v%d.s[%d]", dst, src, i)
}

func (n *neon) zero(reg int) { n.word(0x4f000400|uint32(reg), "movi v%d.4s, #0x0", reg) }

// bytes puts b in all bytes of a new register.
func (n *neon) bytes(b byte) int {
	r := n.reg()
	n.word(0x4f00e400|uint32(b>>5)<<16|uint32(b&31)<<5|uint32(r), "movi v%d.16b, #0x%x", r, b)
	return r
}

// word32 puts v in all lanes of reg.
func (n *neon) word32(reg int, v uint32) {
	n.op("MOVD $%#x, R26", v)
	n.op("VDUP R26, V%d.S4", reg)
}

// table loads the 16 bytes of a symbol to a new register.
func (n *neon) table(symbol string) int {
	r := n.reg()
	n.op("MOVD $%s<>(SB), R26", symbol)
	n.op("FMOVQ (R26), F%d", r)
	return r
}

// reg hands out a vector register.
func (n *neon) reg() int {
	if n.next > 31 {
		panic(fmt.Sprintf("out of registers: %d panels, %d rows, %v", n.panels, n.rows, n.dot))
	}
	n.next++
	return n.next - 1
}

func (n *neon) regs(count int) []int {
	r := make([]int, count)
	for i := range r {
		r[i] = n.reg()
	}
	return r
}

// load and store move 16 bytes.
func (n *neon) load(base string, off, reg int)      { n.op("FMOVQ %d(%s), F%d", off, base, reg) }
func (n *neon) store(reg int, base string, off int) { n.op("FMOVQ F%d, %d(%s)", reg, off, base) }

// everywhere loads a float to all lanes.
func (n *neon) everywhere(base string, reg int) { n.op("VLD1R (%s), [V%d.S4]", base, reg) }

// Where the operands of row and panel i lie.
func wAt(i int) string   { return fmt.Sprintf("R%d", 1+i) }
func xAt(i int) string   { return fmt.Sprintf("R%d", 5+i) }
func dAt(i int) string   { return fmt.Sprintf("R%d", 9+i) }
func sAt(i int) string   { return fmt.Sprintf("R%d", 13+i) }
func outAt(i int) string { return fmt.Sprintf("R%d", 19+i) }

// begin loads the arguments. scaled kernels have scales and sums.
func (n *neon) begin(scaled bool) {
	n.op("MOVD a+0(FP), R0")
	n.pointers(0, n.panels, wAt)
	n.pointers(16, n.rows, xAt)
	if scaled {
		n.pointers(32, n.rows, dAt)
		n.pointers(48, n.rows, sAt)
	}
	n.pointers(64, n.rows, outAt)
	n.op("MOVD 80(R0), R17")
}

// pointers loads an address at off of the arguments and, with the stride behind
// it, those after it.
func (n *neon) pointers(off, count int, at func(int) string) {
	n.op("MOVD %d(R0), %s", off, at(0))
	if count > 1 {
		n.op("MOVD %d(R0), R23", off+8)
	}
	for i := 1; i < count; i++ {
		n.op("ADD R23, %s, %s", at(i-1), at(i))
	}
}

// advance adds bytes to the first count pointers.
func (n *neon) advance(bytes, count int, at func(int) string) {
	for i := range count {
		n.op("ADD $%d, %s", bytes, at(i))
	}
}

// again closes the block loop.
func (n *neon) again(w, x, d, s int) {
	n.advance(w, n.panels, wAt)
	n.advance(x, n.rows, xAt)
	if d > 0 {
		n.advance(d, n.rows, dAt)
		n.advance(s, n.rows, sAt)
	}
	n.op("SUB $1, R17")
	n.op("CBNZ R17, loop")
}

// cube hands out a × b × c registers and clears them.
func (n *neon) cube(a, b, c int) [][][]int {
	regs := make([][][]int, a)
	for i := range regs {
		regs[i] = n.square(b, c)
	}
	n.clear(regs...)
	return regs
}

func (n *neon) square(a, b int) [][]int {
	regs := make([][]int, a)
	for i := range regs {
		regs[i] = n.regs(b)
	}
	return regs
}

func (n *neon) clear(squares ...[][]int) {
	for _, s := range squares {
		for _, row := range s {
			for _, r := range row {
				n.zero(r)
			}
		}
	}
}

// write stores the accumulators, acc[panel][row][quarter], and returns.
func (n *neon) write(acc [][][]int) {
	for p := range acc {
		for r := range acc[p] {
			for q, reg := range acc[p][r] {
				n.store(reg, outAt(r), 64*p+16*q)
			}
		}
	}
	n.op("RET")
}
