package ptxsim

import "math/bits"

// buildShfl exchanges registers between lanes.
func buildShfl(s *stmt, in *instr) {
	x := &extra{pred: -1}
	if !s.has("sync") {
		s.fail("instruction %s is not known", s.name)
		return
	}
	x.mode = s.mod("up", "down", "bfly", "idx")
	if s.typ() != (typ{'b', 32}) || x.mode == "" {
		s.fail("instruction %s is not known", s.name)
	}
	if !s.want(5, 5) {
		return
	}
	in.d, in.a, in.b, in.c = s.dst(0, 32), s.src(1, 32), s.src(2, 32), s.src(3, 32)
	if p := s.ops[0].dual; p != nil {
		x.pred = s.pdst(p)
	}
	x.mask = s.src(4, 32)
	in.x, in.flow, in.run = x, warpSync, runShfl
}

func runShfl(w *warp, in *instr, m uint32) {
	x := in.x
	a := w.rows[in.a]
	bs, cs := &w.rows[in.b], &w.rows[in.c]
	d := &w.rows[in.d]
	b0, c0 := bs, cs
	var out row
	var inside uint32
	for l := m; l != 0; l &= l - 1 {
		lane := bits.TrailingZeros32(l) & 31
		b, clamp, seg := int(b0[lane]&31), int(c0[lane]&31), int(c0[lane]>>8&31)
		top := lane&seg | clamp&^seg
		from, ok := 0, false
		switch x.mode {
		case "up":
			from = lane - b
			ok = from >= top
		case "down":
			from = lane + b
			ok = from <= top
		case "bfly":
			from = lane ^ b
			ok = from <= top
		default:
			from = lane&seg | b&^seg
			ok = from <= top
		}
		if !ok {
			from = lane
		} else {
			inside |= 1 << lane
		}
		if w.need(in, lane)>>from&1 == 0 {
			w.fault(DivergentSync, lane, uint64(from), "reads a register of a lane that the mask does not name")
		}
		out[lane] = a[from&31]
	}
	if m == allLanes {
		*d = out
	} else {
		blend(d, &out, m)
	}
	if x.pred >= 0 {
		w.setPred(x.pred, m, inside)
	}
}

// buildVote is vote.sync.
func buildVote(s *stmt, in *instr) {
	x := &extra{}
	if !s.has("sync") {
		s.fail("instruction %s is not known", s.name)
		return
	}
	x.mode = s.mod("all", "any", "uni", "ballot")
	t := s.typ()
	if x.mode == "" || (x.mode == "ballot") != (t == typ{'b', 32}) || x.mode != "ballot" && t.kind != 'p' || !s.want(3, 3) {
		s.fail("instruction %s is not known", s.name)
		return
	}
	var neg bool
	in.a, neg = s.psrc(1)
	x.mask = s.src(2, 32)
	if x.mode == "ballot" {
		in.d = s.dst(0, 32)
	} else {
		in.d = s.pdst(&s.ops[0])
	}
	in.x, in.flow = x, warpSync
	in.run = func(w *warp, in *instr, m uint32) {
		votes := w.pred(in.a, neg)
		w.sets(in, m, func(set uint32) {
			yes := votes & set
			truth := false
			switch x.mode {
			case "ballot":
				w.each(set, in.d, func(int) uint64 { return uint64(yes) })
				return
			case "all":
				truth = yes == set
			case "any":
				truth = yes != 0
			case "uni":
				truth = yes == set || yes == 0
			}
			if truth {
				w.setPred(in.d, set, set)
			} else {
				w.setPred(in.d, set, 0)
			}
		})
	}
}

// sets calls f with each of the sets of lanes that the lanes of m name.
func (w *warp) sets(in *instr, m uint32, f func(set uint32)) {
	for m != 0 {
		set := w.need(in, lowest(m))
		f(set)
		m &^= set
	}
}

// buildRedux is redux.sync: one value of all lanes.
func buildRedux(s *stmt, in *instr) {
	x := &extra{}
	s.has("sync")
	op := s.mod("add", "min", "max", "and", "or", "xor")
	name := ""
	if len(s.mods) > 0 {
		name = s.mods[0]
	}
	t := s.typ()
	x.op = atomics[op][name]
	if x.op == nil || t.bits != 32 || t.kind == 'f' || t.kind == 'h' || !s.want(3, 3) {
		s.fail("instruction %s is not known", s.name)
		return
	}
	in.d, in.a, x.mask = s.dst(0, 32), s.src(1, 32), s.src(2, 32)
	in.x, in.flow = x, warpSync
	in.run = func(w *warp, in *instr, m uint32) {
		w.sets(in, m, func(set uint32) {
			a := &w.rows[in.a]
			v := a[lowest(set)]
			for l := set & (set - 1); l != 0; l &= l - 1 {
				v = x.op(v, a[lowest(l)], 0) & 0xffffffff
			}
			w.each(set, in.d, func(int) uint64 { return v })
		})
	}
}

// buildMatch is match.sync: which lanes have this lane's value.
func buildMatch(s *stmt, in *instr) {
	x := &extra{pred: -1}
	x.mode = s.mod("any", "all")
	if x.mode == "" || !s.has("sync") {
		s.fail("instruction %s is not known", s.name)
		return
	}
	t := s.typ()
	if t.kind != 'b' || t.bits < 32 || !s.want(3, 3) {
		s.fail("instruction %s is not known", s.name)
		return
	}
	in.d, in.a, x.mask = s.dst(0, 32), s.src(1, t.bits), s.src(2, 32)
	if p := s.ops[0].dual; p != nil {
		x.pred = s.pdst(p)
	}
	in.x, in.flow = x, warpSync
	in.run = func(w *warp, in *instr, m uint32) {
		w.sets(in, m, func(set uint32) {
			a := w.rows[in.a]
			equal := func(lane int) (same uint32) {
				for l := set; l != 0; l &= l - 1 {
					if a[lowest(l)] == a[lane] {
						same |= 1 << lowest(l)
					}
				}
				return same
			}
			if x.mode == "any" {
				w.each(set, in.d, func(lane int) uint64 { return uint64(equal(lane)) })
				return
			}
			all := equal(lowest(set))
			if all != set {
				all = 0
			}
			w.each(set, in.d, func(int) uint64 { return uint64(all) })
			if x.pred >= 0 {
				w.setPred(x.pred, set, all)
			}
		})
	}
}

func buildActive(s *stmt, in *instr) {
	if s.typ() != (typ{'b', 32}) || !s.want(1, 1) {
		s.fail("instruction %s is not known", s.name)
		return
	}
	in.d = s.dst(0, 32)
	in.run = func(w *warp, in *instr, m uint32) { w.each(m, in.d, func(int) uint64 { return uint64(m) }) }
}
