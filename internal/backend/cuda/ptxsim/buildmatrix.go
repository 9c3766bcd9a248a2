package ptxsim

import "slices"

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
		x.src = slices.Concat(s.vec(1, na, 32, false), s.vec(2, nb, 32, false), s.vec(3, nc, 32, false))
		in.run = func(w *warp, in *instr, m uint32) {
			d, from := w.b.r.fragments(nd, x.src, w.rows)
			op.multiply(d, from[:na], from[na:na+nb], from[na+nb:])
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
		d, _ := w.b.r.fragments(op.matrices, nil, nil)
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

// fragments are n registers for a matrix instruction's result, and copies of those it
// reads. They are the runner's, until the next such instruction.
func (r *runner) fragments(n int, src []int32, rows []row) (d, from regs) {
	for len(r.scratch) < n+len(src) {
		r.scratch = append(r.scratch, [32]uint32{})
	}
	d, from = r.scratch[:n], r.scratch[n:n+len(src)]
	for i, at := range src {
		out := &from[i]
		for l, v := range rows[at] {
			out[l] = uint32(v)
		}
	}
	return d, from
}

func (w *warp) setFragment(rows []int32, from regs) {
	for i, r := range rows {
		for l, v := range from[i] {
			w.rows[r][l] = uint64(v)
		}
	}
}
