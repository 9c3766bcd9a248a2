package main

import (
	"bytes"
	"fmt"
)

// Packing turns rows into lanes. A unit is 16 bytes of each of 16 rows, four
// words of 32 bits; it becomes four lines of 64 bytes, a word of each row:
//
//	row 0   a0 a1 a2 a3            line 0  a0 b0 c0 …
//	row 1   b0 b1 b2 b3     →      line 1  a1 b1 c1 …
//	row 2   c0 c1 c2 c3            line 2  a2 b2 c2 …
//	…                              line 3  a3 b3 c3 …
//
// Eight rows go at a time: rows r and r + 4 share a register, so that two rounds
// of unpacking within halves of 128 bits leave eight lanes in order.
//
// Registers: AX args, DI and SI a block's lines and first row, CX and R8 the
// stride of rows once and thrice, DX and R9 the same of lines, R10 blocks left;
// BX, R11, R12 and R13 rows 0, 4, 8 and 12 of a unit, R14 its lines, R15 units left.

// packFile is pack_amd64.s.
func packFile() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("#include \"textflag.h\"\n")
	b.WriteString(table("parted", 0x05040100, 0x0d0c0908, 0x07060302, 0x0f0e0b0a))   // even words, odd words
	b.WriteString(table("quarters", 0x0c080400, 0x0d090501, 0x0e0a0602, 0x0f0b0703)) // first bytes, second, …
	for _, words := range []int{32, 16} {
		a := &asm{}
		a.turn(words)
		packFunction(&b, a, fmt.Sprintf("turn%dAVX2", words), "a *turnArgs", 8)
	}
	a := &asm{}
	a.halves()
	packFunction(&b, a, "halvesAVX2", "a *turnArgs", 8)
	a = &asm{}
	a.headQ4K()
	packFunction(&b, a, "headQ4KAVX2", "dst, lines *byte", 16)
	a = &asm{}
	a.splitQ6K()
	packFunction(&b, a, "splitQ6KAVX2", "dst, src *byte, stride uintptr", 24)
	return b.Bytes()
}

func packFunction(b *bytes.Buffer, a *asm, name, args string, size int) {
	fmt.Fprintf(b, "\n// func %s(%s)\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", name, args, name, size)
	b.Write(a.body.Bytes())
}

// table is read-only data: words, for both halves of a register.
func table(name string, words ...uint32) string {
	var b bytes.Buffer
	b.WriteByte('\n')
	n := 0
	for range 2 {
		for _, w := range words {
			fmt.Fprintf(&b, "DATA ·%s<>+%d(SB)/4, $%#08x\n", name, n, w)
			n += 4
		}
	}
	fmt.Fprintf(&b, "GLOBL ·%s<>(SB), RODATA|NOPTR, $%d\n", name, n)
	return b.String()
}

// turn emits the turning of words of 32 or of 16 bits: of the latter a line of
// 64 bytes is two, of the even ones and of the odd ones.
func (a *asm) turn(words int) {
	a.op("MOVQ a+0(FP), AX")
	for _, f := range []struct {
		at  int
		reg string
	}{{0, "DI"}, {8, "SI"}, {16, "CX"}, {40, "DX"}, {48, "R10"}} {
		a.op("MOVQ %d(AX), %s", f.at, f.reg)
	}
	a.op("LEAQ (CX)(CX*2), R8")
	a.op("LEAQ (DX)(DX*2), R9")
	a.op("VPBROADCASTD 64(AX), Y15")
	if words == 16 {
		a.op("VMOVDQU ·parted<>(SB), Y14")
	}
	a.label("block")
	a.op("MOVQ SI, BX")
	a.op("LEAQ (SI)(CX*4), R11")
	a.op("LEAQ (SI)(CX*8), R12")
	a.op("LEAQ (R11)(CX*8), R13")
	a.op("MOVQ DI, R14")
	a.op("MOVQ 56(AX), R15")
	a.label("unit")
	for half, rows := range [][2]string{{"BX", "R11"}, {"R12", "R13"}} {
		a.comment("rows %d to %d", 8*half, 8*half+7)
		for r := range 4 {
			a.op("VMOVDQU %s, X%d", at(rows[0], "CX", "R8", r, 0), r)
			a.op("VINSERTI128 $1, %s, Y%d, Y%d", at(rows[1], "CX", "R8", r, 0), r, r)
			if words == 32 {
				a.op("VPXOR Y15, Y%d, Y%d", r, r)
			}
		}
		a.op("VPUNPCKLDQ Y1, Y0, Y4")
		a.op("VPUNPCKHDQ Y1, Y0, Y5")
		a.op("VPUNPCKLDQ Y3, Y2, Y6")
		a.op("VPUNPCKHDQ Y3, Y2, Y7")
		a.op("VPUNPCKLQDQ Y6, Y4, Y8")
		a.op("VPUNPCKHQDQ Y6, Y4, Y9")
		a.op("VPUNPCKLQDQ Y7, Y5, Y10")
		a.op("VPUNPCKHQDQ Y7, Y5, Y11")
		for w := range 4 {
			if words == 32 {
				a.op("VMOVDQU Y%d, %s", 8+w, at("R14", "DX", "R9", w, 32*half))
				continue
			}
			a.op("VPSHUFB Y14, Y%d, Y%d", 8+w, 8+w)
			a.op("VPERMQ $0xd8, Y%d, Y%d", 8+w, 8+w)
			a.op("VMOVDQU X%d, %s", 8+w, at("R14", "DX", "R9", w, 16*half))
			a.op("VEXTRACTI128 $1, Y%d, %s", 8+w, at("R14", "DX", "R9", w, 32+16*half))
		}
	}
	for _, r := range []string{"BX", "R11", "R12", "R13"} {
		a.op("ADDQ $16, %s", r)
	}
	a.op("LEAQ (R14)(DX*4), R14")
	a.op("DECQ R15")
	a.op("JNZ unit")
	a.op("ADDQ 24(AX), DI")
	a.op("ADDQ 32(AX), SI")
	a.op("DECQ R10")
	a.op("JNZ block")
	a.op("VZEROUPPER")
	a.op("RET")
}

// halves emits the copying of 2 bytes of each row to its lane, block by block.
func (a *asm) halves() {
	a.op("MOVQ a+0(FP), AX")
	for _, f := range []struct {
		at  int
		reg string
	}{{0, "DI"}, {8, "SI"}, {16, "CX"}, {48, "R10"}} {
		a.op("MOVQ %d(AX), %s", f.at, f.reg)
	}
	a.op("LEAQ (CX)(CX*2), R8")
	a.label("block")
	a.op("LEAQ (SI)(CX*4), R11")
	a.op("LEAQ (SI)(CX*8), R12")
	a.op("LEAQ (R11)(CX*8), R13")
	for i, base := range []string{"SI", "R11", "R12", "R13"} {
		for r := range 4 {
			lane := 4*(i%2) + r
			x := fmt.Sprintf("X%d", i/2)
			if lane == 0 {
				a.op("VPXOR %s, %s, %s", x, x, x)
			}
			a.op("VPINSRW $%d, %s, %s, %s", lane, at(base, "CX", "R8", r, 0), x, x)
		}
	}
	a.op("VMOVDQU X0, (DI)")
	a.op("VMOVDQU X1, 16(DI)")
	a.op("ADDQ 24(AX), DI")
	a.op("ADDQ 32(AX), SI")
	a.op("DECQ R10")
	a.op("JNZ block")
	a.op("VZEROUPPER")
	a.op("RET")
}

// headQ4K emits the spreading of a Q4_K block's first 16 bytes, turned to lines
// already: d and dmin, and the scales' words a, b and c. Four scales or minima at a
// time come to lie in the bytes of a word:
//
//	scales  a & 3f    c & 0f | a>>2 & 30
//	minima  b & 3f    c>>4 & 0f | b>>2 & 30
func (a *asm) headQ4K() {
	const pairs, pair = 64, 64 + 8*64
	a.op("MOVQ dst+0(FP), DI")
	a.op("MOVQ lines+8(FP), SI")
	a.op("VMOVDQU ·parted<>(SB), Y15")
	a.op("VMOVDQU ·quarters<>(SB), Y14")
	for i, m := range []uint32{0x3f3f3f3f, 0x0f0f0f0f, 0x30303030} {
		a.op("MOVL $%#x, AX", m)
		a.op("VMOVD AX, X%d", 11+i)
		a.op("VPBROADCASTD X%d, Y%d", 11+i, 11+i)
	}
	// apart stores the low words of 8 lanes of a register, and the high ones.
	apart := func(y string, low, high int) {
		a.op("VPSHUFB Y15, %s, %s", y, y)
		a.op("VPERMQ $0xd8, %s, %s", y, y)
		a.op("VMOVDQU X%s, %d(DI)", y[1:], low)
		a.op("VEXTRACTI128 $1, %s, %d(DI)", y, high)
	}
	// upper is low nibbles of c with the top bits of y over them.
	upper := func(c, y, out string) {
		a.op("VPAND Y12, %s, %s", c, c)
		a.op("VPSRLD $2, %s, %s", y, out)
		a.op("VPAND Y13, %s, %s", out, out)
		a.op("VPOR %s, %s, %s", c, out, out)
	}
	for h := range 2 {
		a.comment("lanes %d to %d", 8*h, 8*h+7)
		for l := range 4 {
			a.op("VMOVDQU %d(SI), Y%d", 64*l+32*h, l)
		}
		apart("Y0", 16*h, 32+16*h)
		a.op("VPSRLD $4, Y3, Y4")
		upper("Y3", "Y1", "Y5") // scales of sub-blocks 4 to 7
		upper("Y4", "Y2", "Y6") // minima
		a.op("VPAND Y11, Y1, Y1")
		a.op("VPAND Y11, Y2, Y2")
		for i, y := range []string{"Y2", "Y6"} {
			apart(y, pairs+2*i*pair+32+16*h, pairs+(2*i+1)*pair+32+16*h)
		}
		for i, y := range []string{"Y1", "Y5"} {
			a.op("VPSHUFB Y14, %s, %s", y, y)
			a.op("VEXTRACTI128 $1, %s, X7", y)
			for p, unpack := range []string{"VPUNPCKLDQ", "VPUNPCKHDQ"} {
				at := pairs + (2*i+p)*pair + 8*h
				a.op("%s X7, X%s, X8", unpack, y[1:])
				a.op("VMOVQ X8, %d(DI)", at)
				a.op("VPEXTRQ $1, X8, %d(DI)", at+16)
			}
		}
	}
	a.op("VZEROUPPER")
	a.op("RET")
}

// splitQ6K emits the regrouping of one Q6_K block of each of 16 rows: the four
// low and the two high bits of its 256 values, chunk by chunk as panels have
// them, 48 bytes a chunk (low bits of two pairs of sub-blocks, then high bits).
// Of the file's block, A and B are the even and the odd sub-block's 16 bytes:
//
//	chunk 2h      low  A & 0f | B << 4            high  A & 03 | B<<2 & 0c | A<<2 & 30 | B<<4 & c0
//	chunk 2h + 1  low  A >> 4 | B & f0            high  A>>4 & 03 | B>>2 & 0c | A>>2 & 30 | B & c0
func (a *asm) splitQ6K() {
	a.op("MOVQ dst+0(FP), DI")
	a.op("MOVQ src+8(FP), SI")
	a.op("MOVQ stride+16(FP), CX")
	masks := map[int]string{}
	for i, m := range []int{0x0f, 0xf0, 0x03, 0x0c, 0x30, 0xc0} {
		masks[m] = fmt.Sprintf("X%d", 10+i)
		a.op("MOVL $%#x, AX", uint32(m)*0x01010101)
		a.op("VMOVD AX, X%d", 10+i)
		a.op("VPBROADCASTD X%d, X%d", 10+i, 10+i)
	}
	// part is src shifted (right where it is negative) and masked.
	part := func(src string, shift, mask int, dst string) {
		switch {
		case shift > 0:
			a.op("VPSLLW $%d, %s, %s", shift, src, dst)
			src = dst
		case shift < 0:
			a.op("VPSRLW $%d, %s, %s", -shift, src, dst)
			src = dst
		}
		a.op("VPAND %s, %s, %s", masks[mask], src, dst)
	}
	store := func(to int, parts ...[3]int) { // register, shift, mask
		for i, p := range parts {
			dst := "X6"
			if i > 0 {
				dst = "X7"
			}
			part(fmt.Sprintf("X%d", p[0]), p[1], p[2], dst)
			if i > 0 {
				a.op("VPOR X7, X6, X6")
			}
		}
		a.op("VMOVDQU X6, %d(DI)", to)
	}
	a.op("MOVQ $16, R10")
	a.label("lane")
	for h := range 2 {
		for i := range 4 {
			a.op("VMOVDQU %d(SI), X%d", 64*h+16*i, i)
		}
		a.op("VMOVDQU %d(SI), X4", 128+32*h)
		a.op("VMOVDQU %d(SI), X5", 128+32*h+16)
		even, odd := 96*h, 96*h+48
		for i := range 2 {
			store(even+16*i, [3]int{2 * i, 0, 0x0f}, [3]int{2*i + 1, 4, 0xf0})
			store(odd+16*i, [3]int{2 * i, -4, 0x0f}, [3]int{2*i + 1, 0, 0xf0})
		}
		store(even+32, [3]int{4, 0, 0x03}, [3]int{5, 2, 0x0c}, [3]int{4, 2, 0x30}, [3]int{5, 4, 0xc0})
		store(odd+32, [3]int{4, -4, 0x03}, [3]int{5, -2, 0x0c}, [3]int{4, -2, 0x30}, [3]int{5, 0, 0xc0})
	}
	a.op("ADDQ $192, DI")
	a.op("ADDQ CX, SI")
	a.op("DECQ R10")
	a.op("JNZ lane")
	a.op("VZEROUPPER")
	a.op("RET")
}
