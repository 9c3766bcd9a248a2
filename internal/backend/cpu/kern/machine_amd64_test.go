//go:build !noasm

package kern

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// machine interprets the machine code of the tile phase on this process's own
// memory, so that it is tested where there is no tile unit. It knows the few
// instructions that the code has, and panics with a fault for any other, for
// tiles that are used otherwise than configured, and for memory beyond what it
// was lent.
type machine struct {
	reg  [16]uint64
	pc   uintptr
	zero bool // the flag; set tells whether an instruction has
	set  bool

	memory  []span
	natives map[uintptr]func(arg uintptr) // code that runs natively, with one argument on the stack
	tiles   tileFile
	counts  map[string]int // instructions by name
}

// A span is memory that the code may use.
type span struct {
	name     string
	from, to uintptr
	write    bool
}

// fault is what machine panics with.
type fault string

func (m *machine) fault(format string, args ...any) {
	panic(fault(fmt.Sprintf(format, args...) + fmt.Sprintf(" at code % x", m.codeBytes(12))))
}

// pointer turns an address into what it points at.
func pointer(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

func (m *machine) codeBytes(n int) []byte { return unsafe.Slice((*byte)(pointer(m.pc)), n) }

// bytes is n bytes of memory at an address.
func (m *machine) bytes(at uintptr, n int, write bool) []byte {
	for _, s := range m.memory {
		if at >= s.from && at+uintptr(n) <= s.to {
			if write && !s.write {
				m.fault("write of %d bytes to %s, %d on", n, s.name, at-s.from)
			}
			return unsafe.Slice((*byte)(pointer(at)), n)
		}
	}
	for _, s := range m.memory {
		if at+4096 >= s.from && at < s.to+4096 {
			m.fault("%d bytes at %d of %s, which has %d", n, int64(at-s.from), s.name, s.to-s.from)
		}
	}
	m.fault("%d bytes at %#x, which nobody lent", n, at)
	return nil
}

func (m *machine) load64(at uintptr) uint64 { return binary.LittleEndian.Uint64(m.bytes(at, 8, false)) }
func (m *machine) store64(at uintptr, v uint64) {
	binary.LittleEndian.PutUint64(m.bytes(at, 8, true), v)
}

const (
	regAX = 0
	regSP = 4
)

// call runs the function at pc with words of arguments on the stack, as Go's
// assembly has them, until it returns.
func (m *machine) call(pc uintptr, args ...uint64) {
	stack := make([]uint64, 64)
	top := uintptr(unsafe.Pointer(&stack[0])) + 8*uintptr(len(stack)-1-len(args))
	m.memory = append(m.memory, span{"the stack", uintptr(unsafe.Pointer(&stack[0])), uintptr(unsafe.Pointer(&stack[0])) + 8*uintptr(len(stack)), true})
	m.reg, m.pc, m.set = [16]uint64{}, pc, false
	for i := range m.reg {
		m.reg[i] = 0xdead0000dead0000 + uint64(i) // nothing is to be relied on
	}
	m.reg[regSP] = uint64(top)
	for i, a := range args {
		m.store64(top+8*uintptr(i+1), a)
	}
	m.counts = map[string]int{}
	for m.step() {
	}
	if m.reg[regSP] != uint64(top)+8 {
		m.fault("the stack pointer is %d off at the return", int64(m.reg[regSP]-uint64(top)-8))
	}
	if m.tiles.on {
		m.fault("tiles are in use at the return")
	}
	m.memory = m.memory[:len(m.memory)-1]
}

// fetch reads the next n bytes of code as a signed number.
func (m *machine) fetch(n int) int64 {
	b := m.codeBytes(n)
	m.pc += uintptr(n)
	switch n {
	case 1:
		return int64(int8(b[0]))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	panic("fetch")
}

// operand is what ModRM says: a register, or memory.
type operand struct {
	reg int // the other field
	rm  int // the register, if at is not set
	at  uintptr
	mem bool
}

// modrm decodes ModRM, SIB and displacement with the high bits of a prefix.
func (m *machine) modrm(r, x, b int) operand {
	v := int(byte(m.fetch(1)))
	mod, o := v>>6, operand{reg: v>>3&7 | r<<3}
	low := v & 7
	if mod == 3 {
		o.rm = low | b<<3
		return o
	}
	o.mem = true
	var sum uint64
	base := true
	if low == 4 {
		s := int(byte(m.fetch(1)))
		low = s & 7
		if index := s>>3&7 | x<<3; index != 4 {
			sum = m.reg[index] << (s >> 6)
		}
		base = !(mod == 0 && low == 5)
	} else if mod == 0 && low == 5 {
		m.fault("an address relative to the code")
	}
	if base {
		sum += m.reg[low|b<<3]
	}
	switch {
	case mod == 1:
		sum += uint64(m.fetch(1))
	case mod == 2 || !base:
		sum += uint64(m.fetch(4))
	}
	o.at = uintptr(sum)
	return o
}

func (m *machine) get(o operand) uint64 {
	if o.mem {
		return m.load64(o.at)
	}
	return m.reg[o.rm]
}

func (m *machine) put(o operand, v uint64) {
	if o.mem {
		m.store64(o.at, v)
		return
	}
	m.reg[o.rm] = v
}

// flags remembers whether a result was zero, all that the code asks for.
func (m *machine) flags(v uint64) uint64 {
	m.zero, m.set = v == 0, true
	return v
}

// step runs one instruction; false: it returned to the caller of call.
func (m *machine) step() bool {
	start := m.pc
	if c := m.codeBytes(1)[0]; c == 0xc4 {
		m.tile()
		return true
	}
	wide, r, x, b := false, 0, 0, 0
	op := byte(m.fetch(1))
	if op>>4 == 4 { // REX
		wide, r, x, b = op&8 != 0, int(op>>2&1), int(op>>1&1), int(op&1)
		op = byte(m.fetch(1))
	}
	need := func() {
		if !wide {
			m.pc = start
			m.fault("opcode %#x with 32 bits", op)
		}
	}
	switch {
	case op == 0x8b: // mov register, r/m
		need()
		o := m.modrm(r, x, b)
		m.reg[o.reg] = m.get(o)
	case op == 0x89:
		need()
		o := m.modrm(r, x, b)
		m.put(o, m.reg[o.reg])
	case op == 0x8d: // lea
		need()
		o := m.modrm(r, x, b)
		m.reg[o.reg] = uint64(o.at)
	case op == 0x03: // add register, r/m
		need()
		o := m.modrm(r, x, b)
		m.reg[o.reg] = m.flags(m.reg[o.reg] + m.get(o))
	case op == 0x01:
		need()
		o := m.modrm(r, x, b)
		m.put(o, m.flags(m.get(o)+m.reg[o.reg]))
	case op == 0x83, op == 0x81: // add, sub and cmp of a constant
		need()
		o := m.modrm(r, x, b)
		n := 4
		if op == 0x83 {
			n = 1
		}
		v := uint64(m.fetch(n))
		switch o.reg & 7 {
		case 0:
			m.put(o, m.flags(m.get(o)+v))
		case 5:
			m.put(o, m.flags(m.get(o)-v))
		case 7:
			m.flags(m.get(o) - v)
		default:
			m.fault("arithmetic %d", o.reg&7)
		}
	case op == 0xc7: // mov r/m, constant
		need()
		o := m.modrm(r, x, b)
		m.put(o, uint64(m.fetch(4)))
	case op&0xf8 == 0xb8: // mov register, 32 bits: the upper half is cleared
		if wide {
			m.fault("a constant of 64 bits")
		}
		m.reg[int(op&7)|b<<3] = uint64(uint32(m.fetch(4)))
	case op == 0xff:
		m.indirect(r, x, b, wide)
	case op == 0x75: // jnz
		m.jump(m.fetch(1))
	case op == 0x0f && m.codeBytes(1)[0] == 0x85:
		m.pc++
		m.jump(m.fetch(4))
	case op&0xf8 == 0x50: // push
		m.reg[regSP] -= 8
		m.store64(uintptr(m.reg[regSP]), m.reg[int(op&7)|b<<3])
	case op&0xf8 == 0x58:
		m.reg[int(op&7)|b<<3] = m.load64(uintptr(m.reg[regSP]))
		m.reg[regSP] += 8
	case op == 0xc3:
		m.reg[regSP] += 8
		return false
	case op == 0x90:
	default:
		m.pc = start
		m.fault("unknown instruction")
	}
	return true
}

// indirect is dec and the call of a vector phase.
func (m *machine) indirect(r, x, b int, wide bool) {
	o := m.modrm(r, x, b)
	switch {
	case o.reg&7 == 1 && wide:
		m.put(o, m.flags(m.get(o)-1))
	case o.reg&7 == 2 && !o.mem:
		run := m.natives[uintptr(m.reg[o.rm])]
		if run == nil {
			m.fault("a call of %#x, which is no vector phase", m.reg[o.rm])
		}
		run(uintptr(m.load64(uintptr(m.reg[regSP]))))
		m.counts["call"]++
		for i := range m.reg {
			if i != regSP && i != 5 { // BP is the callee's to keep
				m.reg[i] = 0xfeed0000feed0000 + uint64(i)
			}
		}
		m.set = false
	default:
		m.fault("operation %d of FF", o.reg&7)
	}
}

func (m *machine) jump(by int64) {
	if !m.set {
		m.fault("a jump by flags that nobody set")
	}
	if !m.zero {
		m.pc += uintptr(by)
	}
}
