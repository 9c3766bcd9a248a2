package ptxsim

import "math/bits"

func buildBra(s *stmt, in *instr) {
	s.has("uni")
	if !s.want(1, 1) || s.ops[0].kind != opLabel {
		s.fail("the target is no label")
		return
	}
	in.flow = branch
	s.f.pending = append(s.f.pending, fixup{s.at(), s.ops[0].text, s.line})
}

func buildBrx(s *stmt, in *instr) {
	if !s.has("idx") {
		s.fail("instruction %s is not known", s.name)
	}
	s.has("uni")
	if !s.want(2, 2) || s.ops[1].kind != opLabel {
		s.fail("the targets are no table")
		return
	}
	in.flow, in.a, in.x = indexed, s.src(0, 32), &extra{}
	s.f.tables2 = append(s.f.tables2, fixup{s.at(), s.ops[1].text, s.line})
}

func buildLeave(s *stmt, in *instr) {
	s.has("uni")
	s.want(0, 0)
	in.flow = leave
}

func buildTrap(s *stmt, in *instr) {
	s.want(0, 0)
	in.run = func(w *warp, in *instr, m uint32) {
		w.fault(Trapped, bits.TrailingZeros32(m), 0, "the kernel gave up")
	}
}

// buildFence orders memory accesses, which run in order here.
func buildFence(s *stmt, in *instr) {
	s.mod("sc", "acq_rel")
	if s.mod("cta", "gpu", "sys", "gl") == "" {
		s.fail("instruction %s is not known", s.name)
	}
	s.want(0, 0)
	in.run = func(*warp, *instr, uint32) {}
}

func buildSleep(s *stmt, in *instr) {
	s.typ()
	s.want(1, 1)
	in.run = func(*warp, *instr, uint32) {}
}

// buildBar is bar and barrier: of a warp's lanes, or of a block's warps, with or
// without a reduction.
func buildBar(s *stmt, in *instr) {
	s.has("cta")
	if s.base == "bar" && s.has("warp") {
		if !s.has("sync") || !s.want(1, 1) {
			s.fail("instruction %s is not known", s.name)
			return
		}
		in.x = &extra{mask: s.src(0, 32)}
		in.flow = warpSync
		in.run = func(w *warp, _ *instr, _ uint32) {
			if w.sync++; w.sync > syncMask {
				w.b.phase, w.sync = w.b.r.nextPhase(), 0
			}
		}
		return
	}
	in.flow, in.b = blockSync, -1
	in.x = &extra{}
	switch s.mod("sync", "red") {
	case "sync":
		s.has("aligned")
		if s.want(1, 2) {
			in.a = s.src(0, 32)
			if len(s.ops) == 2 {
				in.b = s.src(1, 32)
			}
		}
	case "red":
		in.x.reduce = s.mod("popc", "and", "or")
		s.has("aligned")
		t := s.typ()
		if in.x.reduce == "" || (in.x.reduce == "popc") == (t.kind == 'p') || !s.want(3, 4) {
			s.fail("instruction %s is not known", s.name)
			return
		}
		if in.x.reduce == "popc" {
			in.d = s.dst(0, 32)
		} else {
			in.d = s.pdst(&s.ops[0])
		}
		in.a = s.src(1, 32)
		if len(s.ops) == 4 {
			in.b = s.src(2, 32)
		}
		in.x.pred, in.x.negPred = s.psrc(len(s.ops) - 1)
	default:
		s.fail("instruction %s is not known", s.name)
	}
}

// reduceBarrier gives the warps that met at a bar.red its result.
func reduceBarrier(in *instr, warps []*warp) {
	yes, all := 0, 0
	for _, w := range warps {
		yes += bits.OnesCount32(w.pred(in.x.pred, in.x.negPred) & w.full)
		all += bits.OnesCount32(w.full)
	}
	truth := uint32(0)
	if in.x.reduce == "or" && yes > 0 || in.x.reduce == "and" && yes == all {
		truth = allLanes
	}
	for _, w := range warps {
		if in.x.reduce == "popc" {
			w.each(w.full, in.d, func(int) uint64 { return uint64(yes) })
		} else {
			w.setPred(in.d, w.full, truth)
		}
	}
}
