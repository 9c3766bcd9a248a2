package kern

import (
	"encoding/binary"
	"unsafe"

	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/race"
)

// Matrix.Pack defines what lies where, a row and a few bytes at a time. Here
// whole panels are packed at about the memory's rate: what the formats have in
// common is that words of 16 rows come to lie beside one another, which is one
// primitive of each level; the rest is a few bytes of scales a block.

// packing is the primitives of a level. Their pointers stand for whole panels,
// which their callers have checked.
type packing struct {
	turn32, turn16 func(*turnArgs)
	halves         func(*turnArgs) // 2 bytes of each row to a line of 32, a block after another
	// headQ4K spreads what turn32 made of the first 16 bytes of a block of 16 rows.
	headQ4K func(dst, lines *byte)
	// splitQ6K regroups one block of 16 rows for turn32: see q6KPlanes.
	splitQ6K func(dst, src *byte, stride uintptr)
}

// turnArgs describe blocks of units: 16 bytes of each of 16 rows, which become
// lines of 64 bytes, 4 of words of 32 bits, or 8 halves of lines of words of 16 bits.
// Lines of one unit after another follow one another. The assembly reads it by
// the offsets asserted below.
type turnArgs struct {
	dst, src         unsafe.Pointer
	row              uintptr // from one row to the next, in src
	dstStep, srcStep uintptr // from one block to the next
	line             uintptr // from one line to the next, in dst
	blocks, units    uintptr // at least 1 each
	flip             uint32  // bits to turn over in words of 32 bits
}

const (
	_ = -(unsafe.Offsetof(turnArgs{}.src) ^ 8)
	_ = -(unsafe.Offsetof(turnArgs{}.row) ^ 16)
	_ = -(unsafe.Offsetof(turnArgs{}.dstStep) ^ 24)
	_ = -(unsafe.Offsetof(turnArgs{}.srcStep) ^ 32)
	_ = -(unsafe.Offsetof(turnArgs{}.line) ^ 40)
	_ = -(unsafe.Offsetof(turnArgs{}.blocks) ^ 48)
	_ = -(unsafe.Offsetof(turnArgs{}.units) ^ 56)
	_ = -(unsafe.Offsetof(turnArgs{}.flip) ^ 64)
)

const unitBytes = 16

// packers are the formats that are packed by panels, of 16 rows of the given
// bytes each.
var packers = map[quant.Type]func(p *packing, dst, src []byte, row int){
	quant.F32:   packPanelF32,
	quant.F16:   packPanelF16,
	quant.BF16:  packPanelBF16,
	quant.Q8_0:  packPanelQ8_0,
	quant.Q4_0:  func(p *packing, dst, src []byte, row int) { p.nibbles(dst, src, row, 2, false, false) },
	quant.Q4_1:  func(p *packing, dst, src []byte, row int) { p.nibbles(dst, src, row, 2, true, false) },
	quant.Q5_0:  func(p *packing, dst, src []byte, row int) { p.nibbles(dst, src, row, 2, false, true) },
	quant.Q5_1:  func(p *packing, dst, src []byte, row int) { p.nibbles(dst, src, row, 2, true, true) },
	quant.IQ4NL: func(p *packing, dst, src []byte, row int) { p.nibbles(dst, src, row, 2, false, false) },
	quant.MXFP4: func(p *packing, dst, src []byte, row int) { p.nibbles(dst, src, row, 1, false, false) },
	quant.Q4K:   packPanelQ4K,
	quant.Q6K:   packPanelQ6K,
}

// Pack fills panel p of m from its rows in file format, with the same bytes as
// m.Pack, at the level's speed. Safe for concurrent use on distinct panels.
func (k *Kernels) Pack(m *Matrix, p int, src []byte) {
	pack, how := packers[m.Format.Type], packingOf(k.level)
	if pack == nil || how == nil || (p+1)*Lanes > m.Rows || len(src)%Lanes != 0 || len(src) == 0 {
		m.Pack(p, src) // which defines all cases, and panics where src is none
		return
	}
	dst := m.panel(p)
	race.ReadSlice(src)
	race.WriteSlice(dst)
	pack(how, dst, src, len(src)/Lanes)
}

// words turns a panel's rows as they are; what is not whole units is packed by
// the format's definition.
func words(turn func(*turnArgs), pack func(dst, src []byte, lane int), dst, src []byte, row int) {
	units := row / unitBytes
	if units > 0 {
		turn(&turnArgs{dst: unsafe.Pointer(&dst[0]), src: unsafe.Pointer(&src[0]), row: uintptr(row), line: 64, blocks: 1, units: uintptr(units)})
	}
	if units*unitBytes == row {
		return
	}
	for lane := range Lanes {
		pack(dst[units*4*64:], src[lane*row+units*unitBytes:(lane+1)*row], lane)
	}
}

func packPanelF32(p *packing, dst, src []byte, row int) { words(p.turn32, packF32, dst, src, row) }

func packPanelF16(p *packing, dst, src []byte, row int) { words(p.turn16, packF16, dst, src, row) }

func packPanelBF16(p *packing, dst, src []byte, row int) { words(p.turn32, packBF16, dst, src, row) }

func packPanelQ8_0(p *packing, dst, src []byte, row int) {
	blocks := row / 34
	a := turnArgs{
		dst: unsafe.Pointer(&dst[0]), src: unsafe.Pointer(&src[0]), row: uintptr(row),
		dstStep: q8_0Block, srcStep: 34, line: 64, blocks: uintptr(blocks), units: 2, flip: 0x80808080,
	}
	p.halves(&a)
	a.dst, a.src = unsafe.Pointer(&dst[2*Lanes]), unsafe.Pointer(&src[2])
	p.turn32(&a)
}

// nibbles packs the formats of 32 values with scales of so many bytes, which
// may have minima and a plane of fifth bits.
func (p *packing) nibbles(dst, src []byte, row, scale int, least, plane bool) {
	in, high := scale, scale*Lanes
	if least {
		in, high = in+2, high+2*Lanes
	}
	parts := high
	if plane {
		in, parts = in+4, parts+64
	}
	file, size := in+16, parts+4*64
	blocks := row / file
	a := turnArgs{row: uintptr(row), dstStep: uintptr(size), srcStep: uintptr(file), line: 64, blocks: uintptr(blocks), units: 1}
	at := func(dstAt, srcAt int) *turnArgs {
		a.dst, a.src = unsafe.Pointer(&dst[dstAt]), unsafe.Pointer(&src[srcAt])
		return &a
	}
	if scale == 2 {
		p.halves(at(0, 0))
	}
	if least {
		p.halves(at(scale*Lanes, scale))
	}
	p.turn32(at(parts, in))
	for b := range blocks {
		d, s := dst[b*size:], src[b*file:]
		for lane := 0; lane < Lanes && scale == 1; lane++ {
			d[lane] = s[lane*row]
		}
		for lane := 0; lane < Lanes && plane; lane++ {
			binary.LittleEndian.PutUint32(d[high+4*lane:], fifthBits(binary.LittleEndian.Uint32(s[lane*row+in-4:])))
		}
	}
}

// fifthBits turns 8 groups of 4 bits to 4 bytes of 8: bit g of byte i is bit i of group g.
func fifthBits(x uint32) uint32 {
	var out uint32
	for i := range 4 {
		y := x >> i & 0x11111111
		y = (y | y>>3) & 0x03030303
		y = (y | y>>6) & 0x000f000f
		out |= (y | y>>12) & 0xff << (8 * i)
	}
	return out
}
