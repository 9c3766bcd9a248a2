package ptxsim

import "math/bits"

// choose is the group to run next, or -1 if the warp waits for the block or is done.
//
// The group that is furthest behind runs first, so that lanes join again as soon as
// the program lets them; but now and then another one does, since a card promises
// nothing of the kind.
func (w *warp) choose() int {
	if len(w.groups) == 1 && w.groups[0].wait == ready {
		return 0
	}
	if len(w.groups) == 0 {
		w.status = done
		return -1
	}
	w.join()
	best, n := -1, 0
	for i := range w.groups {
		if g := &w.groups[i]; g.wait == ready {
			n++
			if best < 0 || g.pc < w.groups[best].pc {
				best = i
			}
		}
	}
	if n == 0 {
		w.arrive()
		return -1
	}
	if n > 1 && w.b.r.random()&7 == 0 {
		for k := int(w.b.r.random() % uint64(n)); ; {
			best = (best + 1) % len(w.groups)
			if w.groups[best].wait == ready {
				if k == 0 {
					break
				}
				k--
			}
		}
	}
	return best
}

// join makes one of the groups that are ready at the same instruction.
func (w *warp) join() {
	for i := 0; i < len(w.groups); i++ {
		g := &w.groups[i]
		if g.wait != ready || g.met {
			continue
		}
		for j := i + 1; j < len(w.groups); j++ {
			if o := w.groups[j]; o.wait == ready && !o.met && o.pc == g.pc {
				g.mask |= o.mask
				w.groups = append(w.groups[:j], w.groups[j+1:]...)
				j--
			}
		}
	}
}

// meeting is the nearest place ahead of group gi where another is ready, and for how
// many instructions the group may run before the next choice.
func (w *warp) meeting(gi, left int) (int32, int) {
	pc := w.groups[gi].pc
	meet := int32(len(w.b.r.k.code))
	behind := false
	for i := range w.groups {
		g := &w.groups[i]
		if i == gi || g.wait != ready {
			continue
		}
		if g.pc > pc {
			meet = min(meet, g.pc)
		} else {
			behind = true
		}
	}
	if behind { // a random choice: let it be a short run
		left = min(left, 1+int(w.b.r.random()%64))
	}
	return meet, left
}

// arrive is called when no group is ready: all must wait at one barrier of the block.
func (w *warp) arrive() {
	first := w.groups[0]
	mask := first.mask
	for _, g := range w.groups {
		if g.wait == forWarp {
			w.pc = g.pc
			in := &w.b.r.k.code[g.pc]
			lane := bits.TrailingZeros32(g.mask)
			w.fault(DivergentSync, lane, uint64(w.need(in, lane)), "lanes of the mask never come")
		}
	}
	for _, g := range w.groups[1:] {
		if g.pc != first.pc {
			w.pc = g.pc
			w.fault(DivergentSync, bits.TrailingZeros32(g.mask), 0, "lanes of one warp wait at different barriers")
		}
		mask |= g.mask
	}
	w.pc = first.pc
	if gone := w.full &^ mask; gone != 0 {
		w.fault(DivergentSync, bits.TrailingZeros32(gone), 0, "a thread left without coming to the barrier at which others wait")
	}
	w.groups = append(w.groups[:0], group{pc: first.pc + 1, mask: mask})
	w.at = w.barrier(first.pc, mask)
	w.status = arrived
}
