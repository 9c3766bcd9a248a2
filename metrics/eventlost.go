package metrics

// lostRanges are the numbers of events that a reader asked for too late, so that each is counted once however many readers ask.
// Every lost range ends at the ring's tail of its time, which never goes back: a new range swallows all that reach into it, and
// the rest lie below it in order. The oldest two become one when there are too many, and what lies between them then counts as
// counted.
type lostRanges struct {
	n      int
	ranges [16]struct{ from, to uint64 }
}

// add returns how many of the numbers from ≤ i < to are new.
func (l *lostRanges) add(from, to uint64) uint64 {
	count := to - from
	start := from
	for l.n > 0 && l.ranges[l.n-1].to >= from {
		last := l.ranges[l.n-1]
		count -= last.to - max(from, last.from)
		start = min(start, last.from)
		l.n--
	}
	if l.n == len(l.ranges) {
		l.ranges[1].from = l.ranges[0].from
		copy(l.ranges[:], l.ranges[1:])
		l.n--
	}
	l.ranges[l.n].from, l.ranges[l.n].to = start, to
	l.n++
	return count
}
