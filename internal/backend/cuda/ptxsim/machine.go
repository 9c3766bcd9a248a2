package ptxsim

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sort"
)

// Options say how a Machine runs.
type Options struct {
	Seed      uint64                                                            // draws the order of blocks, warps and diverged lanes, and what unwritten memory holds
	MaxShared int                                                               // bytes of shared memory of a block; 0: 99 KiB
	MaxSteps  int64                                                             // instructions that the warps of a block may execute together; 0: 1<<32
	Trace     func(k *Kernel, line int, block [3]uint32, warp int, mask uint32) // called before each instruction; slow
}

// Machine is a card: global memory, and what runs kernels on it. One goroutine at a
// time.
type Machine struct {
	o      Options
	rng    *rand.Rand
	allocs []*alloc // by address
	next   uint64
	placed map[*global]uint64
	epoch  uint32 // marks of the race check given so far
	run    runner
	stats  Stats
}

// Stats counts what a machine has done.
type Stats struct {
	Launches int64
	Blocks   int64
	Warps    int64 // instructions, each of a whole warp
	Lanes    int64 // instructions, counted once per lane that was on
}

// alloc is one allocation.
//
//	data  ░░░░░░░░░░░░░░░░   bytes
//	init  ················   a bit per byte: written since the allocation
//	wr    ────────────────   a mark per 4 bytes: which block wrote last
//	rd    ────────────────   and which read last, see race.go
type alloc struct {
	base, size uint64
	data       []byte
	init       []uint64
	missing    uint64 // bytes that init lacks
	wr, rd     []uint32
	wrB        []uint32 // wr per byte, made when single bytes are written
}

// NewMachine makes a machine without memory in use.
func NewMachine(o Options) *Machine {
	if o.MaxShared == 0 {
		o.MaxShared = 99 << 10
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = 1 << 32
	}
	m := &Machine{o: o, rng: rand.New(rand.NewPCG(o.Seed, 0x70747873696d)), next: globalBase, placed: map[*global]uint64{}}
	m.run.m = m
	return m
}

// Stats is what the machine has done since it was made.
func (x *Machine) Stats() Stats { return x.stats }

// guard is the least distance of two allocations.
const guard = 4096

// Alloc gives bytes of global memory, aligned to 256. Their content is not defined:
// to read them before they are written is a fault.
func (x *Machine) Alloc(bytes int64) (uint64, error) {
	if bytes <= 0 || bytes > 1<<40 {
		return 0, fmt.Errorf("ptxsim: allocation of %d bytes", bytes)
	}
	n := uint64(bytes)
	a := &alloc{base: x.next, size: n, data: make([]byte, (n+15)&^15), init: make([]uint64, (n+63)/64), missing: n}
	junk := x.rng.Uint64()
	for i := 0; i+8 <= len(a.data); i += 8 {
		binary.LittleEndian.PutUint64(a.data[i:], junk)
	}
	x.allocs = append(x.allocs, a)
	x.next = (x.next + n + guard + 255) &^ 255
	return a.base, nil
}

// Free gives an allocation back. Its addresses are never used again.
func (x *Machine) Free(addr uint64) error {
	i := sort.Search(len(x.allocs), func(i int) bool { return x.allocs[i].base >= addr })
	if i == len(x.allocs) || x.allocs[i].base != addr {
		return fmt.Errorf("ptxsim: free of %#x, where no allocation begins", addr)
	}
	x.allocs = append(x.allocs[:i], x.allocs[i+1:]...)
	x.run.forget()
	return nil
}

// find is the allocation that holds addr, nil if none does.
func (x *Machine) find(addr uint64) *alloc {
	i := sort.Search(len(x.allocs), func(i int) bool { return x.allocs[i].base > addr })
	if i == 0 || addr-x.allocs[i-1].base >= x.allocs[i-1].size {
		return nil
	}
	return x.allocs[i-1]
}

// span is the allocation and offset of n bytes, for the host's accesses.
func (x *Machine) span(what string, addr uint64, n int64) (*alloc, uint64, error) {
	a := x.find(addr)
	if a == nil {
		return nil, 0, fmt.Errorf("ptxsim: %s of %d bytes at %#x: no allocation there", what, n, addr)
	}
	at := addr - a.base
	if n < 0 || uint64(n) > a.size-at {
		return nil, 0, fmt.Errorf("ptxsim: %s of %d bytes at %#x: the allocation ends after %d", what, n, addr, a.size-at)
	}
	return a, at, nil
}

// Write copies b to addr.
func (x *Machine) Write(addr uint64, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	a, at, err := x.span("write", addr, int64(len(b)))
	if err != nil {
		return err
	}
	copy(a.data[at:], b)
	a.written(at, uint64(len(b)))
	return nil
}

// Read copies from addr to b. Bytes that nothing has written are an error.
func (x *Machine) Read(addr uint64, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	a, at, err := x.span("read", addr, int64(len(b)))
	if err != nil {
		return err
	}
	if at, ok := a.unwritten(at, uint64(len(b))); ok {
		return &Fault{Kind: Uninitialised, Addr: a.base + at, What: fmt.Sprintf("the host reads %d bytes at %#x, of which nothing wrote %#x", len(b), addr, a.base+at)}
	}
	copy(b, a.data[at:])
	return nil
}

// Fill sets n bytes at addr to value.
func (x *Machine) Fill(addr uint64, value byte, n int64) error {
	if n == 0 {
		return nil
	}
	a, at, err := x.span("fill", addr, n)
	if err != nil {
		return err
	}
	for i := range a.data[at : at+uint64(n)] {
		a.data[at+uint64(i)] = value
	}
	a.written(at, uint64(n))
	return nil
}

// Fill32 sets n words of 4 bytes at addr, a multiple of 4, to value.
func (x *Machine) Fill32(addr uint64, value uint32, n int64) error {
	if n == 0 {
		return nil
	}
	if addr%4 != 0 {
		return fmt.Errorf("ptxsim: fill of words at %#x, no multiple of 4", addr)
	}
	a, at, err := x.span("fill", addr, 4*n)
	if err != nil {
		return err
	}
	for i := range uint64(n) {
		binary.LittleEndian.PutUint32(a.data[at+4*i:], value)
	}
	a.written(at, 4*uint64(n))
	return nil
}

// Copy copies n bytes from src to dst, both in global memory; what was never written
// stays so.
func (x *Machine) Copy(dst, src uint64, n int64) error {
	if n == 0 {
		return nil
	}
	from, i, err := x.span("copy", src, n)
	if err != nil {
		return err
	}
	to, j, err := x.span("copy", dst, n)
	if err != nil {
		return err
	}
	whole := from.missing == 0
	var have []bool
	if !whole {
		have = make([]bool, n)
		for k := range have {
			at := i + uint64(k)
			have[k] = from.init[at>>6]>>(at&63)&1 != 0
		}
	}
	copy(to.data[j:j+uint64(n)], from.data[i:i+uint64(n)])
	if whole {
		to.written(j, uint64(n))
		return nil
	}
	for k, ok := range have {
		if ok {
			to.written(j+uint64(k), 1)
		} else {
			to.spoilt(j + uint64(k))
		}
	}
	return nil
}

// spoilt marks a byte as not written.
func (a *alloc) spoilt(at uint64) {
	if bit := uint64(1) << (at & 63); a.init[at>>6]&bit != 0 {
		a.init[at>>6] &^= bit
		a.missing++
	}
}

// written marks n bytes at offset at as written.
func (a *alloc) written(at, n uint64) {
	if a.missing == 0 {
		return
	}
	for n > 0 {
		in := min(64-at&63, n)
		m := ^uint64(0) >> (64 - in) << (at & 63)
		a.missing -= uint64(bits.OnesCount64(m &^ a.init[at>>6]))
		a.init[at>>6] |= m
		at += in
		n -= in
	}
}

// unwritten is the first byte of n at offset at that nothing has written.
func (a *alloc) unwritten(at, n uint64) (uint64, bool) {
	if a.missing == 0 {
		return 0, false
	}
	for end := at + n; at < end; at++ {
		if a.init[at>>6]>>(at&63)&1 == 0 {
			return at, true
		}
	}
	return 0, false
}
