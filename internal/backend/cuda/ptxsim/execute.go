package ptxsim

import "math/bits"

// execute runs the warp for at most n instructions, or until it waits at a barrier of
// the block or has left. It returns how many it ran.
func (w *warp) execute(n int) int {
	r := w.b.r
	code := r.k.code
	rows, preds := w.rows, w.preds
	left := n
sched:
	for left > 0 {
		gi := w.choose()
		if gi < 0 {
			return n - left
		}
		g := &w.groups[gi]
		pc, mask, met := g.pc, g.mask, g.met
		g.met = false
		meet, burst := int32(len(code)), left
		if len(w.groups) > 1 {
			meet, burst = w.meeting(gi, left)
		}
		start := burst
		for burst > 0 {
			in := &code[pc]
			burst--
			m := mask
			if in.guard >= 0 {
				p := preds[in.guard]
				if in.negated {
					p = ^p
				}
				m &= p
			}
			if r.trace != nil {
				r.trace(r.k, int(in.line), w.b.id, w.index, m)
			}
			r.lanes += int64(bits.OnesCount32(m))
			switch {
			case in.alu != nil:
				if m == allLanes {
					in.alu(&rows[in.d], &rows[in.a], &rows[in.b], &rows[in.c])
				} else if m != 0 {
					in.alu(&w.tmp, &rows[in.a], &rows[in.b], &rows[in.c])
					blend(&rows[in.d], &w.tmp, m)
				}
			case in.cmp != nil:
				if m != 0 {
					v := in.cmp(&rows[in.a], &rows[in.b])
					preds[in.d] = preds[in.d]&^m | v&m
				}
			case m == 0:
			case in.flow == straight:
				w.pc = pc
				in.run(w, in, m)
			default:
				w.pc = pc
				g := &w.groups[gi]
				switch next := w.flow(gi, in, m, mask, met); next {
				case goesOn:
				case jumps:
					pc = in.target
					if pc >= meet {
						g.pc = pc
						left -= start - burst
						continue sched
					}
					continue
				default:
					left -= start - burst
					continue sched
				}
				mask = w.groups[gi].mask
				met = false
			}
			pc++
			if pc == meet {
				break
			}
		}
		left -= start - burst
		w.groups[gi].pc = pc
	}
	return n - left
}

// next is how a group goes on after an instruction of flow.
type next uint8

const (
	goesOn next = iota // to the instruction after, with the lanes that its group still has
	jumps              // to the target, all its lanes
	stops              // the groups have changed: choose anew
)

// flow runs an instruction that changes the order of instructions, for the lanes m of
// group gi whose lanes are mask.
func (w *warp) flow(gi int, in *instr, m, mask uint32, met bool) next {
	pc := w.pc
	rest := mask &^ m
	switch in.flow {
	case branch:
		if rest == 0 {
			return jumps
		}
		w.groups[gi] = group{pc: in.target, mask: m}
		w.groups = append(w.groups, group{pc: pc + 1, mask: rest})
		return stops
	case indexed:
		w.spread(gi, in, m, rest)
		return stops
	case leave:
		w.alive &^= m
		if rest == 0 {
			w.groups = append(w.groups[:gi], w.groups[gi+1:]...)
			return stops
		}
		w.groups[gi].mask = rest
		return goesOn
	case warpSync:
		if met || w.together(in, m) {
			in.run(w, in, m)
			return goesOn
		}
		w.groups[gi] = group{pc: pc, mask: m, wait: forWarp}
		if rest != 0 {
			w.groups = append(w.groups, group{pc: pc + 1, mask: rest})
		}
		w.gather(pc, in)
		return stops
	case blockSync:
		w.groups[gi] = group{pc: pc, mask: m, wait: forBlock}
		if rest != 0 {
			w.groups = append(w.groups, group{pc: pc + 1, mask: rest})
		}
		return stops
	}
	return goesOn
}

// spread sends lanes to the targets that their index picks.
func (w *warp) spread(gi int, in *instr, m, rest uint32) {
	w.groups = append(w.groups[:gi], w.groups[gi+1:]...)
	if rest != 0 {
		w.groups = append(w.groups, group{pc: w.pc + 1, mask: rest})
	}
	to := map[int32]uint32{}
	for l := m; l != 0; l &= l - 1 {
		lane := bits.TrailingZeros32(l)
		i := uint32(w.rows[in.a][lane])
		if int(i) >= len(in.x.targets) {
			w.fault(BadInstruction, lane, 0, "an index past the table of targets")
		}
		to[in.x.targets[i]] |= 1 << lane
	}
	for _, t := range in.x.targets { // in the table's order, not the map's
		if mask := to[t]; mask != 0 {
			w.groups = append(w.groups, group{pc: t, mask: mask})
			delete(to, t)
		}
	}
}

// need is the mask of lanes that must come to a sync instruction, as lane sees it.
func (w *warp) need(in *instr, lane int) uint32 {
	if in.x.mask < 0 {
		return allLanes
	}
	return uint32(w.rows[in.x.mask][lane])
}

// together tells whether lanes m are all that the sync instruction waits for. Lanes
// may name different masks, each of which must be complete.
func (w *warp) together(in *instr, m uint32) bool {
	for left := m; left != 0; {
		lane := bits.TrailingZeros32(left)
		need := w.need(in, lane)
		if need>>lane&1 == 0 {
			w.fault(DivergentSync, lane, uint64(need), "the mask does not name the lane that executes it")
		}
		if gone := need &^ w.alive; gone != 0 {
			w.fault(DivergentSync, bits.TrailingZeros32(gone), uint64(need), "the mask names a lane that has left or never was")
		}
		if need&^m != 0 {
			return false
		}
		for l := need; l != 0; l &= l - 1 {
			other := bits.TrailingZeros32(l)
			if w.need(in, other) != need {
				w.fault(DivergentSync, other, uint64(need), "lanes name masks that overlap but differ")
			}
		}
		left &^= need
	}
	return true
}

// gather joins the groups that wait at a sync instruction, and lets them run it if
// their masks are complete.
func (w *warp) gather(pc int32, in *instr) {
	var mask uint32
	at := -1
	for i := 0; i < len(w.groups); i++ {
		g := &w.groups[i]
		if g.wait != forWarp || g.pc != pc {
			continue
		}
		mask |= g.mask
		if at < 0 {
			at = i
			continue
		}
		w.groups = append(w.groups[:i], w.groups[i+1:]...)
		i--
	}
	w.groups[at].mask = mask
	if w.together(in, mask) {
		w.groups[at].wait, w.groups[at].met = ready, true
	}
}

// blend sets the lanes of m.
func blend(d, from *row, m uint32) {
	for ; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m) & 31
		d[l] = from[l]
	}
}
