package ptxsim

import (
	"fmt"
	"math/rand/v2"
)

// runner is what a machine runs blocks with; it keeps its memory from one launch to
// the next.
type runner struct {
	m       *Machine
	k       *Kernel
	params  []byte
	marks   marks
	shared  sharedMemory
	blk     block
	pool    []*warp
	cache   []*alloc // last allocation of each memory instruction
	trace   func(k *Kernel, line int, block [3]uint32, warp int, mask uint32)
	lanes   int64
	phases  uint64
	scratch regs // of matrix instructions
}

func (r *runner) random() uint64 { return r.m.rng.Uint64() }

// forget drops what is remembered of allocations.
func (r *runner) forget() { clear(r.cache) }

// most are the largest grid and block of a card of compute capability 8.0.
var (
	mostGrid  = [3]uint32{1<<31 - 1, 65535, 65535}
	mostBlock = [3]uint32{1024, 1024, 64}
)

const mostThreads = 1024

// Launch runs a kernel to its end: grid blocks of block threads, with dynShared bytes
// of dynamic shared memory; params are the parameters' bytes, each at its offset.
// What it returns is a *Fault.
func (x *Machine) Launch(k *Kernel, grid, block [3]uint32, dynShared uint32, params []byte) (err error) {
	if err := x.admit(k, grid, block, dynShared, params); err != nil {
		return err
	}
	x.place(k.module)
	r := &x.run
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Fault:
			err = p
		default:
			panic(p)
		}
	}()
	r.begin(k, params, block)
	r.blk.grid, r.blk.dim = grid, block
	total := int(grid[0]) * int(grid[1]) * int(grid[2])
	x.mark(uint32(total))
	x.stats.Launches++
	step := stride(x.rng, total)
	at := int(x.rng.Uint64() % uint64(total))
	for range total {
		id := [3]uint32{uint32(at) % grid[0], uint32(at) / grid[0] % grid[1], uint32(at) / grid[0] / grid[1]}
		r.marks.mine = (x.epoch + uint32(at)) << 2
		r.block(id, int(k.dynOff)+int(dynShared))
		if at += step; at >= total {
			at -= total
		}
	}
	x.epoch += uint32(total) + 1
	return nil
}

// admit refuses what a driver refuses.
func (x *Machine) admit(k *Kernel, grid, block [3]uint32, dynShared uint32, params []byte) error {
	bad := func(kind FaultKind, format string, args ...any) error {
		return &Fault{Kind: kind, Kernel: k.Name, What: fmt.Sprintf(format, args...)}
	}
	for i := range 3 {
		if grid[i] == 0 || grid[i] > mostGrid[i] || block[i] == 0 || block[i] > mostBlock[i] {
			return bad(BadLaunch, "grid %v of blocks %v: each from 1 to %v and %v", grid, block, mostGrid, mostBlock)
		}
	}
	threads := int(block[0]) * int(block[1]) * int(block[2])
	if threads > mostThreads || k.MaxThreads > 0 && threads > k.MaxThreads {
		return bad(BadLaunch, "a block of %d threads, the most is %d", threads, min(mostThreads, max(k.MaxThreads, 1)))
	}
	if total := uint64(grid[0]) * uint64(grid[1]) * uint64(grid[2]); total > 1<<28 {
		return bad(BadLaunch, "%d blocks are more than an interpreter can run", total)
	}
	if len(params) != k.ParamBytes {
		return bad(BadLaunch, "%d bytes of parameters, must be %d", len(params), k.ParamBytes)
	}
	if total := int(k.dynOff) + int(dynShared); total > x.o.MaxShared {
		return bad(SharedBytes, "%d bytes of shared memory (%d static), there are %d", total, k.SharedBytes, x.o.MaxShared)
	}
	if k.Dynamic && dynShared == 0 {
		return bad(SharedBytes, "the kernel uses dynamic shared memory and is given none")
	}
	return nil
}

// place gives the module's global variables their memory.
func (x *Machine) place(m *Module) {
	for _, g := range m.globals {
		if _, ok := x.placed[g]; ok || g.space != globalSpace || g.size == 0 {
			continue
		}
		at, err := x.Alloc(int64(g.size))
		if err == nil {
			err = x.Write(at, append(g.data, make([]byte, g.size-len(g.data))...))
		}
		if err != nil {
			panic(err) // the size is the module's own and was parsed
		}
		x.placed[g] = at
	}
}

// mark makes room for the marks of n blocks.
func (x *Machine) mark(n uint32) {
	if x.epoch == 0 || uint64(x.epoch)+uint64(n)+2 > 1<<30 {
		for _, a := range x.allocs {
			clear(a.wr)
			clear(a.rd)
		}
		x.epoch = 1
	}
	x.run.marks = marks{past: x.epoch<<2 - 1, several: (x.epoch + n) << 2}
}

// stride is a step that visits each of n places once.
func stride(rng *rand.Rand, n int) int {
	for {
		s := 1 + int(rng.Uint64()%uint64(n))
		a, b := s, n
		for b != 0 {
			a, b = b, a%b
		}
		if a == 1 {
			return s % n
		}
	}
}

// begin readies the warps for a kernel.
func (r *runner) begin(k *Kernel, params []byte, dim [3]uint32) {
	r.k, r.params, r.trace = k, params, r.m.o.Trace
	n := (int(dim[0])*int(dim[1])*int(dim[2]) + 31) / 32
	for len(r.pool) < n {
		r.pool = append(r.pool, &warp{index: len(r.pool), b: &r.blk})
	}
	r.blk.r = r
	r.blk.warps = r.pool[:n]
	r.cache = append(r.cache[:0], make([]*alloc, len(k.code))...)
	for _, w := range r.blk.warps {
		w.adopt(k)
	}
}

// adopt gives the warp registers for a kernel: constants in their rows, junk in the
// others.
func (w *warp) adopt(k *Kernel) {
	if w.kernel == k {
		return
	}
	w.kernel = k
	if cap(w.rows) < k.rows {
		w.rows = make([]row, k.rows)
	}
	w.rows = w.rows[:k.rows]
	if cap(w.preds) < k.preds {
		w.preds = make([]uint32, k.preds)
	}
	w.preds = w.preds[:k.preds]
	junk := w.b.r.random()
	for i := range w.rows {
		for l := range w.rows[i] {
			w.rows[i][l] = junk & 0xffffffff
		}
	}
	for i := range w.preds {
		w.preds[i] = uint32(junk >> 32)
	}
	for _, c := range k.consts {
		v := c.value
		if c.global != nil {
			v += w.b.r.m.placed[c.global]
		}
		for l := range w.rows[c.row] {
			w.rows[c.row][l] = v
		}
	}
	w.local = make([]byte, 32*k.LocalBytes)
	w.inits = make([]uint64, (32*k.LocalBytes+63)/64)
}

// block runs one block.
func (r *runner) block(id [3]uint32, shared int) {
	b := &r.blk
	b.id, b.steps = id, 0
	b.phase = r.nextPhase()
	r.shared.begin(shared, r.m.o.MaxShared)
	threads := int(b.dim[0]) * int(b.dim[1]) * int(b.dim[2])
	before := r.lanes
	for i, w := range b.warps {
		n := min(threads-32*i, 32)
		w.full = allLanes >> (32 - n)
		w.alive = w.full
		w.groups = append(w.groups[:0], group{mask: w.full})
		w.status, w.sync = running, 0
		w.dropCopies()
		clear(w.inits)
		for _, s := range r.k.regs {
			for l := range w.rows[s.row] {
				w.rows[s.row][l] = s.reg.value(w, l)
			}
		}
	}
	b.play()
	r.m.stats.Blocks++
	r.m.stats.Warps += b.steps
	r.m.stats.Lanes += r.lanes - before
}

// nextPhase is a number for the time between two barriers.
func (r *runner) nextPhase() uint64 {
	r.phases++
	if r.phases >= 1<<26 {
		r.shared.forget()
		r.phases = 1
	}
	return r.phases
}
