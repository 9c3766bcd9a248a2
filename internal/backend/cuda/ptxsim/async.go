package ptxsim

import "math/bits"

// asyncCopy is one cp.async under way.
type asyncCopy struct {
	at    uint64 // in shared memory
	n     uint64
	group uint32
	data  [16]byte
}

// asyncCopies are those of one thread, oldest first. Groups are numbered as they are
// committed; open is the number of the one that is not yet.
type asyncCopies struct {
	list []asyncCopy
	open uint32
}

// dropCopies forgets what no wait has delivered.
func (w *warp) dropCopies() {
	s := &w.b.r.shared
	for l := range w.copies {
		c := &w.copies[l]
		for _, a := range c.list {
			for i := a.at / 4; i < (a.at+a.n)/4; i++ {
				s.wr[i] = 0
			}
		}
		c.list, c.open = c.list[:0], 0
	}
}

// deliver makes copies visible to their own thread: those of all groups but the last
// n that were committed. For other threads it is a write like another, which they see
// after a barrier.
func (w *warp) deliver(lane int, n uint32) {
	c := &w.copies[lane]
	s := &w.b.r.shared
	mine := w.mark() + uint64(lane)
	k := 0
	for ; k < len(c.list); k++ {
		a := &c.list[k]
		if uint64(a.group)+uint64(n) >= uint64(c.open) {
			break
		}
		copy(s.data[a.at:a.at+a.n], a.data[:a.n])
		for i := a.at / 4; i < (a.at+a.n)/4; i++ {
			s.wr[i] = mine
		}
		setBits(s.init, a.at, a.n)
	}
	c.list = c.list[:copy(c.list, c.list[k:])]
}

// runAsync starts a copy of in.x.size bytes from [in.b] to shared [in.a].
func runAsync(w *warp, in *instr, m uint32) {
	s := &w.b.r.shared
	n := uint64(in.x.size)
	for ; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m) & 31
		to := w.address(in, l)
		if in.x.space == generic {
			sp, at := resolve(to)
			if sp != sharedSpace {
				w.fault(OutOfBounds, l, to, "cp.async to memory that is not shared")
			}
			to = at
		}
		from := w.rows[in.b][l] + in.x.off2
		if to%n != 0 {
			w.fault(Misaligned, l, to, "shared address")
		}
		if from%n != 0 {
			w.fault(Misaligned, l, from, "global address")
		}
		w.sharedBytes(l, to, n, access{write: true, delayed: true})
		a := asyncCopy{at: to, n: n, group: w.copies[l].open}
		have := n
		if in.c >= 0 {
			have = uint64(uint32(w.rows[in.c][l]))
			if have > n {
				w.fault(BadInstruction, l, from, "a source size past the copy's")
			}
		}
		if have == n {
			copy(a.data[:], w.bytesAt(globalSpace, l, from, n, access{}))
		} else {
			for i := range have {
				a.data[i] = w.bytesAt(globalSpace, l, from+i, 1, access{})[0]
			}
		}
		w.copies[l].list = append(w.copies[l].list, a)
		for i := to / 4; i < (to+n)/4; i++ {
			s.wr[i] = w.mark() + uint64(l) | cellPending
		}
	}
}

// buildCp is cp.async and its groups.
func buildCp(s *stmt, in *instr) {
	if !s.has("async") {
		s.fail("instruction %s is not known", s.name)
		return
	}
	lanes := func(f func(w *warp, lane int)) {
		in.run = func(w *warp, _ *instr, m uint32) {
			for ; m != 0; m &= m - 1 {
				f(w, bits.TrailingZeros32(m))
			}
		}
	}
	switch s.mod("commit_group", "wait_group", "wait_all", "ca", "cg") {
	case "commit_group":
		if s.want(0, 0) {
			lanes(func(w *warp, l int) { w.copies[l].open++ })
		}
	case "wait_all":
		if s.want(0, 0) {
			lanes(func(w *warp, l int) { w.copies[l].open++; w.deliver(l, 0) })
		}
	case "wait_group":
		if s.want(1, 1) && s.ops[0].kind == opImm {
			n, err := literal(s.ops[0].imm, 32)
			if err != nil {
				s.fail("%v", err)
			}
			lanes(func(w *warp, l int) { w.deliver(l, uint32(n)) })
		} else {
			s.fail("the number of groups must be a constant")
		}
	case "ca":
		s.copyAsync(in, 4, 8, 16)
	case "cg":
		s.copyAsync(in, 16)
	default:
		s.fail("instruction %s is not known", s.name)
	}
}

func (s *stmt) copyAsync(in *instr, sizes ...uint64) {
	x := &extra{}
	if !s.has("shared") || !s.has("global") {
		s.fail("instruction %s is not known", s.name)
	}
	s.mod("L2::cache_hint")
	s.mod("L2::64B", "L2::128B", "L2::256B")
	if !s.want(3, 4) {
		return
	}
	var from extra
	s.addr(1, in, &from, globalSpace)
	in.b, x.off2 = in.a, in.off
	s.addr(0, in, x, sharedSpace)
	if s.ops[2].kind != opImm {
		s.fail("the size must be a constant")
		return
	}
	n, err := literal(s.ops[2].imm, 32)
	ok := false
	for _, size := range sizes {
		ok = ok || n == size
	}
	if err != nil || !ok {
		s.fail("a copy of %s bytes", s.ops[2].imm)
	}
	x.size = int(n)
	in.c = -1
	if len(s.ops) == 4 {
		in.c = s.src(3, 32)
	}
	in.x, in.run = x, runAsync
}
