package main

import (
	"bytes"
	"fmt"
)

// amxFuncs are the functions of the AMX level. Those of the tile and vector
// phases are in the table of code addresses.
func amxFuncs() (coded, others []amxFunc) {
	coded = []amxFunc{
		newAMX("amxTilesInt8", "a *tileArgs", func(a *asm) { a.frame = 8; tilePhase(a, tdpbssd, "tdpbssd") }),
		newAMX("amxTilesBF16", "a *tileArgs", func(a *asm) { a.frame = 8; tilePhase(a, tdpbf16ps, "tdpbf16ps") }),
	}
	for _, min := range []bool{false, true} {
		for b := 1; b <= 4; b++ {
			coded = append(coded, newAMX("amxScale"+map[bool]string{true: "Min"}[min]+fmt.Sprint(b), "a *tileArgs", scale32(b, min)))
		}
	}
	coded = append(coded,
		newAMX("amxScaleK", "a *tileArgs", scaleK{planes: 2}.emit),
		newAMX("amxScaleKMin4", "a *tileArgs", scaleK{planes: 2, mins: 4}.emit),
		newAMX("amxScaleKMin8", "a *tileArgs", scaleK{planes: 1, mins: 8}.emit),
		newAMX("amxScaleKNeg", "a *tileArgs", scaleK{planes: 1, negative: true}.emit),
		newAMX("amxScaleBF16", "a *tileArgs", scaleBF16),
		newAMX("amxPeak", "config *[64]byte, turns int", peak),
	)
	coded[len(coded)-1].size = 16
	for _, e := range []struct {
		name string
		emit func(*asm)
	}{
		{"Q8_0", expandQ8_0},
		{"Q4_0", expandNibbles(nibbles{scale: 2, offset: 8}, "")},
		{"Q4_1", expandNibbles(q4_1, "")},
		{"Q5_0", expandNibbles(q5_0, "")},
		{"Q5_1", expandNibbles(q5_1, "")},
		{"IQ4NL", expandNibbles(iq4nl, "iq4")},
		{"MXFP4", expandNibbles(mxfp4, "fp4")},
		{"Q2K", expandQ2K.emit},
		{"Q3K", expandQ3K.emit},
		{"Q4K", expandQ4K.emit},
		{"Q5K", expandQ5K.emit},
		{"Q6K", expandQ6K.emit},
		{"IQ4XS", expandIQ4XS.emit},
	} {
		others = append(others, newAMX("amxExpand"+e.name, "a *expandArgs", e.emit))
	}
	pack := newAMX("amxPackBF16", "dst *uint16, src *float32, blocks int", packBF16)
	pack.size = 24
	return coded, append(others, pack)
}

// packBF16 keeps the upper halves of floats, 16 a turn.
func packBF16(a *asm) {
	a.op("MOVQ dst+0(FP), DI")
	a.op("MOVQ src+8(FP), SI")
	a.op("MOVQ blocks+16(FP), CX")
	a.label("loop")
	a.op("VMOVDQU64 (SI), Z0")
	a.op("VPSRLD $16, Z0, Z0")
	a.op("VPMOVDW Z0, (DI)")
	a.op("ADDQ $64, SI")
	a.op("ADDQ $32, DI")
	a.op("DECQ CX")
	a.op("JNZ loop")
	a.op("VZEROUPPER")
	a.op("RET")
}

func amxFile() (text, stubs []byte) {
	coded, others := amxFuncs()
	var s, g bytes.Buffer
	s.WriteString(header + "#include \"textflag.h\"\n")
	s.WriteString(exponents + bytesData("iq4", iq4Levels, 0) + bytesData("fp4", fp4Levels, 0))
	s.WriteString("\n// Where the code of these functions begins: the tile phase calls the vector\n// phase by address.\n")
	g.WriteString(header + "package kern\n\n// Indices of amxCode.\nconst (\n")
	for i, f := range coded {
		fmt.Fprintf(&s, "DATA amxcodes<>+%d(SB)/8, $·%s(SB)\n", 8*i, f.name)
		decl := ""
		if i == 0 {
			decl = " = iota"
		}
		fmt.Fprintf(&g, "code%s%s\n", f.name[3:], decl)
	}
	g.WriteString("codes\n)\n\n// amxCode is the address of a function's code.\n//\n//go:noescape\nfunc amxCode(i int) uintptr\n")
	fmt.Fprintf(&s, "GLOBL amxcodes<>(SB), RODATA, $%d\n", 8*len(coded))
	s.WriteString(`
// func amxCode(i int) uintptr
TEXT ·amxCode(SB), NOSPLIT, $0-16
	MOVQ i+0(FP), CX
	LEAQ amxcodes<>(SB), AX
	MOVQ (AX)(CX*8), AX
	MOVQ AX, ret+8(FP)
	RET
`)
	emit := func(f amxFunc) {
		size := max(f.size, 8)
		fmt.Fprintf(&s, "\n// func %s(%s)\nTEXT ·%s(SB), NOSPLIT, $%d-%d\n", f.name, f.args, f.name, f.frame, size)
		s.Write(f.body.Bytes())
		fmt.Fprintf(&g, "\n//go:noescape\nfunc %s(%s)\n", f.name, f.args)
	}
	for _, f := range append(coded, others...) {
		emit(f)
	}
	return s.Bytes(), g.Bytes()
}
