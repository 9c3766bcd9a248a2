package ptxsim

// buildMatrix is mma.sync and ldmatrix, whose meaning is in matrix.go.
func buildMatrix(s *stmt, in *instr) {
	in.flow = warpSync
	x := &extra{mask: -1}
	in.x = x
	if op := findMatrixOp(s.name); op != nil {
		s.mods = nil
		if !s.want(4, 4) {
			return
		}
		nd, na, nb, nc := op.registers()
		x.dst = s.vec(0, nd, 32, true)
		a, b, c := s.vec(1, na, 32, false), s.vec(2, nb, 32, false), s.vec(3, nc, 32, false)
		in.run = func(w *warp, in *instr, m uint32) {
			d := make(regs, nd)
			op.multiply(d, w.fragment(a), w.fragment(b), w.fragment(c))
			w.setFragment(x.dst, d)
		}
		return
	}
	op := findMatrixLoad(s.name)
	if op == nil {
		s.fail("instruction %s is not known", s.name)
		return
	}
	sp := generic
	for _, m := range s.mods {
		if m == "shared" {
			sp = sharedSpace
		}
	}
	s.mods = nil
	if !s.want(2, 2) {
		return
	}
	x.dst = s.vec(0, op.matrices, 32, true)
	s.addr(1, in, x, sp)
	x.mask = -1
	in.run = func(w *warp, in *instr, m uint32) {
		var addrs [32]uint64
		for l := range addrs {
			addrs[l] = w.address(in, l)
		}
		d := make(regs, op.matrices)
		// fetch ends the launch itself where an address is wrong.
		_ = op.load(d, &addrs, func(lane int, addr uint64, b []byte) error {
			if at := addr; sp == generic {
				if from, _ := resolve(at); from != sharedSpace {
					w.fault(OutOfBounds, lane, at, "a matrix in memory that is not shared")
				}
			}
			copy(b, w.bytesAt(sp, lane, addr, 16, access{}))
			return nil
		})
		w.setFragment(x.dst, d)
	}
}

// fragment copies registers for a matrix instruction.
func (w *warp) fragment(rows []int32) regs {
	out := make(regs, len(rows))
	for i, r := range rows {
		for l, v := range w.rows[r] {
			out[i][l] = uint32(v)
		}
	}
	return out
}

func (w *warp) setFragment(rows []int32, from regs) {
	for i, r := range rows {
		for l, v := range from[i] {
			w.rows[r][l] = uint64(v)
		}
	}
}
