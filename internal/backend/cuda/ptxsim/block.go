package ptxsim

import (
	"fmt"
	"math/bits"
)

// block is a block of threads while it runs.
type block struct {
	r     *runner
	id    [3]uint32
	grid  [3]uint32
	dim   [3]uint32
	warps []*warp
	steps int64
	phase uint64 // barriers of the block passed, see shared.go; never repeats in a machine
}

// arrival is where a warp waits at a barrier.
type arrival struct {
	pc      int32
	id      uint32
	threads uint32 // how many the barrier waits for; 0: all of the block
	here    uint32 // lanes that came
}

// barrier reads a barrier's operands.
func (w *warp) barrier(pc int32, mask uint32) arrival {
	in := &w.b.r.k.code[pc]
	lane := bits.TrailingZeros32(mask)
	at := arrival{pc: pc, here: uint32(bits.OnesCount32(mask))}
	at.id = uint32(w.rows[in.a][lane])
	if in.b >= 0 {
		at.threads = uint32(w.rows[in.b][lane])
		if at.threads == 0 || at.threads%32 != 0 {
			w.fault(BadInstruction, lane, uint64(at.threads), "a barrier's count must be a multiple of 32")
		}
	}
	if at.id > 15 {
		w.fault(BadInstruction, lane, uint64(at.id), "barriers are 0 to 15")
	}
	return at
}

// play runs a block to its end.
func (b *block) play() {
	var live []*warp
	live = append(live, b.warps...)
	for len(live) > 0 {
		i := int(b.r.random() % uint64(len(live)))
		w := live[i]
		b.steps += int64(w.execute(32 + int(b.r.random()&511)))
		if b.steps > b.r.m.o.MaxSteps {
			w.fault(StepLimit, 0, 0, fmt.Sprintf("the block has run more than %d instructions", b.r.m.o.MaxSteps))
		}
		if w.status == running {
			continue
		}
		live[i] = live[len(live)-1]
		live = live[:len(live)-1]
		if w.status == arrived {
			live = b.release(w, live)
		}
		if len(live) == 0 {
			b.stuck()
		}
	}
}

// release lets the warps of w's barrier go on if all it waits for have come.
func (b *block) release(w *warp, live []*warp) []*warp {
	var here, want uint32
	want = w.at.threads
	if want == 0 {
		want = b.dim[0] * b.dim[1] * b.dim[2]
	}
	for _, o := range b.warps {
		if o.status != arrived || o.at.id != w.at.id {
			continue
		}
		if o.at.threads != w.at.threads || w.at.threads == 0 && o.at.pc != w.at.pc {
			w.pc = w.at.pc
			w.fault(DivergentSync, 0, uint64(w.at.id), fmt.Sprintf("warp %d waits at the barrier of line %d", o.index, b.r.k.code[o.at.pc].line))
		}
		here += o.at.here
	}
	if here > want {
		w.pc = w.at.pc
		w.fault(DivergentSync, 0, uint64(w.at.id), fmt.Sprintf("%d threads at a barrier for %d", here, want))
	}
	if here < want {
		return live
	}
	b.phase = b.r.nextPhase()
	from := len(live)
	for _, o := range b.warps {
		if o.status == arrived && o.at.id == w.at.id {
			o.status = running
			live = append(live, o)
		}
	}
	if in := &b.r.k.code[w.at.pc]; in.x.reduce != "" {
		reduceBarrier(in, live[from:])
	}
	return live
}

// stuck is called when no warp can run: each must be done.
func (b *block) stuck() {
	for _, w := range b.warps {
		if w.status == arrived {
			w.pc = w.at.pc
			w.fault(DivergentSync, 0, uint64(w.at.id), "the barrier is never complete: other threads have left or wait elsewhere")
		}
	}
}
