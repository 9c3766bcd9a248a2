package ptxsim

import (
	"encoding/binary"
	"math/bits"
)

// The frequent accesses again, checked in place: what is out of the ordinary in a
// lane goes the general way (bytesAt), which finds out what it is.

// runLoadGlobal loads from global memory.
func runLoadGlobal(w *warp, in *instr, m uint32) {
	x := in.x
	r := w.b.r
	n := uint64(x.size * x.count)
	a := r.cache[w.pc]
	if a == nil || a.size < n {
		runLoad(w, in, m)
		return
	}
	base, top, k := a.base, a.size-n, &r.marks
	past, mine := k.past, k.mine
	own := mine
	if x.constant {
		own = 0
	}
	addrs := &w.rows[in.a]
	for ; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m) & 31
		addr := addrs[l] + in.off
		at := addr - base
		if at > top || addr&(n-1) != 0 || !k.quickRead(a, at, n, past, mine, own) {
			w.loadLane(in, l)
			continue
		}
		w.take(x, l, a.data[at:at+n])
	}
}

// quickRead notes a read if it is plainly in order: what was written in this launch
// was written by block own.
func (k *marks) quickRead(a *alloc, at, n uint64, past, mine, own uint32) bool {
	if a.missing != 0 {
		mask := uint64(1)<<n - 1
		if a.init[at>>6]>>(at&63)&mask != mask {
			return false
		}
	}
	i := at >> 2
	if n < 4 {
		if c := a.wr[i]; c > past && c != own {
			return false
		}
		if c := a.rd[i]; c > past {
			return c|markPart == mine|markPart || c == k.several|markPart
		}
		a.rd[i] = mine | markPart
		return true
	}
	wr, rd := a.wr[i:i+n>>2], a.rd[i:i+n>>2]
	for j, c := range wr {
		if c > past && c != own {
			return false
		}
		if c := rd[j]; c != mine {
			if c > past && c != k.several {
				return false
			}
			if c <= past {
				rd[j] = mine
			}
		}
	}
	return true
}

// take puts the elements of b into a lane's registers.
func (w *warp) take(x *extra, l int, b []byte) {
	switch {
	case x.signed:
		shift := 64 - 8*x.size
		for j, d := range x.dst {
			w.rows[d][l] = uint64(int64(loadBytes(b[j*x.size:], x.size)<<shift)>>shift) & x.keep
		}
	case x.size == 4:
		for _, d := range x.dst {
			w.rows[d][l] = uint64(binary.LittleEndian.Uint32(b))
			b = b[4:]
		}
	default:
		for j, d := range x.dst {
			w.rows[d][l] = loadBytes(b[j*x.size:], x.size)
		}
	}
}

// runStoreGlobal stores to global memory.
func runStoreGlobal(w *warp, in *instr, m uint32) {
	x := in.x
	r := w.b.r
	n := uint64(x.size * x.count)
	a := r.cache[w.pc]
	if a == nil || a.size < n || n < 4 {
		runStore(w, in, m)
		return
	}
	base, top, past, mine := a.base, a.size-n, r.marks.past, r.marks.mine
	addrs := &w.rows[in.a]
lanes:
	for ; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m) & 31
		addr := addrs[l] + in.off
		at := addr - base
		if at > top || addr&(n-1) != 0 {
			w.storeLane(in, l)
			continue
		}
		i := at >> 2
		wr, rd := a.wr[i:i+n>>2], a.rd[i:i+n>>2]
		for j, c := range wr {
			if c > past && c != mine || rd[j] > past && rd[j] != mine {
				w.storeLane(in, l)
				continue lanes
			}
			wr[j] = mine
		}
		if a.missing != 0 {
			a.written(at, n)
		}
		w.give(x, l, a.data[at:at+n])
	}
}

// give puts a lane's registers into b.
func (w *warp) give(x *extra, l int, b []byte) {
	if x.size == 4 {
		for _, s := range x.src {
			binary.LittleEndian.PutUint32(b, uint32(w.rows[s][l]))
			b = b[4:]
		}
		return
	}
	for j, s := range x.src {
		storeBytes(b[j*x.size:], x.size, w.rows[s][l])
	}
}

// runLoadShared loads from shared memory.
func runLoadShared(w *warp, in *instr, m uint32) {
	x := in.x
	s := &w.b.r.shared
	n := uint64(x.size * x.count)
	if s.size < n || n < 4 {
		runLoad(w, in, m)
		return
	}
	top, bitmask := s.size-n, uint64(1)<<n-1
	addrs, mark := &w.rows[in.a], w.mark()
lanes:
	for ; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m) & 31
		at := (addrs[l] + in.off) & x.wide
		if at > top || at&(n-1) != 0 || s.init[at>>6]>>(at&63)&bitmask != bitmask {
			w.loadLane(in, l)
			continue
		}
		mine := mark + uint64(l)
		i := at >> 2
		wr, rd := s.wr[i:i+n>>2], s.rd[i:i+n>>2]
		for j, c := range wr {
			if c&cellPending != 0 || c != mine && (c^mine)>>phaseShift == 0 {
				w.loadLane(in, l)
				continue lanes
			}
			if c := rd[j]; c != mine {
				if (c^mine)>>phaseShift != 0 {
					rd[j] = mine
				} else if c&cellMixed == 0 {
					rd[j] = joinMarks(c, mine)
				} else {
					w.loadLane(in, l)
					continue lanes
				}
			}
		}
		w.take(x, l, s.data[at:at+n])
	}
}

// runStoreShared stores to shared memory.
func runStoreShared(w *warp, in *instr, m uint32) {
	x := in.x
	s := &w.b.r.shared
	n := uint64(x.size * x.count)
	if s.size < n || n < 4 {
		runStore(w, in, m)
		return
	}
	top, bitmask := s.size-n, uint64(1)<<n-1
	addrs, mark := &w.rows[in.a], w.mark()
lanes:
	for ; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m) & 31
		at := (addrs[l] + in.off) & x.wide
		if at > top || at&(n-1) != 0 {
			w.storeLane(in, l)
			continue
		}
		mine := mark + uint64(l)
		i := at >> 2
		wr, rd := s.wr[i:i+n>>2], s.rd[i:i+n>>2]
		for j, c := range wr {
			d := rd[j]
			if c&cellPending != 0 || c != mine && (c^mine)>>phaseShift == 0 || d != mine && (d^mine)>>phaseShift == 0 {
				w.storeLane(in, l)
				continue lanes
			}
			wr[j] = mine
		}
		s.init[at>>6] |= bitmask << (at & 63)
		w.give(x, l, s.data[at:at+n])
	}
}
