//go:build !noasm

package kern

import (
	"encoding/binary"
	"math"

	"github.com/paddock-go/paddock/internal/num"
)

// tileFile is the state of the tile unit: the configuration and eight tiles of
// 16 rows of 64 bytes. What its instructions do, and when they fault, is written
// from the pseudo-code and the exception classes of Intel's manual.
type tileFile struct {
	on   bool
	rows [8]int
	cols [8]int // bytes
	data [8][16][64]byte

	spoil func(dst int, m *machine) // or nil: called after each product, for tests of the tests
}

// tile runs one instruction with a VEX prefix of three bytes.
func (m *machine) tile() {
	start := m.pc
	c := m.codeBytes(4)
	r, x, b := int(^c[1]>>7&1), int(^c[1]>>6&1), int(^c[1]>>5&1)
	third, pp, op := int(^c[2]>>3&15), int(c[2]&3), c[3]
	if c[1]&0x1f != 2 || c[2]&0x84 != 0 {
		m.fault("map %d, W or L of a tile instruction", c[1]&0x1f)
	}
	m.pc += 4
	o := m.modrm(r, x, b)
	name := tileName(pp, op, o)
	m.counts[name]++
	if name != "ldtilecfg" && !m.tiles.on && name != "tilerelease" {
		m.pc = start
		m.fault("%s without a configuration", name)
	}
	t := &m.tiles
	switch name {
	case "ldtilecfg":
		t.configure(m, m.bytes(o.at, 64, false))
	case "tilerelease":
		t.on = false
	case "tilezero":
		t.used(m, o.reg)
		t.data[o.reg] = [16][64]byte{}
	case "tileloadd", "tilestored":
		m.pc = start + 4 // the address needs its parts
		m.move(o.reg, x, b, name == "tilestored")
	case "":
		m.pc = start
		m.fault("unknown tile instruction")
	default:
		if r|x|b != 0 || third > 7 {
			m.fault("%s of tiles beyond the eighth", name)
		}
		t.product(m, name, o.reg, o.rm, third)
	}
	if third != 0 && name != "" && name[0] != 't' {
		m.fault("%s with a third operand", name)
	}
}

func tileName(pp int, op byte, o operand) string {
	switch {
	case op == 0x49 && pp == 0 && o.mem && o.reg == 0:
		return "ldtilecfg"
	case op == 0x49 && pp == 0 && !o.mem && o.reg == 0 && o.rm == 0:
		return "tilerelease"
	case op == 0x49 && pp == 3 && !o.mem && o.rm == 0:
		return "tilezero"
	case op == 0x4b && pp == 3 && o.mem:
		return "tileloadd"
	case op == 0x4b && pp == 2 && o.mem:
		return "tilestored"
	case op == 0x5e && !o.mem:
		return [...]string{"tdpbuud", "tdpbusd", "tdpbsud", "tdpbssd"}[pp]
	case op == 0x5c && !o.mem && pp == 2:
		return "tdpbf16ps"
	}
	return ""
}

// configure is LDTILECFG: palette 1, each tile either empty or within 16 rows of
// 64 bytes, all else zero.
func (t *tileFile) configure(m *machine, c []byte) {
	if c[0] != 1 || c[1] != 0 {
		m.fault("palette %d, start row %d", c[0], c[1])
	}
	for i, v := range c {
		if i >= 2 && i < 16 || i >= 32 && i < 48 || i >= 56 {
			if v != 0 {
				m.fault("byte %d of the configuration is %d", i, v)
			}
		}
	}
	for i := range t.rows {
		t.rows[i], t.cols[i] = int(c[48+i]), int(binary.LittleEndian.Uint16(c[16+2*i:]))
		if t.rows[i] > 16 || t.cols[i] > 64 || (t.rows[i] == 0) != (t.cols[i] == 0) {
			m.fault("tile %d of %d rows of %d bytes", i, t.rows[i], t.cols[i])
		}
	}
	t.on, t.data = true, [8][16][64]byte{}
}

func (t *tileFile) used(m *machine, i int) {
	if i > 7 || t.rows[i] == 0 {
		m.fault("tile %d is not configured", i)
	}
}

// move is TILELOADD and TILESTORED: row i at base + index × scale × i, the
// displacement with the base.
func (m *machine) move(tile, x, b int, store bool) {
	c := m.codeBytes(2)
	if c[0]&7 != 4 || c[0]>>6 != 0 {
		m.fault("a tile's memory without SIB or with a displacement")
	}
	base, index := int(c[1]&7)|b<<3, int(c[1]>>3&7)|x<<3
	if base&7 == 5 || index == 4 {
		m.fault("a tile's memory without base or stride")
	}
	m.tiles.used(m, tile)
	stride := m.reg[index] << (c[1] >> 6)
	for i := range m.tiles.rows[tile] {
		row := m.tiles.data[tile][i][:m.tiles.cols[tile]]
		at := uintptr(m.reg[base] + uint64(i)*stride)
		if store {
			copy(m.bytes(at, len(row), true), row)
		} else {
			copy(row, m.bytes(at, len(row), false))
		}
	}
	m.pc += 2
}

// product is d += a × b; it faults where the shapes do not fit.
func (t *tileFile) product(m *machine, name string, d, a, b int) {
	t.used(m, d)
	t.used(m, a)
	t.used(m, b)
	if d == a || d == b || a == b {
		m.fault("%s of tiles %d, %d, %d: one twice", name, d, a, b)
	}
	if t.cols[d]%4 != 0 || t.cols[a]%4 != 0 || t.cols[b]%4 != 0 || t.rows[d] != t.rows[a] || t.cols[a]/4 != t.rows[b] || t.cols[d] != t.cols[b] {
		m.fault("%s of %d × %d bytes, %d × %d and %d × %d", name, t.rows[d], t.cols[d], t.rows[a], t.cols[a], t.rows[b], t.cols[b])
	}
	for i := range t.rows[d] {
		for n := 0; n < t.cols[d]; n += 4 {
			sum := binary.LittleEndian.Uint32(t.data[d][i][n:])
			if name == "tdpbf16ps" {
				sum = t.bf16(sum, a, b, i, n)
			} else {
				sum += t.dot(name, a, b, i, n)
			}
			binary.LittleEndian.PutUint32(t.data[d][i][n:], sum)
		}
	}
	if t.spoil != nil {
		t.spoil(d, m)
	}
}

// dot is the sum of products of bytes of row i of a and column n ÷ 4 of b; the
// first letter after tdpb is a's sign, the second b's.
func (t *tileFile) dot(name string, a, b, i, n int) (sum uint32) {
	wide := func(v byte, signed bool) int32 {
		if signed {
			return int32(int8(v))
		}
		return int32(v)
	}
	for k := range t.cols[a] {
		sum += uint32(wide(t.data[a][i][k], name[4] == 's') * wide(t.data[b][k/4][n+k%4], name[5] == 's'))
	}
	return sum
}

// bf16 is TDPBF16PS: sums of the even and of the odd products, fused, rounded to
// nearest with denormals as zero, then both added, then that to the element.
func (t *tileFile) bf16(sum uint32, a, b, i, n int) uint32 {
	value := func(p []byte) float32 { return math.Float32frombits(uint32(binary.LittleEndian.Uint16(p)) << 16) }
	var parts [2]float32
	for k := 0; k < t.cols[a]; k += 4 {
		for odd := range parts {
			parts[odd] = num.FMA32Flush(value(t.data[a][i][k+2*odd:]), value(t.data[b][k/4][n+2*odd:]), parts[odd])
		}
	}
	return math.Float32bits(num.Flush(num.Flush(math.Float32frombits(sum)) + num.Flush(parts[0]+parts[1])))
}
