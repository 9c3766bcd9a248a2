package main

import "math"

// A neon32 is a format of 32 values with a float scale, for NEON: Q8_0, or one
// of kern's type nibbles.
type neon32 struct {
	bytes  bool   // Q8_0: whole bytes, + 128
	scale  int    // bytes of a scale: 2, an f16, or 1, an exponent
	min    bool   // minima, and activations with sums
	plane  bool   // a fifth bit
	levels string // symbol of the levels that nibbles mean, or "": themselves
	top    int    // the largest magnitude of a weight
	offset int    // of the weights, as a power of two; 0: none
}

func (f neon32) minima() int { return 16 * f.scale }

func (f neon32) high() int {
	if f.min {
		return f.minima() + 32
	}
	return f.minima()
}

func (f neon32) parts() int {
	if f.plane {
		return f.high() + 64
	}
	return f.high()
}

func (f neon32) size() int {
	if f.bytes {
		return f.parts() + 8*64
	}
	return f.parts() + 4*64
}

// kernel emits panels × rows; quarters of a panel (4 lanes each) are worked on
// so many at a time, as there are registers for.
func (f neon32) kernel(n *neon) {
	quarters := 4 / n.rows
	if !n.dot {
		quarters = min(quarters, 2)
	}
	n.begin(true)
	acc := n.cube(n.panels, n.rows, 4)
	p := n.newProducts(f.top, 32/4) // a lane of 16 bits gets one of a group's four
	s := p.sumsOf(n.rows, quarters)
	u := neonUnpack{f: f, quarters: quarters}
	u.begin(n)
	n.label("loop")
	for panel := range n.panels {
		for q := 0; q < 4; q += quarters {
			p.clear(s)
			u.run(p, s, panel, q)
			p.join(s)
			f.floats(n, s, acc, panel, q, u)
		}
	}
	n.again(f.size(), 32, 4, 4)
	n.write(acc)
}

// floats ends a block: acc = fma(float(sum), dw × dx, acc), then with minima
// acc = fma(min, sum, acc). The registers of weights and activations are free.
func (f neon32) floats(n *neon, s [][]sums, acc [][][]int, panel, q int, u neonUnpack) {
	dw, t := u.lo[0], u.x[0]
	for i := range s[0] {
		f.scales(n, panel, q+i, dw, t)
		for r := range s {
			sum := s[r][i][0]
			if f.offset > 0 {
				n.everywhere(sAt(r), t)
				n.shift("shl", t, t, f.offset)
				n.v("sub", sum, sum, t)
			}
			n.v("scvtf", sum, sum)
			n.everywhere(dAt(r), t)
			n.v("fmul", t, dw, t)
			n.v("fmla", acc[panel][r][q+i], sum, t)
		}
		if !f.min {
			continue
		}
		n.op("FMOVD %d(%s), F%d", f.minima()+8*(q+i), wAt(panel), dw)
		n.v("fcvtl", dw, dw)
		for r := range s {
			n.everywhere(sAt(r), t)
			n.v("fmla", acc[panel][r][q+i], dw, t)
		}
	}
}

// scales widens a quarter's scales.
func (f neon32) scales(n *neon, panel, q, dw, t int) {
	if f.scale == 2 {
		n.op("FMOVD %d(%s), F%d", 8*q, wAt(panel), dw)
		n.v("fcvtl", dw, dw)
		return
	}
	// 2^(e − 128): as kern's nibbles have it, max((e − 1) << 23, (e + 1) << 21).
	n.op("FMOVS %d(%s), F%d", 4*q, wAt(panel), dw)
	n.v("uxtl8h", dw, dw)
	n.v("uxtl4s", dw, dw)
	n.word32(t, 1<<21)
	n.shift("shl", dw, dw, 21)
	n.v("add", t, dw, t)
	n.shift("shl", dw, dw, 2)
	one := t + 1 // u.x has two registers at least
	n.word32(one, 1<<23)
	n.v("sub", dw, dw, one)
	n.v("smax", dw, dw, t)
}

// neonUnpack brings weights to registers and multiplies them.
type neonUnpack struct {
	f                neon32
	quarters         int
	x                []int // activations: with nibbles both halves of each row's
	lo, hi           []int // weights
	high, bit        int   // the plane, and a scratch register
	mask, fifth, lut int
}

func (u *neonUnpack) begin(n *neon) {
	if u.f.bytes {
		u.x, u.lo = n.regs(n.rows), n.regs(u.quarters)
		u.mask = n.bytes(0x80)
		return
	}
	u.x, u.lo, u.hi = n.regs(2*n.rows), n.regs(u.quarters), n.regs(u.quarters)
	u.mask = n.bytes(15)
	if u.f.plane {
		u.high, u.bit, u.fifth = n.reg(), n.reg(), n.bytes(16)
	}
	if u.f.levels != "" {
		u.lut = n.table(u.f.levels)
	}
}

// run adds a block's products for the quarters from q on.
func (u *neonUnpack) run(p products, s [][]sums, panel, q int) {
	if u.f.bytes {
		for half := range 2 {
			for r := range s {
				p.load(xAt(r), 16*half, u.x[r])
			}
			for g := range 4 {
				for i, w := range u.lo {
					p.load(wAt(panel), u.f.parts()+64*(4*half+g)+16*(q+i), w)
					p.v("eor", w, w, u.mask)
				}
				for r := range s {
					p.add(s[r], u.lo, u.x[r], g)
				}
			}
		}
		return
	}
	for r := range s {
		p.load(xAt(r), 0, u.x[2*r])
		p.load(xAt(r), 16, u.x[2*r+1])
	}
	for g := range 4 {
		for i := range u.lo {
			u.nibbles(p.neon, panel, q+i, g, u.lo[i], u.hi[i])
		}
		for r := range s {
			p.add(s[r], u.lo, u.x[2*r], g)
			p.add(s[r], u.hi, u.x[2*r+1], g)
		}
	}
}

// nibbles brings groups g and g + 4 of a quarter to lo and hi.
func (u *neonUnpack) nibbles(n *neon, panel, q, g, lo, hi int) {
	n.load(wAt(panel), u.f.parts()+64*g+16*q, hi)
	n.v("and", lo, hi, u.mask)
	n.shift("ushr16b", hi, hi, 4)
	if u.f.levels != "" {
		n.v("tbl", lo, u.lut, lo)
		n.v("tbl", hi, u.lut, hi)
	}
	if !u.f.plane {
		return
	}
	n.load(wAt(panel), u.f.high()+16*q, u.high)
	for i, w := range []int{lo, hi} {
		n.moveBit(g+4*i, 4, u.high, u.bit)
		n.v("and", u.bit, u.bit, u.fifth)
		n.v("orr", w, w, u.bit)
	}
}

// moveBit brings bit from of each byte to bit to; what else moves stays.
func (n *neon) moveBit(from, to, src, dst int) {
	switch {
	case from < to:
		n.shift("shl16b", dst, src, to-from)
	case from > to:
		n.shift("ushr16b", dst, src, from-to)
	default:
		n.v("mov", dst, src)
	}
}

// largest is the largest magnitude of levels.
func largest(levels [16]int) int {
	top := 0
	for _, l := range levels {
		top = max(top, int(math.Abs(float64(l))))
	}
	return top
}
