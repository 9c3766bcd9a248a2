package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// The constants of exp, gelu and silu, as package num has them. Each stands 8
// times: AVX2 has no broadcast operand.
var expConsts = []struct {
	name string
	bits uint32
}{
	{"log2e", f32(1.44269504088896340736)},
	{"magic", f32(12582912)},
	{"ln2hi", f32(0.693147182464599609375)},
	{"ln2lo", f32(-1.904654299957767878e-9)},
	{"c7", f32(1.0 / 5040)},
	{"c6", f32(1.0 / 720)},
	{"c5", f32(1.0 / 120)},
	{"c4", f32(1.0 / 24)},
	{"c3", f32(1.0 / 6)},
	{"c2", f32(1.0 / 2)},
	{"one", f32(1)},
	{"top", f32(88.72283)},
	{"low", f32(-87.33654)},
	{"inf", 0x7f800000},
	{"sign", 0x80000000},
	{"bias", 127},
	{"gelu1", f32(-1.5957691216057308)},
	{"gelu3", f32(-0.07135481627159503)},
	{"ten", f32(10)},
	{"minus10", f32(-10)},
}

func f32(x float64) uint32 { return math.Float32bits(float32(x)) }

// vec emits code for one width of vector.
type vec struct {
	*asm
	kind byte // Y or Z
}

// konst is the operand of a constant; suffix goes after the operation's name.
func (v vec) konst(name string) (suffix, operand string) {
	for i, c := range expConsts {
		if c.name == name {
			if v.kind == 'Z' {
				return ".BCST", fmt.Sprintf("expTable<>+%d(SB)", 32*i)
			}
			return "", fmt.Sprintf("expTable<>+%d(SB)", 32*i)
		}
	}
	panic("no constant " + name)
}

// withConst emits op, perhaps with an immediate, with a constant as its first
// operand.
func (v vec) withConst(op, name, rest string, args ...any) {
	suffix, m := v.konst(name)
	op, imm, _ := strings.Cut(op, " ")
	if imm != "" {
		imm += ", "
	}
	v.op("%s%s %s%s, %s", op, suffix, imm, m, fmt.Sprintf(rest, args...))
}

// loadConst broadcasts a constant to a register.
func (v vec) loadConst(name, reg string) {
	_, m := v.konst(name)
	v.op("VBROADCASTSS %s, %s", m, reg)
}

func (v vec) xor(a, b, dst string) {
	if v.kind == 'Z' {
		v.op("VPXORD %s, %s, %s", a, b, dst)
		return
	}
	v.op("VXORPS %s, %s, %s", a, b, dst)
}

// exp leaves num.Exp32 of x in p. n, r and t are scratch.
func (v vec) exp(x, p, n, r, t string) {
	v.loadConst("magic", t)
	v.withConst("VFMADD231PS", "log2e", "%s, %s", x, t)
	v.withConst("VSUBPS", "magic", "%s, %s", t, n)
	v.op("VMOVAPS %s, %s", x, r)
	v.withConst("VFNMADD231PS", "ln2hi", "%s, %s", n, r)
	v.withConst("VFNMADD231PS", "ln2lo", "%s, %s", n, r)
	v.loadConst("c7", p)
	for _, c := range []string{"c6", "c5", "c4", "c3", "c2", "one", "one"} {
		v.withConst("VFMADD213PS", c, "%s, %s", r, p)
	}
	if v.kind == 'Z' {
		v.op("VSCALEFPS %s, %s, %s", n, p, p)
		v.withConst("VCMPPS $0x1e", "top", "%s, K1", x)
		v.withConst("VCMPPS $0x11", "low", "%s, K2", x)
		v.loadConst("inf", t)
		v.op("VMOVAPS %s, K1, %s", t, p)
		v.xor(t, t, t)
		v.op("VMOVAPS %s, K2, %s", t, p)
		return
	}
	// 2ⁿ in two steps, n/2 each.
	v.withConst("VPSUBD", "magic", "%s, %s", t, t)
	v.op("VPSRAD $1, %s, %s", t, r)
	v.op("VPSUBD %s, %s, %s", r, t, t)
	for _, half := range []string{r, t} {
		v.withConst("VPADDD", "bias", "%s, %s", half, half)
		v.op("VPSLLD $23, %s, %s", half, half)
		v.op("VMULPS %s, %s, %s", half, p, p)
	}
	v.withConst("VCMPPS $0x1e", "top", "%s, %s", x, t)
	v.loadConst("inf", r)
	v.op("VBLENDVPS %s, %s, %s, %s", t, r, p, p)
	v.withConst("VCMPPS $0x11", "low", "%s, %s", x, t)
	v.op("VANDNPS %s, %s, %s", p, t, p)
}

// half rounds x to half precision and back, into dst; h is the number of a
// scratch register.
func (v vec) half(x, dst string, h int) {
	narrow := fmt.Sprintf("%c%d", map[byte]byte{'Z': 'Y', 'Y': 'X'}[v.kind], h)
	v.op("VCVTPS2PH $0, %s, %s", x, narrow)
	v.op("VCVTPH2PS %s, %s", narrow, dst)
}

// gate emits dst = x ÷ (1 + exp of what arg makes of x) × up for one vector.
func (v vec) gate(off int, arg func(x, dst string), table bool) {
	x, e, p, n, r, t, whole := v.r(0), v.r(1), v.r(2), v.r(3), v.r(4), v.r(5), v.r(6)
	v.op("VMOVUPS %d(SI), %s", off, x)
	if table {
		v.op("VMOVAPS %s, %s", x, whole)
		v.half(whole, x, 7)
	}
	arg(x, e)
	v.exp(e, p, n, r, t)
	v.withConst("VADDPS", "one", "%s, %s", p, p)
	v.op("VDIVPS %s, %s, %s", p, x, p)
	if table {
		v.half(p, p, 7)
		v.ends(whole, p, t)
	}
	v.op("VMULPS %d(DX), %s, %s", off, p, p)
	v.op("VMOVUPS %s, %d(DI)", p, off)
}

// ends puts x itself in p where x is at least 10, and 0 where it is at most −10.
func (v vec) ends(x, p, t string) {
	if v.kind == 'Z' {
		v.withConst("VCMPPS $0x1d", "ten", "%s, K1", x)
		v.withConst("VCMPPS $0x12", "minus10", "%s, K2", x)
		v.op("VMOVAPS %s, K1, %s", x, p)
		v.xor(t, t, t)
		v.op("VMOVAPS %s, K2, %s", t, p)
		return
	}
	v.withConst("VCMPPS $0x1d", "ten", "%s, %s", x, t)
	v.op("VBLENDVPS %s, %s, %s, %s", t, x, p, p)
	v.withConst("VCMPPS $0x12", "minus10", "%s, %s", x, t)
	v.op("VANDNPS %s, %s, %s", p, t, p)
}

// softcap emits the function that caps a row in place.
func (v vec) softcap(b *bytes.Buffer, level string) {
	v.function(b, "softcap"+level, "x *float32, blocks int, mul, limit, twice float32", 28)
	v.op("MOVQ x+0(FP), DI")
	v.op("MOVQ blocks+8(FP), CX")
	v.op("VBROADCASTSS mul+16(FP), %s", v.r(8))
	v.op("VBROADCASTSS limit+20(FP), %s", v.r(9))
	v.op("VBROADCASTSS twice+24(FP), %s", v.r(10))
	v.label("loop")
	for _, off := range v.offsets() {
		x, p, n, r, t := v.r(0), v.r(1), v.r(2), v.r(3), v.r(4)
		v.op("VMULPS %d(DI), %s, %s", off, v.r(8), x)
		v.exp(x, p, n, r, t)
		v.withConst("VADDPS", "one", "%s, %s", p, p)
		v.op("VDIVPS %s, %s, %s", p, v.r(10), p)
		v.op("VSUBPS %s, %s, %s", p, v.r(9), p)
		v.op("VMOVUPS %s, %d(DI)", p, off)
	}
	v.op("ADDQ $64, DI")
	v.end(b)
}

// r names register i.
func (v vec) r(i int) string { return fmt.Sprintf("%c%d", v.kind, i) }

// offsets are the parts of a block of 16 values.
func (v vec) offsets() []int {
	if v.kind == 'Z' {
		return []int{0}
	}
	return []int{0, 32}
}

// expFile is exp_amd64.s.
func expFile() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("#include \"textflag.h\"\n\n")
	for i, c := range expConsts {
		fmt.Fprintf(&b, "// %s\n", c.name)
		for j := range 4 {
			fmt.Fprintf(&b, "DATA expTable<>+%d(SB)/8, $%#08x%08x\n", 32*i+8*j, c.bits, c.bits)
		}
	}
	fmt.Fprintf(&b, "GLOBL expTable<>(SB), RODATA|NOPTR, $%d\n", 32*len(expConsts))
	for _, l := range levels {
		v := vec{&asm{}, l.kind}
		for _, g := range []struct {
			name string
			arg  func(x, dst string)
		}{
			{"silu", func(x, dst string) {
				if v.kind == 'Z' {
					v.withConst("VPXORD", "sign", "%s, %s", x, dst)
				} else {
					v.withConst("VXORPS", "sign", "%s, %s", x, dst)
				}
			}},
			{"gelu", func(x, dst string) {
				v.op("VMULPS %s, %s, %s", x, x, dst)
				v.loadConst("gelu1", v.r(2))
				v.withConst("VFMADD231PS", "gelu3", "%s, %s", dst, v.r(2))
				v.op("VMULPS %s, %s, %s", v.r(2), x, dst)
			}},
		} {
			v.function(&b, g.name+l.name, "dst, gate, up *float32, blocks int", 32)
			v.op("MOVQ dst+0(FP), DI")
			v.op("MOVQ gate+8(FP), SI")
			v.op("MOVQ up+16(FP), DX")
			v.op("MOVQ blocks+24(FP), CX")
			v.label("loop")
			for _, off := range v.offsets() {
				v.gate(off, g.arg, g.name == "gelu")
			}
			v.op("ADDQ $64, SI")
			v.op("ADDQ $64, DX")
			v.op("ADDQ $64, DI")
			v.end(&b)
		}
		v.softcap(&b, l.name)
		v.function(&b, "expSum"+l.name, "lanes *[16]float32, p *float32, blocks int, m float32", 28)
		v.op("MOVQ p+8(FP), SI")
		v.op("MOVQ blocks+16(FP), CX")
		v.op("VBROADCASTSS m+24(FP), %s", v.r(8))
		for i := range v.offsets() {
			v.zero(v.r(9 + i))
		}
		v.label("loop")
		for i, off := range v.offsets() {
			x, p, n, r, t := v.r(0), v.r(1), v.r(2), v.r(3), v.r(4)
			v.op("VMOVUPS %d(SI), %s", off, x)
			v.op("VSUBPS %s, %s, %s", v.r(8), x, x)
			v.exp(x, p, n, r, t)
			v.op("VMOVUPS %s, %d(SI)", p, off)
			v.op("VADDPS %s, %s, %s", p, v.r(9+i), v.r(9+i))
		}
		v.op("ADDQ $64, SI")
		v.op("DECQ CX")
		v.op("JNZ loop")
		v.op("MOVQ lanes+0(FP), DI")
		for i, off := range v.offsets() {
			v.op("VMOVUPS %s, %d(DI)", v.r(9+i), off)
		}
		v.flush(&b)
	}
	return b.Bytes()
}

// function opens a function of the vector files.
func (v vec) function(b *bytes.Buffer, name, args string, size int) {
	fmt.Fprintf(b, "\n// func %s(%s)\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", name, args, name, size)
}

// end closes a loop over blocks and the function.
func (v vec) end(b *bytes.Buffer) {
	v.op("DECQ CX")
	v.op("JNZ loop")
	v.flush(b)
}

func (v vec) flush(b *bytes.Buffer) {
	v.op("VZEROUPPER")
	v.op("RET")
	b.Write(v.body.Bytes())
	v.body.Reset()
}
