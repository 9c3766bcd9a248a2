package ptxsim

import (
	"math/bits"
	"slices"
)

// allocate gives registers their rows. Compilers number a new register for each
// value, thousands in an unrolled kernel; a row for each would put a warp's registers
// out of the caches. Registers share a row if no statement lies within the lives of
// both, where a life is the stretch of the text from the first to the last statement
// at which the register holds something that may still be read.
func (f *fn) allocate() {
	first := make([]int32, len(f.regs))
	last := make([]int32, len(f.regs))
	for i := range first {
		first[i], last[i] = -1, -1
	}
	reach := func(r, at int32) {
		if first[r] < 0 || at < first[r] {
			first[r] = at
		}
		last[r] = max(last[r], at)
	}
	for i, s := range f.stmts {
		for _, r := range s.reads {
			reach(r, int32(i))
		}
		for _, r := range s.writes {
			reach(r, int32(i))
		}
	}
	blocks := f.liveness()
	f.k.Live = f.pressure(blocks)
	for _, b := range blocks {
		b.in.each(func(r int32) { reach(r, b.from) })
		b.out.each(func(r int32) { reach(r, b.to-1) })
	}
	order := make([]int32, 0, len(f.regs))
	for i, r := range f.regs {
		if r.typ.kind != 'p' && first[i] >= 0 {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return int(first[a] - first[b]) })
	var free []int32
	ends := map[int32][]int32{} // rows by the statement at which they are last used
	at := int32(0)
	for _, r := range order {
		for ; at < first[r]; at++ {
			free = append(free, ends[at]...)
			delete(ends, at)
		}
		row := int32(f.k.rows)
		if n := len(free); n > 0 {
			row, free = free[n-1], free[:n-1]
		} else {
			f.k.rows++
		}
		f.regs[r].row = row
		ends[last[r]] = append(ends[last[r]], row)
	}
}

// pressure is how many registers of 32 bits hold something that is read later, at the
// statement where they are most.
func (f *fn) pressure(blocks []stretch) int {
	weigh := func(r int32) int {
		if t := f.regs[r].typ; t.kind != 'p' {
			return max(t.bits/32, 1)
		}
		return 0
	}
	most := 0
	for _, b := range blocks {
		live := slices.Clone(b.out)
		n := 0
		live.each(func(r int32) { n += weigh(r) })
		for i := b.to - 1; i >= b.from; i-- {
			most = max(most, n)
			for _, r := range f.stmts[i].writes {
				if live.has(r) {
					live.drop(r)
					n -= weigh(r)
				}
			}
			for _, r := range f.stmts[i].reads {
				if !live.has(r) {
					live.add(r)
					n += weigh(r)
				}
			}
		}
		most = max(most, n)
	}
	return most
}

// set is a set of registers.
type set []uint64

func (s set) add(r int32)      { s[r>>6] |= 1 << (r & 63) }
func (s set) has(r int32) bool { return s[r>>6]>>(r&63)&1 != 0 }
func (s set) drop(r int32)     { s[r>>6] &^= 1 << (r & 63) }

func (s set) each(f func(r int32)) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			f(int32(64*i + bits.TrailingZeros64(w)))
		}
	}
}

// run is a stretch of statements that are entered only at the first and left only
// after the last.
type stretch struct {
	from, to int32
	next     []int32 // starts of those that may follow
	in, out  set     // registers that are read later, before it and after it
}

// liveness cuts the function into stretches and finds what lives at their ends.
func (f *fn) liveness() []stretch {
	n := int32(len(f.stmts))
	starts := make([]bool, n+1)
	starts[0], starts[n] = true, true
	for _, at := range f.labels {
		starts[at] = true
	}
	targets := map[int32][]int32{}
	for _, x := range f.pending {
		targets[int32(x.at)] = append(targets[int32(x.at)], f.labels[x.label])
	}
	for _, x := range f.tables2 {
		for _, l := range f.tables[x.label] {
			targets[int32(x.at)] = append(targets[int32(x.at)], f.labels[l])
		}
	}
	for i, s := range f.stmts {
		if s.flow == branch || s.flow == indexed || s.flow == leave {
			starts[i+1] = true
		}
	}
	var blocks []stretch
	index := make([]int32, n+1)
	words := (len(f.regs) + 63) / 64
	for i := int32(0); i < n; {
		b := stretch{from: i, in: make(set, words), out: make(set, words)}
		for i++; !starts[i]; i++ {
		}
		b.to = i
		end := f.stmts[i-1]
		if b.next = targets[i-1]; i < n && (end.guard >= 0 || end.flow != branch && end.flow != leave && end.flow != indexed) {
			b.next = append(b.next, i)
		}
		index[b.from] = int32(len(blocks))
		blocks = append(blocks, b)
	}
	for changed := true; changed; {
		changed = false
		for i := len(blocks) - 1; i >= 0; i-- {
			changed = f.flowBack(&blocks[i], blocks, index) || changed
		}
	}
	return blocks
}

// flowBack renews a stretch's sets from those that follow: true if they grew.
func (f *fn) flowBack(b *stretch, blocks []stretch, index []int32) bool {
	for _, n := range b.next {
		for w, v := range blocks[index[n]].in {
			b.out[w] |= v
		}
	}
	live := slices.Clone(b.out)
	for i := b.to - 1; i >= b.from; i-- {
		s := f.stmts[i]
		for _, r := range s.writes {
			live.drop(r)
		}
		for _, r := range s.reads {
			live.add(r)
		}
	}
	if slices.Equal(live, b.in) {
		return false
	}
	copy(b.in, live)
	return true
}
