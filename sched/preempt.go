package sched

// needs is the number of pages that q lacks to compute its known tokens: pages beyond its table, and a copy of the page
// that its next row goes to if others share it.
func (s *Scheduler) needs(q *Sequence) int {
	n := max(0, s.pool.PagesFor(q.known())-len(q.table.Pages()))
	if s.copies(q) {
		n++
	}
	return n
}

// copies reports whether the page of q's next row is shared, so that it has to be copied first.
func (s *Scheduler) copies(q *Sequence) bool {
	i := q.computed / s.pool.PageSize()
	return i < len(q.table.Pages()) && q.table.Shared(s.pool, i)
}

// hold takes the pages that needs counts; the caller saw to it that they are free.
func (s *Scheduler) hold(q *Sequence) {
	if s.copies(q) {
		from, to, _ := q.table.Own(s.pool, q.computed/s.pool.PageSize())
		s.plan.Copies = append(s.plan.Copies, Copy{From: from, To: to})
	}
	q.table.Grow(s.pool, q.known())
}

// room gets running q the page for its next row, from the free ones or from sequences later in rank. If there are none
// q itself loses its pages, and room reports false.
func (s *Scheduler) room(q *Sequence) bool {
	for {
		// What is reserved for q's own part of a shared tail is there for this.
		if s.needs(q) <= s.pool.Free()-s.reserved+q.tail() {
			s.hold(q)
			s.unreserve(q, q.tail())
			return true
		}
		if v := s.victim(q); v != nil {
			s.preempt(v)
			continue
		}
		s.preempt(q)
		return false
	}
}

// tail is what q has reserved for its own next row: nothing while it reserves for choices that are still to start.
func (q *Sequence) tail() int {
	if len(q.Forks) > 0 {
		return 0
	}
	return q.reserve
}

// victim is who loses pages to q: a parked sequence, the latest in rank of them, whatever its rank; else the latest of
// all that hold pages, if it is later than q.
func (s *Scheduler) victim(q *Sequence) *Sequence {
	v := s.idle(q)
	if v != nil && v.parked {
		return v
	}
	return s.last(v, q)
}

// idle is the sequence outside the batch that is the first to lose its pages to q; nil if there is none.
func (s *Scheduler) idle(q *Sequence) *Sequence {
	var v *Sequence
	for _, p := range s.parked {
		if len(p.table.Pages()) > 0 && (v == nil || byRank(p, v) > 0) {
			v = p
		}
	}
	for i := len(s.resume) - 1; v == nil && i >= 0; i-- {
		if r := s.resume[i]; r != q && len(r.table.Pages()) > 0 && r.rank().compare(s.bestOf(q)) > 0 {
			v = r
		}
	}
	return v
}

// last is the latest in rank of v and the batch, if it is later than q.
func (s *Scheduler) last(v, q *Sequence) *Sequence {
	for _, r := range s.running {
		if r != q && byBest(r, q) > 0 && (v == nil || r.best.compare(v.rank()) > 0) {
			v = r
		}
	}
	return v
}

// bestOf is the rank that q acts with.
func (s *Scheduler) bestOf(q *Sequence) rank {
	if q.place == batch {
		return q.best
	}
	return q.rank()
}

// makeRoom takes the pages of one sequence outside the batch for q, which wants to enter it and lacks so many. It reports
// false if that would be in vain: sequences in the batch are not thrown out for one outside.
func (s *Scheduler) makeRoom(q *Sequence, lack int) bool {
	v := s.idle(q)
	if v == nil {
		return false
	}
	// Pages that several of them share are not seen as a gain here. That may cost a wait, but not for ever: when the
	// batch is empty nobody is spared.
	if gain := s.gain(q); gain < lack && len(s.running) > 0 {
		return false
	}
	s.preempt(v)
	return true
}

// gain is the number of pages that are free for sure once all idle sequences that may lose them to q have done so.
func (s *Scheduler) gain(q *Sequence) int {
	n := 0
	for _, p := range s.parked {
		n += s.alone(p)
	}
	for _, r := range s.resume {
		if r != q && r.rank().compare(q.rank()) > 0 {
			n += s.alone(r)
		}
	}
	return n
}

// alone is the number of pages that only q holds.
func (s *Scheduler) alone(q *Sequence) int {
	n := 0
	for _, id := range q.table.Pages() {
		if s.pool.Refs(id) == 1 {
			n++
		}
	}
	return n
}

// preempt takes all pages of v. What v announced is withdrawn with them, so its waiters look up again and the first of
// them computes in its stead.
func (s *Scheduler) preempt(v *Sequence) {
	s.forgetPages(v)
	s.stats.Preemptions++
	v.tally.Preemptions++
	s.plan.Preempted = append(s.plan.Preempted, v)
	s.drop(v)
	s.enter(v, preempted)
}
