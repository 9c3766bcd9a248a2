package main

import (
	"bytes"
	"fmt"
)

var levels = []struct {
	name string
	kind byte
}{{"AVX2", 'Y'}, {"AVX512", 'Z'}}

// Sizes of the attention kernels: queries × groups of 16 keys, and queries ×
// 16 dimensions.
var (
	scoreShapes = map[byte][][2]int{'Y': {{2, 2}, {2, 1}, {1, 2}, {1, 1}}, 'Z': {{4, 4}, {4, 1}, {2, 4}, {2, 1}, {1, 4}, {1, 1}}}
	valueShapes = map[byte][][2]int{'Y': {{1, 4}, {1, 1}}, 'Z': {{2, 8}, {2, 4}, {2, 1}, {1, 8}, {1, 4}, {1, 1}}}
)

// spanBytes is the distance between two queries' rows of scores.
const spanBytes = 512 * 4

func shapeName(base, level string, s [2]int) string {
	return fmt.Sprintf("%s%sQ%dx%d", base, level, s[0], s[1])
}

// attendFile is attend_amd64.s.
func attendFile() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("#include \"textflag.h\"\n")
	for _, l := range levels {
		for _, s := range scoreShapes[l.kind] {
			v := vec{&asm{}, l.kind}
			v.function(&b, shapeName("scores", l.name, s), "a *scoresArgs", 8)
			v.scores(s[0], s[1])
			v.flush(&b)
		}
		for _, s := range valueShapes[l.kind] {
			v := vec{&asm{}, l.kind}
			v.function(&b, shapeName("values", l.name, s), "a *valuesArgs", 8)
			v.values(s[0], s[1])
			v.flush(&b)
		}
	}
	return b.Bytes()
}

// attendStubs declares them.
func attendStubs() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("package kern\n")
	for _, l := range levels {
		for _, s := range scoreShapes[l.kind] {
			fmt.Fprintf(&b, "\n//go:noescape\nfunc %s(a *scoresArgs)\n", shapeName("scores", l.name, s))
		}
		for _, s := range valueShapes[l.kind] {
			fmt.Fprintf(&b, "\n//go:noescape\nfunc %s(a *valuesArgs)\n", shapeName("values", l.name, s))
		}
	}
	return b.Bytes()
}

// scores: lane = key. Each dimension is one step: the keys' values are loaded
// once for all queries.
func (v vec) scores(queries, groups int) {
	halves := len(v.offsets())
	v.op("MOVQ a+0(FP), AX")
	v.op("MOVQ 8(AX), DX")
	k := []string{"R8", "R9", "R10", "R11"}[:groups]
	for g := range groups {
		v.op("MOVQ %d(AX), %s", 16+8*g, k[g])
	}
	v.op("MOVQ 48(AX), SI")
	if queries > 3 {
		v.op("LEAQ (SI)(SI*2), R12")
	}
	v.op("MOVQ 56(AX), CX")
	v.op("XORQ BX, BX")
	acc := make([][][]string, queries)
	for q := range acc {
		acc[q] = make([][]string, groups)
		for g := range acc[q] {
			acc[q][g] = v.regs(v.kind, halves)
			for _, r := range acc[q][g] {
				v.zero(r)
			}
		}
	}
	x := v.regs(v.kind, groups*halves)
	b := v.reg(v.kind)
	v.label("loop")
	for g := range groups {
		for h, off := range v.offsets() {
			v.op("VMOVUPS %d(%s)(BX*1), %s", off, k[g], x[g*halves+h])
		}
	}
	for q := range queries {
		v.op("VBROADCASTSS %s, %s", at("DX", "SI", "R12", q, 0), b)
		for g := range groups {
			for h := range halves {
				v.op("VFMADD231PS %s, %s, %s", x[g*halves+h], b, acc[q][g][h])
			}
		}
	}
	v.op("ADDQ $64, BX")
	v.op("ADDQ $4, DX")
	v.op("DECQ CX")
	v.op("JNZ loop")
	v.op("MOVQ 0(AX), DI")
	v.op("VBROADCASTSS 64(AX), %s", b)
	for q := range queries {
		for g := range groups {
			for h, off := range v.offsets() {
				v.op("VMULPS %s, %s, %s", acc[q][g][h], b, acc[q][g][h])
				v.op("VMOVUPS %s, %d(DI)", acc[q][g][h], q*spanBytes+64*g+off)
			}
		}
	}
}

// values: lane = dimension. The accumulators stay in registers over all groups.
func (v vec) values(queries, chunks int) {
	per := len(v.offsets()) * chunks // registers of a query
	step := 64 / len(v.offsets())
	v.op("MOVQ a+0(FP), AX")
	v.op("MOVQ 0(AX), DI")
	v.op("MOVQ 8(AX), BX")
	v.op("MOVQ 16(AX), R11")
	v.op("MOVQ 24(AX), R12")
	v.op("MOVQ 32(AX), R8")
	v.op("LEAQ 40(AX), R9")
	acc := make([][]string, queries)
	for q := range acc {
		acc[q] = v.regs(v.kind, per)
		for i, r := range acc[q] {
			v.op("VMOVUPS %s, %s", at("DI", "R11", "", q, step*i), r)
		}
	}
	p := v.regs(v.kind, queries)
	x := v.reg(v.kind)
	v.label("group")
	v.op("MOVQ (R9), SI")
	v.op("MOVQ 32(R9), CX")
	v.label("key")
	for q := range queries {
		v.op("VBROADCASTSS %d(BX), %s", q*spanBytes, p[q])
	}
	for i := range per {
		if queries == 1 {
			v.op("VFMADD231PS %d(SI), %s, %s", step*i, p[0], acc[0][i])
			continue
		}
		v.op("VMOVUPS %d(SI), %s", step*i, x)
		for q := range queries {
			v.op("VFMADD231PS %s, %s, %s", x, p[q], acc[q][i])
		}
	}
	v.op("ADDQ $4, BX")
	v.op("ADDQ R12, SI")
	v.op("DECQ CX")
	v.op("JNZ key")
	v.op("ADDQ $8, R9")
	v.op("DECQ R8")
	v.op("JNZ group")
	for q := range queries {
		for i, r := range acc[q] {
			v.op("VMOVUPS %s, %s", r, at("DI", "R11", "", q, step*i))
		}
	}
}
