package main

import "fmt"

// A neonPlanes is a format of 256 values in 4 chunks, for NEON: one of kern's
// type planes (Q4_K is one), or Q6_K. See kern for the layouts.
//
// A quarter of a panel (4 lanes) is worked on at a time, or several where one
// row leaves registers for them. Accumulators lie in the output: a block of 256
// hides that.
type neonPlanes struct {
	sub    int // values of a sub-block: 32 or 16
	minima bool
	high   bool   // a further bit
	two    bool   // Q6_K: two further bits
	levels string // as in neon32
	top    int
	offset int    // of the weights, as a power of two plus 1; 0: none
	factor uint32 // of the scale, as float32; 0: none
}

func (f neonPlanes) header() int {
	if f.minima {
		return 64
	}
	return 32
}

// low and above are where in a chunk the bits begin.
func (f neonPlanes) low() int {
	if f.sub == 32 && !f.minima {
		return 32
	}
	return 64
}

func (f neonPlanes) above() int {
	if f.two {
		return f.low() + 8*64
	}
	return f.low() + 64*f.sub/4
}

func (f neonPlanes) chunk() int {
	switch {
	case f.two:
		return f.above() + 4*64
	case f.high:
		return f.above() + 128
	}
	return f.above()
}

func (f neonPlanes) size() int { return f.header() + 4*f.chunk() }

// pairs is the number of pairs of sub-blocks in a chunk.
func (f neonPlanes) pairs() int { return 32 / f.sub }

// planesRegs are the vector registers of a kernel.
type planesRegs struct {
	products        [][]int  // [row][quarter]
	dots            [][]sums // of the even and the odd sub-block of a pair
	odds            [][]sums
	x               []int // activations: 16 of the even and 16 of the odd sub-block, each row
	lo, hi          []int
	bits, bit       int
	mask, keep, lut int
	even, odd       int // scales, and scratch
}

// General registers beside those of all dot kernels: R1 and R5–R8 run over the
// chunks, R23 and R24 are where a quarter's bytes and pairs of bytes lie.
func (f neonPlanes) kernel(n *neon) {
	quarters := 4
	switch {
	case n.rows > 1:
		quarters = 1
	case !n.dot:
		quarters = 2
	}
	n.begin(true)
	k := f.registers(n, quarters)
	p := n.newProducts(f.top, f.sub/4)
	k.dots, k.odds = p.sumsOf(n.rows, quarters), p.sumsOf(n.rows, quarters)
	n.zero(k.even)
	for r := range n.rows {
		for q := range 4 {
			n.store(k.even, outAt(r), 16*q)
		}
	}
	n.label("loop")
	n.op("MOVD $0, R2") // 4 × the quarter's number
	n.label("quarter")
	n.clear(k.products)
	n.op("MOVD R1, R26")
	n.op("ADD R2<<2, R26, R3") // where its lanes' 4 bytes lie
	n.op("ADD R2<<1, R26, R23")
	n.op("ADD R2, R26, R24")
	n.op("MOVD $4, R4")
	n.label("chunk")
	for pair := range f.pairs() {
		f.pair(p, k, pair)
	}
	for _, r := range []string{"R3", "R23", "R24"} {
		n.op("ADD $%d, %s", f.chunk(), r)
	}
	n.advance(64, n.rows, xAt)
	n.op("SUB $1, R4")
	n.op("CBNZ R4, chunk")
	for r := range n.rows {
		n.op("SUB $256, %s", xAt(r))
	}
	n.op("ADD R2<<1, R1, R23")
	n.op("ADD R2<<2, R1, R3")
	if f.offset > 0 {
		f.corrected(p, k)
	}
	f.floats(p, k)
	n.op("ADD $%d, R2", 4*quarters)
	n.op("CMP $16, R2")
	n.op("BNE quarter")
	n.again(f.size(), 256, 4, 48)
	n.op("RET")
}

func (f neonPlanes) registers(n *neon, quarters int) *planesRegs {
	k := &planesRegs{
		products: n.square(n.rows, quarters),
		x:        n.regs(2 * n.rows),
		lo:       n.regs(quarters), hi: n.regs(quarters),
		even: n.reg(), odd: n.reg(),
	}
	mask := byte(15)
	if f.sub == 16 && !f.two {
		mask = 3
	}
	k.mask = n.bytes(mask)
	if f.high || f.two {
		k.bits, k.bit = n.reg(), n.reg()
		switch {
		case f.two:
			k.keep = n.bytes(0x30)
		case f.sub == 32:
			k.keep = n.bytes(16)
		default:
			k.keep = n.bytes(4)
		}
	}
	if f.levels != "" {
		k.lut = n.table(f.levels)
	}
	return k
}

// pair adds scale × dot of two sub-blocks to the products.
func (f neonPlanes) pair(p products, k *planesRegs, pair int) {
	p.clear(k.dots, k.odds)
	for part := range f.sub / 16 {
		for r := range p.rows {
			p.load(xAt(r), 2*f.sub*pair+16*part, k.x[2*r])
			p.load(xAt(r), 2*f.sub*pair+f.sub+16*part, k.x[2*r+1])
		}
		for g := range 4 {
			for q := range k.lo {
				f.weights(p.neon, k, pair, 4*part+g, q)
			}
			for r := range p.rows {
				p.add(k.dots[r], k.lo, k.x[2*r], g)
				p.add(k.odds[r], k.hi, k.x[2*r+1], g)
			}
		}
	}
	p.join(k.dots)
	p.join(k.odds)
	for q := range k.lo {
		f.scales(p.neon, k, f.header()+32*pair, q)
		for r := range p.rows {
			p.v("mla", k.products[r][q], k.dots[r][q][0], k.even)
			p.v("mla", k.products[r][q], k.odds[r][q][0], k.odd)
		}
	}
}

// weights brings group g of both sub-blocks to registers.
func (f neonPlanes) weights(n *neon, k *planesRegs, pair, g, q int) {
	lo, hi := k.lo[q], k.hi[q]
	base := f.header()
	switch {
	case f.two:
		n.load("R3", base+f.low()+256*pair+64*g+16*q, hi)
	default:
		n.load("R3", base+f.low()+64*g+16*q, hi)
	}
	if f.sub == 16 && !f.two {
		// Two bits for each of 4 sub-blocks.
		n.moveBits(4*pair, hi, lo)
		n.v("and", lo, lo, k.mask)
		n.moveBits(4*pair+2, hi, hi)
		if pair == 0 {
			n.v("and", hi, hi, k.mask)
		}
	} else {
		n.v("and", lo, hi, k.mask)
		n.shift("ushr16b", hi, hi, 4)
	}
	switch {
	case f.two:
		n.load("R3", base+f.above()+64*g+16*q, k.bits)
		f.further(n, k, 4*pair, 4, lo)
		f.further(n, k, 4*pair+2, 4, hi)
	case f.high && f.sub == 32:
		for i, w := range []int{lo, hi} {
			n.load("R3", base+f.above()+64*i+16*q, k.bits)
			f.further(n, k, g, 4, w)
		}
	case f.high:
		n.load("R3", base+f.above()+64*(g/2)+16*q, k.bits)
		f.further(n, k, 2*pair+4*(g%2), 2, lo)
		f.further(n, k, 2*pair+1+4*(g%2), 2, hi)
	}
	if f.levels != "" {
		n.v("tbl", lo, k.lut, lo)
		n.v("tbl", hi, k.lut, hi)
	}
}

// further sets what lies above the low bits.
func (f neonPlanes) further(n *neon, k *planesRegs, from, to, w int) {
	src := k.bits
	if from != to {
		n.moveBit(from, to, k.bits, k.bit)
		src = k.bit
	}
	n.v("and", k.bit, src, k.keep)
	n.v("orr", w, w, k.bit)
}

// moveBits brings the bits from a place on to the lowest ones.
func (n *neon) moveBits(from, src, dst int) {
	switch {
	case from > 0:
		n.shift("ushr16b", dst, src, from)
	case src != dst:
		n.v("mov", dst, src)
	}
}

// scales widens those of a pair's sub-blocks, for the lanes of a quarter.
func (f neonPlanes) scales(n *neon, k *planesRegs, off, q int) {
	if f.sub == 32 && f.minima {
		for i, reg := range []int{k.even, k.odd} {
			n.op("FMOVS %d(R24), F%d", off+16*i+4*q, reg)
			n.v("uxtl8h", reg, reg)
			n.v("uxtl4s", reg, reg)
		}
		return
	}
	f.pairOf(n, k, off, q, false, k.even)
	n.shift("sshr", k.odd, k.even, 16)
	n.shift("shl", k.even, k.even, 16)
	n.shift("sshr", k.even, k.even, 16)
}

// pairOf widens the pairs of a quarter's lanes to 16 bits: the scales, or what
// the sums of activations are multiplied with.
func (f neonPlanes) pairOf(n *neon, k *planesRegs, off, q int, least bool, dst int) {
	n.op("FMOVD %d(R23), F%d", off+8*q, dst)
	switch {
	case f.sub == 16 && f.minima && least:
		n.shift("ushr16b", dst, dst, 4)
	case f.sub == 16 && f.minima:
		n.shift("shl16b", dst, dst, 4)
		n.shift("ushr16b", dst, dst, 4)
	}
	if f.minima {
		n.v("uxtl8h", dst, dst)
		return
	}
	n.v("sxtl8h", dst, dst)
}

// totals leaves Σ (min or scale) × Σx of each row in the first register of its
// dots. The sums lie in pairs: 16 of 16 values, then 8 of 32.
func (f neonPlanes) totals(p products, k *planesRegs) {
	at := 0
	if f.sub == 32 {
		at = 32
	}
	for r := range p.rows {
		for q := range k.lo {
			p.zero(k.dots[r][q][0])
			p.zero(k.odds[r][q][0])
		}
	}
	for i := range 4 * f.pairs() {
		if i%4 == 0 {
			for r := range p.rows {
				p.load(sAt(r), at+4*i, k.x[r])
			}
		}
		off := f.header() + i/f.pairs()*f.chunk() + i%f.pairs()*32
		if f.sub == 32 && f.minima {
			off += 32
		}
		for q := range k.lo {
			f.pairOf(p.neon, k, off, q, true, k.even)
			for r := range p.rows {
				p.spread(k.odd, k.x[r], i%4)
				p.v("smlal4", k.dots[r][q][0], k.even, k.odd)
				p.v("smlal24", k.odds[r][q][0], k.even, k.odd)
			}
		}
	}
	for r := range p.rows {
		for q := range k.lo {
			p.v("addp", k.dots[r][q][0], k.dots[r][q][0], k.odds[r][q][0])
		}
	}
}

// corrected takes offset × Σ scale × Σx off the products.
func (f neonPlanes) corrected(p products, k *planesRegs) {
	f.totals(p, k)
	for r := range p.rows {
		for q := range k.lo {
			if f.offset > 1 {
				p.shift("shl", k.dots[r][q][0], k.dots[r][q][0], f.offset-1)
			}
			p.v("sub", k.products[r][q], k.products[r][q], k.dots[r][q][0])
		}
	}
}

// floats adds to the output: products × (dw × dx), less minima × (dmin × dx).
func (f neonPlanes) floats(p products, k *planesRegs) {
	if f.minima {
		f.totals(p, k)
	}
	acc, t := k.x[0], k.x[1]
	for q := range k.lo {
		f.scale(p.neon, k, 8*q, k.even)
		if f.minima {
			f.scale(p.neon, k, 32+8*q, k.odd)
		}
		for r := range p.rows {
			p.op("ADD R2<<2, %s, R26", outAt(r))
			p.load("R26", 16*q, acc)
			p.everywhere(dAt(r), k.lo[0])
			p.v("scvtf", k.products[r][q], k.products[r][q])
			p.v("fmul", t, k.even, k.lo[0])
			p.v("fmla", acc, k.products[r][q], t)
			if f.minima {
				least := k.dots[r][q][0]
				p.v("scvtf", least, least)
				p.v("fmul", t, k.odd, k.lo[0])
				p.v("fmls", acc, least, t)
			}
			p.store(acc, "R26", 16*q)
		}
	}
}

// scale widens a quarter's f16 scales.
func (f neonPlanes) scale(n *neon, k *planesRegs, off, dst int) {
	n.op("FMOVD %d(R23), F%d", off, dst)
	n.v("fcvtl", dst, dst)
	if f.factor != 0 {
		n.word32(k.hi[0], f.factor)
		n.v("fmul", dst, dst, k.hi[0])
	}
}

// signedLevels is the data of a symbol of levels.
func signedLevels(symbol string, levels [16]int) string {
	s := "\n"
	for i := range 2 {
		s += fmt.Sprintf("DATA %s<>+%d(SB)/8, $0x", symbol, 8*i)
		for j := 7; j >= 0; j-- {
			s += fmt.Sprintf("%02x", byte(levels[8*i+j]))
		}
		s += "\n"
	}
	return s + fmt.Sprintf("GLOBL %s<>(SB), RODATA|NOPTR, $16\n", symbol)
}
