package ptxsim

import "math/bits"

// allLanes is the mask of a warp of 32.
const allLanes = 0xffffffff

// wait is why a group of lanes does not run.
type wait uint8

const (
	ready    wait = iota
	forWarp       // at a *.sync, for the other lanes of its mask
	forBlock      // at a barrier, for the other lanes of the warp
)

// group are lanes of a warp that are at the same instruction.
type group struct {
	pc   int32
	mask uint32
	wait wait
	met  bool // they have come: the instruction runs
}

// warp is 32 threads. Lanes that took different branches form groups, which run one
// at a time and join where they meet.
type warp struct {
	b      *block
	index  int
	full   uint32 // the lanes that the block has
	alive  uint32 // those that have not left
	groups []group
	rows   []row
	preds  []uint32
	local  []byte
	inits  []uint64 // of local
	tmp    row
	pc     int32  // of the running instruction, for faults
	sync   uint64 // how often the warp met (bar.warp.sync) since the block began
	copies [32]asyncCopies
	status warpStatus
	at     arrival
	kernel *Kernel // whose constants lie in rows
}

type warpStatus uint8

const (
	running warpStatus = iota
	arrived
	done
)

// thread is the place in the block of a lane's thread.
func (w *warp) thread(lane int) [3]uint32 {
	d := &w.b.dim
	i := uint32(w.index*32 + lane)
	return [3]uint32{i % d[0], i / d[0] % d[1], i / d[0] / d[1]}
}

// pred is a predicate of all lanes.
func (w *warp) pred(p int32, neg bool) uint32 {
	v := w.preds[p]
	if neg {
		v = ^v
	}
	return v
}

// setPred sets a predicate of the lanes in m.
func (w *warp) setPred(p int32, m, v uint32) { w.preds[p] = w.preds[p]&^m | v&m }

// each sets register d of the lanes in m. f may read d of its own lane.
func (w *warp) each(m uint32, d int32, f func(lane int) uint64) {
	out := &w.rows[d]
	for ; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		out[l&31] = f(l)
	}
}

// fault ends the launch.
func (w *warp) fault(kind FaultKind, lane int, addr uint64, what string) {
	in := &w.b.r.k.code[w.pc]
	panic(&Fault{
		Kind: kind, Kernel: w.b.r.k.Name, Line: int(in.line), Block: w.b.id, Thread: w.thread(lane), Addr: addr,
		What: in.name + ": " + what,
	})
}
