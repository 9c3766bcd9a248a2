package ptxsim

// sharedMemory is the shared memory of the block that runs, with the race check's
// marks: for each word of 4 bytes, who wrote it last and who read it last.
//
//	 63     36 35    16 15      11 10       0
//	┌─────────┬────────┬──────────┬──────────┐
//	│ phase   │ sync   │ flags    │ thread+1 │
//	└─────────┴────────┴──────────┴──────────┘
//
// phase counts the block's barriers and sync those of a warp (bar.warp.sync) since
// the block began. Two accesses are in order if a barrier lies between, or, within
// one warp, a meeting of the warp.
type sharedMemory struct {
	data   []byte
	size   uint64
	init   []uint64 // a bit per byte
	wr, rd []uint64
	wrB    []uint64 // marks per byte, where threads share a word
	rdB    []uint64
}

const (
	cellAtomic  = 1 << 11
	cellWarps   = 1 << 12 // threads of several warps
	cellLanes   = 1 << 13 // several threads of one warp
	cellMixed   = 1 << 14
	cellPending = 1 << 15 // cp.async data on its way here
	cellThread  = 1<<11 - 1
	phaseShift  = 36
	syncShift   = 16
	syncMask    = 1<<20 - 1
)

// begin readies the memory for a block.
func (s *sharedMemory) begin(size, most int) {
	s.size = uint64(size)
	if s.data == nil {
		s.data = make([]byte, (most+15)&^15)
		s.init = make([]uint64, (most+63)/64)
		s.wr, s.rd = make([]uint64, (most+3)/4), make([]uint64, (most+3)/4)
	}
	clear(s.init)
}

// forget drops all marks, for phases that begin again.
func (s *sharedMemory) forget() {
	clear(s.wr)
	clear(s.rd)
}

// mark is who lane 0 of the warp is, now; lane l is l more.
func (w *warp) mark() uint64 {
	return w.b.phase<<phaseShift | w.sync<<syncShift | uint64(w.index*32+1)
}

// clashes tells whether the access that left mark c is unordered with one of mine.
func clashes(c, mine uint64) bool {
	if c>>phaseShift != mine>>phaseShift || c&cellThread == 0 {
		return false
	}
	t, u := c&cellThread-1, mine&cellThread-1
	if t == u && c&(cellLanes|cellWarps) == 0 {
		return false
	}
	return c&cellWarps != 0 || t/32 != u/32 || c>>syncShift&syncMask == mine>>syncShift&syncMask
}

// together is the mark of mine after that of c.
func joinMarks(c, mine uint64) uint64 {
	if c>>phaseShift != mine>>phaseShift || c&cellThread == 0 {
		return mine
	}
	t, u := c&cellThread-1, mine&cellThread-1
	switch {
	case c&cellWarps != 0:
		return c
	case t/32 != u/32:
		return mine | cellWarps
	case c>>syncShift&syncMask != mine>>syncShift&syncMask:
		return mine // what lies before a meeting of the warp is before all of the warp
	case t != u:
		return c | cellLanes
	}
	return c
}

// bytesOf makes word i's mark mixed, and gives those of its bytes.
func bytesOf(word *uint64, cells *[]uint64, words int, i, phase uint64) []uint64 {
	if *cells == nil {
		*cells = make([]uint64, 4*words)
	}
	b := (*cells)[4*i : 4*i+4]
	if *word>>phaseShift == phase && *word&cellMixed != 0 {
		return b
	}
	for j := range b {
		b[j] = *word
	}
	*word = phase<<phaseShift | cellMixed | cellThread
	return b
}

// readMarks checks and notes a read of n bytes at offset at: 0 if it is in order.
func (s *sharedMemory) readMarks(at, n, mine uint64, atomic bool) FaultKind {
	phase := mine >> phaseShift
	for end := at + n; at < end; {
		i := at / 4
		in := min(4-at%4, end-at)
		c := s.wr[i]
		switch {
		case c&cellPending != 0:
			return Pending
		case c>>phaseShift != phase:
		case c&cellMixed != 0:
			for _, b := range s.wrB[at : at+in] {
				if clashes(b, mine) && !(atomic && b&cellAtomic != 0) {
					return SharedRace
				}
			}
		case clashes(c, mine) && !(atomic && c&cellAtomic != 0):
			return SharedRace
		}
		if atomic { // what is only accessed atomically has no readers to race with
			at += in
			continue
		}
		r := s.rd[i]
		mixed := r>>phaseShift == phase && r&cellMixed != 0
		if !mixed && in == 4 {
			s.rd[i] = joinMarks(r, mine)
		} else if mixed || joinMarks(r, mine) != r {
			b := bytesOf(&s.rd[i], &s.rdB, len(s.rd), i, phase)
			for j := at % 4; j < at%4+in; j++ {
				b[j] = joinMarks(b[j], mine)
			}
		}
		at += in
	}
	return 0
}

// writeMarks checks and notes a write.
func (s *sharedMemory) writeMarks(at, n, mine uint64, atomic bool) FaultKind {
	phase := mine >> phaseShift
	mark := mine
	if atomic {
		mark |= cellAtomic
	}
	for end := at + n; at < end; {
		i := at / 4
		in := min(4-at%4, end-at)
		r := s.rd[i]
		if r>>phaseShift == phase && r&cellMixed != 0 {
			for _, b := range s.rdB[at : at+in] {
				if clashes(b, mine) {
					return SharedRace
				}
			}
		} else if clashes(r, mine) {
			return SharedRace
		}
		c := s.wr[i]
		if c&cellPending != 0 {
			return Pending
		}
		if c>>phaseShift == phase && c&cellMixed != 0 || in < 4 {
			b := bytesOf(&s.wr[i], &s.wrB, len(s.wr), i, phase)
			for j := at % 4; j < at%4+in; j++ {
				if clashes(b[j], mine) && !(atomic && b[j]&cellAtomic != 0) {
					return SharedRace
				}
				b[j] = writerMark(b[j], mark)
			}
		} else {
			if clashes(c, mine) && !(atomic && c&cellAtomic != 0) {
				return SharedRace
			}
			s.wr[i] = writerMark(c, mark)
		}
		at += in
	}
	return 0
}

// writerMark is the mark after a write: atomics of several threads belong to all.
func writerMark(c, mark uint64) uint64 {
	if mark&cellAtomic != 0 && clashes(c, mark&^cellAtomic) {
		return mark | cellWarps
	}
	return mark
}
