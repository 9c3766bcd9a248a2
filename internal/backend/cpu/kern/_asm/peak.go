package main

import (
	"bytes"
	"fmt"
)

// The loops that kernels are held against: plain reads in four streams, float
// FMA, and dot products of bytes. Arguments: CX rounds; DI and SI of a read.

// peakReg names register i of a kind.
func peakReg(kind byte, i int) string { return fmt.Sprintf("%c%d", kind, i) }

// peakRead reads 4 streams of CX lines, SI bytes apart.
func peakRead(a *asm, kind byte) {
	a.op("MOVQ p+0(FP), DI")
	a.op("MOVQ stride+8(FP), SI")
	a.op("MOVQ lines+16(FP), CX")
	a.op("LEAQ (SI)(SI*2), R8")
	a.label("loop")
	a.panels = 4
	for p := range a.panels {
		a.op("PREFETCHT0 %s", a.w(p, ahead))
	}
	for p := range a.panels {
		for i, off := range (vec{a, kind}).offsets() {
			a.op("VMOVUPS %s, %s", a.w(p, off), peakReg(kind, 2*p+i))
		}
	}
	a.op("ADDQ $64, DI")
	a.op("DECQ CX")
	a.op("JNZ loop")
	a.op("VZEROUPPER")
	a.op("RET")
}

// peakChains runs CX rounds of ops, each on a register of its own: 12 chains
// hide the latency on every processor there is.
const peakChains = 12

func peakOps(a *asm, op func(acc string)) {
	a.op("MOVQ rounds+0(FP), CX")
	for i := range 16 {
		r := fmt.Sprintf("Y%d", i)
		a.op("VPXOR %s, %s, %s", r, r, r)
	}
	a.label("loop")
	for i := range peakChains {
		op(fmt.Sprint(4 + i))
	}
	a.op("DECQ CX")
	a.op("JNZ loop")
	a.op("VZEROUPPER")
	a.op("RET")
}

func peakFile() []byte {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("#include \"textflag.h\"\n" + ones)
	for _, l := range []struct {
		name string
		kind byte
	}{{"AVX2", 'Y'}, {"AVX512", 'Z'}} {
		emit := func(name, args string, size int, f func(a *asm)) {
			a := &asm{out: &b}
			f(a)
			fmt.Fprintf(&b, "\n// func %s%s(%s)\nTEXT ·%s%s(SB), NOSPLIT, $0-%d\n", name, l.name, args, name, l.name, size)
			b.Write(a.body.Bytes())
		}
		emit("peakRead", "p *byte, stride, lines uintptr", 24, func(a *asm) { peakRead(a, l.kind) })
		emit("peakFMA", "rounds uintptr", 8, func(a *asm) {
			peakOps(a, func(acc string) {
				a.op("VFMADD231PS %c1, %c0, %c%s", l.kind, l.kind, l.kind, acc)
			})
		})
		emit("peakDot", "rounds uintptr", 8, func(a *asm) {
			peakOps(a, func(acc string) {
				if l.kind == 'Z' {
					a.op("VPDPBUSD Z1, Z0, Z%s", acc)
					return
				}
				a.op("VPMADDUBSW Y1, Y0, Y2")
				a.op("VPMADDWD ones<>(SB), Y2, Y2")
				a.op("VPADDD Y2, Y%s, Y%s", acc, acc)
			})
		})
	}
	return b.Bytes()
}
