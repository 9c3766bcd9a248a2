package main

import (
	"bytes"
	"fmt"
)

var levels = []struct {
	name string
	kind byte
}{{"AVX2", 'Y'}, {"AVX512", 'Z'}}

// kvType is a type of KV cache as the attention kernels read it.
type kvType struct {
	name  string
	size  int  // of one value in bytes
	quant bool // with a scale per token and 32 dimensions
}

// kvTypes are in the order of package kern's table.
var kvTypes = []kvType{{"F32", 4, false}, {"F16", 2, false}, {"BF16", 2, false}, {"Q8", 1, true}}

// Sizes of the attention kernels: queries × groups of 16 keys, and queries × 16
// dimensions. Each size is a number of chains of fused multiply-adds, which need
// 8 in flight to keep two units of latency 4 busy: so one query takes many
// groups, and several queries share what they load.
var (
	scoreShapes = map[byte][][2]int{
		'Y': {{1, 1}, {1, 4}, {2, 1}, {2, 2}, {3, 1}, {4, 1}},
		'Z': {{1, 1}, {1, 8}, {2, 1}, {2, 4}, {3, 1}, {3, 4}, {4, 1}, {4, 4}},
	}
	valueShapes = map[byte][][2]int{
		'Y': {{1, 1}, {1, 4}, {2, 1}, {2, 2}, {3, 1}, {4, 1}},
		'Z': {{1, 1}, {1, 4}, {1, 8}, {2, 1}, {2, 4}, {2, 8}, {3, 1}, {3, 4}, {3, 8}, {4, 1}, {4, 4}},
	}
)

// spanBytes is the distance between two queries' rows of scores, tokens the
// size of a group, blockDims the dimensions that share a scale.
const (
	spanBytes = 512 * 4
	tokens    = 16
	blockDims = 32
)

func attendName(base, level string, t kvType, s [2]int) string {
	return fmt.Sprintf("%s%s%sQ%dx%d", base, level, t.name, s[0], s[1])
}

// attender emits attention kernels for one level and type.
type attender struct {
	vec
	kvType
	frame int
}

// attendFile is attend_amd64.s.
func attendFile() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("#include \"textflag.h\"\n")
	for _, l := range levels {
		for _, t := range kvTypes {
			for _, s := range scoreShapes[l.kind] {
				a := &attender{vec: vec{&asm{}, l.kind}, kvType: t}
				a.scores(s[0], s[1])
				a.write(&b, attendName("scores", l.name, t, s), "a *scoresArgs")
			}
			for _, s := range valueShapes[l.kind] {
				a := &attender{vec: vec{&asm{}, l.kind}, kvType: t}
				a.values(s[0], s[1])
				a.write(&b, attendName("values", l.name, t, s), "a *valuesArgs")
			}
		}
	}
	return b.Bytes()
}

func (a *attender) write(b *bytes.Buffer, name, args string) {
	fmt.Fprintf(b, "\n// func %s(%s)\nTEXT ·%s(SB), NOSPLIT, $%d-8\n", name, args, name, a.frame)
	a.flush(b)
}

// attendSizes are the sizes of a level's kernels for a type.
type attendSizes func(level string, t kvType) [][2]int

// shapesOf finds a level's sizes by its name.
func shapesOf(shapes map[byte][][2]int) attendSizes {
	return func(level string, _ kvType) [][2]int {
		for _, l := range levels {
			if l.name == level {
				return shapes[l.kind]
			}
		}
		panic("no level " + level)
	}
}

// attendStubs declares the functions and lists them by level, type and size.
func attendStubs(levels []string, scores, values attendSizes) []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("package kern\n")
	each := func(f func(base, level string, sizes attendSizes)) {
		for _, l := range levels {
			f("scores", l, scores)
			f("values", l, values)
		}
	}
	each(func(base, level string, sizes attendSizes) {
		for _, t := range kvTypes {
			for _, s := range sizes(level, t) {
				fmt.Fprintf(&b, "\n//go:noescape\nfunc %s(a *%sArgs)\n", attendName(base, level, t, s), base)
			}
		}
	})
	each(func(base, level string, sizes attendSizes) {
		fmt.Fprintf(&b, "\n// %s%s are the kernels by type of cache, queries and size.\n", base, level)
		fmt.Fprintf(&b, "var %s%s = [kvKinds]shapes[%sArgs]{\n", base, level, base)
		for _, t := range kvTypes {
			b.WriteString("{\n")
			all := sizes(level, t)
			for i, s := range all {
				if i == 0 || all[i-1][0] != s[0] {
					fmt.Fprintf(&b, "%d: {", s[0])
				}
				fmt.Fprintf(&b, "%d: %s,", s[1], attendName(base, level, t, s))
				if i == len(all)-1 || all[i+1][0] != s[0] {
					b.WriteString("},\n")
				}
			}
			b.WriteString("},\n")
		}
		b.WriteString("}\n")
	})
	return b.Bytes()
}

// pool hands out general registers.
type pool []string

func (p *pool) take() string {
	r := (*p)[0]
	*p = (*p)[1:]
	return r
}

// place is an address with an offset, and perhaps an index.
func place(off int, base, index string) string {
	s := "(" + base + ")"
	if off != 0 {
		s = fmt.Sprintf("%d", off) + s
	}
	if index != "" {
		s += "(" + index + ")"
	}
	return s
}

// halves is how many registers hold 16 values, lanes how many values one holds.
func (a *attender) halves() int { return len(a.offsets()) }
func (a *attender) lanes() int  { return 16 / a.halves() }

// widen loads values as float32, exactly; a quant is not yet scaled.
func (a *attender) widen(mem, reg string) {
	switch a.name {
	case "F32":
		a.op("VMOVUPS %s, %s", mem, reg)
	case "F16":
		a.op("VCVTPH2PS %s, %s", mem, reg)
	case "BF16":
		a.op("VPMOVZXWD %s, %s", mem, reg)
		a.op("VPSLLD $16, %s, %s", reg, reg)
	case "Q8":
		a.op("VPMOVSXBD %s, %s", mem, reg)
		a.op("VCVTDQ2PS %s, %s", reg, reg)
	}
}
