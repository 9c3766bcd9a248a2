package ptxsim

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// access is n bytes that an instruction reads or writes, checked.
type access struct {
	write    bool
	atomic   bool
	modify   bool // reads what it writes over
	constant bool // nothing writes it in this launch: ld.global.nc
	delayed  bool // the data comes later: cp.async
}

// resolve finds the space of a generic address.
func resolve(addr uint64) (space, uint64) {
	switch addr & 0xff00_0000_0000_0000 {
	case sharedWindow:
		return sharedSpace, addr - sharedWindow
	case localWindow:
		return localSpace, addr - localWindow
	case constWindow:
		return constSpace, addr - constWindow
	}
	return globalSpace, addr
}

// bytesAt are the n bytes at addr as lane accesses them: n is a power of two up to 16,
// and addr must be a multiple of it.
func (w *warp) bytesAt(sp space, lane int, addr, n uint64, how access) []byte {
	if sp == generic {
		sp, addr = resolve(addr)
	}
	if addr&(n-1) != 0 {
		w.fault(Misaligned, lane, addr, fmt.Sprintf("%s address for %d bytes", sp, n))
	}
	switch sp {
	case globalSpace:
		return w.globalBytes(lane, addr, n, how)
	case sharedSpace:
		return w.sharedBytes(lane, addr, n, how)
	case localSpace:
		size := uint64(w.b.r.k.LocalBytes)
		if addr >= size || n > size-addr {
			w.fault(OutOfBounds, lane, addr, fmt.Sprintf("%d bytes of local memory, of which there are %d", n, size))
		}
		at := uint64(lane)*size + addr
		if how.write {
			setBits(w.inits, at, n)
		} else if !haveBits(w.inits, at, n) {
			w.fault(Uninitialised, lane, addr, "local memory")
		}
		return w.local[at : at+n]
	}
	from := w.b.r.params
	if sp == constSpace {
		from = w.b.r.k.module.consts
	}
	if how.write {
		w.fault(ReadOnlyWritten, lane, addr, sp.String())
	}
	if addr >= uint64(len(from)) || n > uint64(len(from))-addr {
		w.fault(OutOfBounds, lane, addr, fmt.Sprintf("%d bytes of %s memory, of which there are %d", n, sp, len(from)))
	}
	return from[addr : addr+n]
}

// haveBits tells whether n bits from at on are all set.
func haveBits(set []uint64, at, n uint64) bool {
	for i := range n {
		if set[(at+i)>>6]>>((at+i)&63)&1 == 0 {
			return false
		}
	}
	return true
}

func setBits(set []uint64, at, n uint64) {
	for i := range n {
		set[(at+i)>>6] |= 1 << ((at + i) & 63)
	}
}

func (w *warp) globalBytes(lane int, addr, n uint64, how access) []byte {
	r := w.b.r
	a := r.cache[w.pc]
	if a == nil || addr-a.base >= a.size {
		a = r.m.find(addr)
		if a == nil {
			w.fault(OutOfBounds, lane, addr, fmt.Sprintf("%d bytes of global memory where no allocation is%s", n, r.m.near(addr)))
		}
		a.shadows()
		r.cache[w.pc] = a
	}
	at := addr - a.base
	if n > a.size-at {
		w.fault(OutOfBounds, lane, addr, fmt.Sprintf("%d bytes of global memory over the end of an allocation of %d at %#x", n, a.size, a.base))
	}
	k := &r.marks
	if how.write {
		if !k.slowWrite(a, at, n, how.atomic) {
			w.fault(GlobalRace, lane, addr, "a write, where another block of this launch reads or writes")
		}
		if a.missing != 0 {
			if how.modify {
				w.initialised(a, lane, addr, n)
			}
			a.written(at, n)
		}
		return a.data[at : at+n]
	}
	if a.missing != 0 {
		w.initialised(a, lane, addr, n)
	}
	if how.constant {
		for _, c := range a.wr[at>>2 : (at+n+3)>>2] {
			if c > k.past {
				w.fault(GlobalRace, lane, addr, "the load promises that this launch does not write what it reads (.nc: const and __restrict__), and it does")
			}
		}
	}
	if !k.slowRead(a, at, n, how.atomic) {
		w.fault(GlobalRace, lane, addr, "a read, where another block of this launch writes")
	}
	return a.data[at : at+n]
}

// initialised faults unless n bytes at addr were written before.
func (w *warp) initialised(a *alloc, lane int, addr, n uint64) {
	at := addr - a.base
	mask := uint64(1)<<n - 1
	if a.init[at>>6]>>(at&63)&mask != mask {
		w.fault(Uninitialised, lane, addr, fmt.Sprintf("byte %d of an allocation of %d at %#x", at, a.size, a.base))
	}
}

// near describes the allocation that ends before addr.
func (x *Machine) near(addr uint64) string {
	var before *alloc
	for _, a := range x.allocs {
		if a.base <= addr {
			before = a
		}
	}
	if before == nil {
		return ""
	}
	return fmt.Sprintf(" (%d past the end of one of %d bytes at %#x)", addr-before.base-before.size, before.size, before.base)
}

func (w *warp) sharedBytes(lane int, addr, n uint64, how access) []byte {
	s := &w.b.r.shared
	if addr >= s.size || n > s.size-addr {
		w.fault(OutOfBounds, lane, addr, fmt.Sprintf("%d bytes of shared memory, of which the block has %d", n, s.size))
	}
	mine := w.mark() + uint64(lane)
	mask := (uint64(1)<<n - 1) << (addr & 63)
	if how.write {
		if kind := s.writeMarks(addr, n, mine, how.atomic); kind != 0 {
			w.fault(kind, lane, addr, s.who("write", addr))
		}
		if how.modify && s.init[addr>>6]&mask != mask {
			w.fault(Uninitialised, lane, addr, "shared memory")
		}
		if !how.delayed {
			s.init[addr>>6] |= mask
		}
		return s.data[addr : addr+n]
	}
	if kind := s.readMarks(addr, n, mine, how.atomic); kind != 0 {
		w.fault(kind, lane, addr, s.who("read", addr))
	}
	if s.init[addr>>6]&mask != mask {
		w.fault(Uninitialised, lane, addr, "shared memory")
	}
	return s.data[addr : addr+n]
}

// who describes the marks of addr.
func (s *sharedMemory) who(what string, addr uint64) string {
	name := func(mark uint64) string {
		if t := mark & cellThread; t != 0 && t != cellThread {
			return fmt.Sprint(t - 1)
		}
		return "several or none"
	}
	return fmt.Sprintf("a %s without a barrier; last written by thread %s, read by %s", what, name(s.wr[addr/4]), name(s.rd[addr/4]))
}

// loadBytes reads a little-endian number of 1, 2, 4 or 8 bytes.
func loadBytes(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func storeBytes(b []byte, size int, v uint64) {
	switch size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}

// address is where lane's operand points.
func (w *warp) address(in *instr, lane int) uint64 {
	return (w.rows[in.a][lane&31] + in.off) & in.x.wide
}

func runLoad(w *warp, in *instr, m uint32) {
	for ; m != 0; m &= m - 1 {
		w.loadLane(in, bits.TrailingZeros32(m)&31)
	}
}

// loadLane is the general load of one lane.
func (w *warp) loadLane(in *instr, l int) {
	x := in.x
	w.take(x, l, w.bytesAt(x.space, l, w.address(in, l), uint64(x.size*x.count), access{atomic: x.memory&atomicAccess != 0, constant: x.constant}))
}

func runStore(w *warp, in *instr, m uint32) {
	for ; m != 0; m &= m - 1 {
		w.storeLane(in, bits.TrailingZeros32(m)&31)
	}
}

// storeLane is the general store of one lane.
func (w *warp) storeLane(in *instr, l int) {
	x := in.x
	w.give(x, l, w.bytesAt(x.space, l, w.address(in, l), uint64(x.size*x.count), access{write: true, atomic: x.memory&atomicAccess != 0}))
}
