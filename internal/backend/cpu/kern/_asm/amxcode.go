package main

import (
	"fmt"
	"strings"
)

// The assembler knows no tile instruction, so they are emitted as bytes: a VEX
// prefix of three bytes, the opcode, ModRM and, for memory, SIB.
//
//	C4 │ R̄ X̄ B̄ 00010 │ 0 v̄v̄v̄v̄ 0 pp │ opcode │ ModRM │ SIB
//
// R̄, X̄ and B̄ are the inverted fourth bits of ModRM's register, of the index and
// of the base; v̄v̄v̄v̄ is the inverted third operand.

// pp of the prefix: which legacy prefix it stands for.
const (
	ppNone = iota
	pp66
	ppF3
	ppF2
)

// x86 are the numbers of the registers that hold addresses and strides.
var x86 = map[string]int{
	"AX": 0, "CX": 1, "DX": 2, "BX": 3, "SP": 4, "BP": 5, "SI": 6, "DI": 7,
	"R8": 8, "R9": 9, "R10": 10, "R11": 11, "R12": 12, "R13": 13, "R14": 14, "R15": 15,
}

// vex is the prefix and the opcode: base and index are 0 where there are none.
func vex(base, index, third, pp int, opcode byte) []byte {
	return []byte{0xC4, byte(0x82 | ^index>>3&1<<6 | ^base>>3&1<<5), byte(^third&15<<3 | pp), opcode}
}

// memory is ModRM and SIB of [base + index], without a displacement.
func memory(tile int, base, index string) []byte {
	b, i := x86[base], x86[index]
	if b&7 == 5 || i == 4 {
		panic(fmt.Sprintf("[%s + %s] has no such form", base, index))
	}
	return []byte{byte(4 | tile<<3), byte(i&7<<3 | b&7)}
}

// The instructions.

// ldtilecfg configures the tiles from 64 bytes at a register of the first eight.
func ldtilecfg(at string) []byte {
	r := x86[at]
	if r > 7 || r == 4 || r == 5 {
		panic("ldtilecfg [" + at + "]")
	}
	return append(vex(0, 0, 0, ppNone, 0x49), byte(r))
}

func tilerelease() []byte { return append(vex(0, 0, 0, ppNone, 0x49), 0xC0) }

func tilezero(tile int) []byte { return append(vex(0, 0, 0, ppF2, 0x49), byte(0xC0|tile<<3)) }

// tileloadd reads rows from base on, index bytes apart.
func tileloadd(tile int, base, index string) []byte {
	return append(vex(x86[base], x86[index], 0, ppF2, 0x4B), memory(tile, base, index)...)
}

func tilestored(tile int, base, index string) []byte {
	return append(vex(x86[base], x86[index], 0, ppF3, 0x4B), memory(tile, base, index)...)
}

// product is one of the tile products: d += a × b.
type product struct {
	pp     int
	opcode byte
}

var (
	tdpbssd   = product{ppF2, 0x5E} // signed × signed bytes
	tdpbsud   = product{ppF3, 0x5E} // signed × unsigned
	tdpbusd   = product{pp66, 0x5E}
	tdpbuud   = product{ppNone, 0x5E}
	tdpbf16ps = product{ppF3, 0x5C}
)

func (p product) code(d, a, b int) []byte {
	return append(vex(0, 0, b, p.pp, p.opcode), byte(0xC0|d<<3|a))
}

// tile emits a tile instruction, named in a comment.
func (a *asm) tile(code []byte, format string, args ...any) {
	var s strings.Builder
	for i, b := range code {
		if i > 0 {
			s.WriteString("; ")
		}
		fmt.Fprintf(&s, "BYTE $0x%02X", b)
	}
	a.op("%s // %s", s.String(), fmt.Sprintf(format, args...))
}
