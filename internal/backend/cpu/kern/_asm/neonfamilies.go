package main

import (
	"bytes"
	"fmt"
	"path/filepath"
)

// neonLevels are kern's levels for arm64.
var neonLevels = []struct {
	name, tiles string
	dot         bool
}{
	{"NEON", "neonTiles", false},
	{"SDOT", "sdotTiles", true},
}

// neonFamily is a format in panels, as family is.
type neonFamily struct {
	name, format string
	consts       string
	emit         func(*neon)
	neon, sdot   [][2]int // tiles of the levels
	flushes      bool     // the kernels tell whether a result was flushed
	more         int
}

var (
	neonIQ4  = signedLevels("iq4", iq4Levels)
	neonFP4  = signedLevels("fp4", fp4Levels)
	fewRows  = [][2]int{{1, 2}, {2, 1}, {1, 1}}
	manyRows = [][2]int{{1, 4}, {4, 1}, {1, 1}}
	planesOf = [][2]int{{1, 2}, {1, 1}}
	planes4  = [][2]int{{1, 4}, {1, 1}}
)

// neonFamilies are in the order of kern's table of formats.
var neonFamilies = []neonFamily{
	{"f32", "F32", "", neonPlain(false), manyRows, nil, false, 0},
	{"f16", "F16", "", neonPlain(true), manyRows, nil, false, 0},
	{"bf16", "BF16", "", neonBF16, fewRows, nil, true, 0},
	{"q4_0", "Q4_0", "", neon32{scale: 2, top: 15, offset: 3}.kernel, fewRows, manyRows, false, 0},
	{"q8_0", "Q8_0", "", neon32{bytes: true, scale: 2, top: 128}.kernel, fewRows, manyRows, false, 0},
	{"q4_k", "Q4K", "", neonPlanes{sub: 32, minima: true, top: 15}.kernel, planesOf, planes4, false, 0},
	{"q6_k", "Q6K", "", neonPlanes{sub: 16, two: true, top: 63, offset: 6}.kernel, planesOf, planes4, false, 0},
	{"q4_1", "Q4_1", "", neon32{scale: 2, min: true, top: 15}.kernel, fewRows, fewRows, false, 0},
	{"q5_0", "Q5_0", "", neon32{scale: 2, plane: true, top: 31, offset: 4}.kernel, fewRows, fewRows, false, 0},
	{"q5_1", "Q5_1", "", neon32{scale: 2, min: true, plane: true, top: 31}.kernel, fewRows, fewRows, false, 0},
	{"iq4_nl", "IQ4NL", neonIQ4, neon32{scale: 2, levels: "iq4", top: largest(iq4Levels)}.kernel, fewRows, fewRows, false, 0},
	{"mxfp4", "MXFP4", neonFP4, neon32{scale: 1, levels: "fp4", top: largest(fp4Levels)}.kernel, fewRows, fewRows, false, 0},
	{"q2_k", "Q2K", "", neonPlanes{sub: 16, minima: true, top: 3}.kernel, planesOf, planes4, false, 0},
	{"q3_k", "Q3K", "", neonPlanes{sub: 16, high: true, top: 7, offset: 3}.kernel, planesOf, planes4, false, 0},
	{"q5_k", "Q5K", "", neonPlanes{sub: 32, minima: true, high: true, top: 31}.kernel, planesOf, planes4, false, 0},
	{"iq4_xs", "IQ4XS", neonIQ4, neonPlanes{sub: 32, levels: "iq4", top: largest(iq4Levels)}.kernel, planesOf, planes4, false, 0},
	{"iq3_s", "IQ3S", signedLevels("iq3s", iq3sLevels), neonPlanes{sub: 32, levels: "iq3s", top: 15}.kernel, planesOf, planes4, false, 0},
	{"iq3_xxs", "IQ3XXS", signedLevels("iq3xxs", iq3xxsLevels), neonPlanes{sub: 32, levels: "iq3xxs", top: 62, factor: quarter}.kernel, planesOf, planes4, false, 0},
	{"iq2", "IQ2", signedLevels("iq2", iq2Levels), neonPlanes{sub: 16, high: true, levels: "iq2", top: 43, factor: eighth}.kernel, planesOf, planes4, false, 2},
	{"iq1", "IQ1", signedLevels("iq1", iq1Levels), neonPlanes{sub: 16, high: true, levels: "iq1", top: 9, factor: eighth}.kernel, planesOf, planes4, false, 1},
	{"tq", "TQ", "", neonPlanes{sub: 16, top: 3, offset: 1}.kernel, planesOf, planes4, false, 1},
	{"nvfp4", "NVFP4", neonFP4, neonNVFP4, fewRows, fewRows, false, 0},
}

func (f *neonFamily) function(level string, tile [2]int) string {
	return fmt.Sprintf("dot%s%sP%dR%d", f.format, level, tile[0], tile[1])
}

// tilesOf are a level's tiles and the level that their kernels are of: formats
// without integers have one set for both.
func (f *neonFamily) tilesOf(dot bool) ([][2]int, string) {
	if dot && f.sdot != nil {
		return f.sdot, "SDOT"
	}
	return f.neon, "NEON"
}

// writeNeon writes all files for arm64.
func writeNeon(out string) {
	for i := range neonFamilies {
		write(filepath.Join(out, neonFamilies[i].name+"_arm64.s"), neonFamilies[i].assembly())
	}
	write(filepath.Join(out, "vec_arm64.s"), neonVecFile())
	write(filepath.Join(out, "exp_arm64.s"), neonExpFile())
	write(filepath.Join(out, "attend_arm64.s"), neonAttendFile())
	writeGo(filepath.Join(out, "attendasm_arm64.go"), attendStubs([]string{"NEON"}, func(_ string, t kvType) [][2]int { return neonScoreShapes(t) }, func(string, kvType) [][2]int { return neonShapes }))
	writeGo(filepath.Join(out, "dot_arm64.go"), neonDeclarations())
}

func (f *neonFamily) assembly() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("#include \"textflag.h\"\n")
	b.WriteString(f.consts)
	for _, l := range neonLevels {
		if l.dot && f.sdot == nil {
			continue
		}
		tiles, level := f.tilesOf(l.dot)
		for _, t := range tiles {
			n := &neon{panels: t[0], rows: t[1], dot: l.dot}
			f.emit(n)
			name := f.function(level, t)
			size, result := 8, ""
			if f.flushes {
				size, result = 9, " (flushed bool)"
			}
			fmt.Fprintf(&b, "\n// func %s(a *dotArgs)%s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", name, result, name, size)
			b.Write(n.body.Bytes())
		}
	}
	return b.Bytes()
}

func neonDeclarations() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("package kern\n")
	for i := range neonFamilies {
		f := &neonFamilies[i]
		for _, l := range neonLevels {
			if l.dot && f.sdot == nil {
				continue
			}
			tiles, level := f.tilesOf(l.dot)
			for _, t := range tiles {
				result := ""
				if f.flushes {
					result = " (flushed bool)"
				}
				fmt.Fprintf(&b, "\n//go:noescape\nfunc %s(a *dotArgs)%s\n", f.function(level, t), result)
			}
		}
	}
	for _, l := range neonLevels {
		fmt.Fprintf(&b, "\n// %s are the tiles of each format, in the order of the table of formats.\nvar %s = [len(formats)][]tile{\n", l.tiles, l.tiles)
		index := 0
		for i := range neonFamilies {
			f := &neonFamilies[i]
			tiles, level := f.tilesOf(l.dot)
			for range 1 + f.more {
				fmt.Fprintf(&b, "%d: {\n", index)
				for _, t := range tiles {
					run := f.function(level, t)
					if f.flushes {
						run = fmt.Sprintf("unflushed(%s, %d, %d)", run, t[0], t[1])
					}
					fmt.Fprintf(&b, "{%d, %d, %s},\n", t[0], t[1], run)
				}
				b.WriteString("},\n")
				index++
			}
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}
