package sched

import "slices"

// Cancel ends a live sequence for reason r (ReasonNone: ReasonAbort) and gives its pages back at once. It reports false
// if the sequence is not live. Other choices of the same request go on: if they have not started yet, one of them takes
// over the sequence's place, pages and progress. A plan that was not committed is dropped, see the package comment.
func (s *Scheduler) Cancel(id SeqID, r Reason) bool {
	s.abandon()
	q := s.live[id]
	if q == nil {
		return false
	}
	if r == ReasonNone || r >= NumReasons {
		r = ReasonAbort
	}
	s.end(q, r)
	return true
}

// abandon drops a plan that was handed out and will not be committed, because its step failed: nothing of it counts as
// computed. Pages that it was to copy may hold anything, so who would read them starts over.
func (s *Scheduler) abandon() {
	if !s.open {
		return
	}
	s.open = false
	for i := range s.plan.Spans {
		q := s.plan.Spans[i].Seq
		q.rows, q.drafts, q.Draft = 0, 0, q.Draft[:0]
		q.table.Truncate(s.pool, q.known())
		for _, id := range q.table.Pages() {
			if slices.ContainsFunc(s.plan.Copies, func(c Copy) bool { return c.To == id }) {
				s.preempt(q)
				break
			}
		}
	}
}

// end takes q out of everything.
func (s *Scheduler) end(q *Sequence, r Reason) {
	if len(q.Forks) > 0 {
		s.succeed(q)
	}
	s.drop(q)
	s.count(q, -1)
	if q.turn == 0 && q.place != forking {
		s.fresh--
	}
	if q.place == forking {
		s.unfork(q)
	}
	q.tenant.credit += int64(q.charged - q.high) // charged at admission, never computed
	s.queue.leave(q.tenant)
	delete(s.live, q.ID)
	s.stats.Finished[r]++
	s.ends.add(s.now)
	q.place, q.state, q.reason = nowhere, StateEnded, r
	q.tenant, q.chain, q.waitOwner, q.Draft = nil, nil, nil, q.Draft[:0]
	s.forgetPages(q)
}

// drop takes q out of the list that its place names.
func (s *Scheduler) drop(q *Sequence) {
	switch q.place {
	case queued:
		s.queue.remove(q)
	case sharing:
		s.sharing = remove(s.sharing, q)
	case preempted, returning:
		s.resume = remove(s.resume, q)
	case parked:
		s.parked = remove(s.parked, q)
	case batch:
		s.running = remove(s.running, q)
	}
}

// forgetPages gives back what q holds and has reserved; what it computed is lost to it, not to the prefix index.
func (s *Scheduler) forgetPages(q *Sequence) {
	q.table.Clear(s.pool)
	q.computed = 0
	s.unreserve(q, q.reserve)
}

func (s *Scheduler) unreserve(q *Sequence, n int) {
	q.reserve -= n
	s.reserved -= n
}

// unfork takes a choice that has not started off its leader's list, and with it the page reserved for it.
func (s *Scheduler) unfork(f *Sequence) {
	f.leader.Forks = remove(f.leader.Forks, f)
	if f.leader.reserve > 0 {
		s.unreserve(f.leader, 1)
	}
	f.leader = nil
}

// succeed lets the first choice that has not started take the place of its leader q, in every list and with all that q
// has; q becomes one of its choices.
func (s *Scheduler) succeed(q *Sequence) {
	f := q.Forks[0]
	s.withdraw(q)
	s.drop(q)
	s.count(q, -1)
	f.Forks = append(q.Forks[1:len(q.Forks):len(q.Forks)], q)
	q.Forks = nil
	f.table, q.table = q.table, f.table
	f.chain, f.computed, f.high, f.charged, f.cached = q.chain, q.computed, q.high, q.charged, q.cached
	f.turn, f.scheduled, f.back = q.turn, q.scheduled, q.back
	f.reserve, q.reserve = q.reserve, 0
	f.waitPage, f.waitOwner, f.waitHash = q.waitPage, q.waitOwner, q.waitHash
	f.stamped, f.parkedAt = q.stamped, q.parkedAt
	q.chain, q.computed, q.high, q.charged = nil, 0, 0, 0
	to := q.place
	f.place, q.place, q.state = nowhere, forking, StateWaiting
	for _, g := range f.Forks {
		g.leader = f
	}
	f.leader = nil
	s.enter(f, to)
}

// enter puts q, which is in no list, where place to says: parked if the caller parked it, and not if the caller did not.
func (s *Scheduler) enter(q *Sequence, to place) {
	switch {
	case q.parked:
		to = parked
		s.unreserve(q, q.reserve)
	case to == parked && q.turn == 0:
		to = queued
	case to == parked && len(q.table.Pages()) > 0:
		to = returning
	case to == parked:
		to = preempted
	}
	s.put(q, to)
	switch to {
	case queued:
		s.queue.push(q)
	case sharing:
		s.sharing = append(s.sharing, q)
	case preempted, returning:
		s.resume = insert(s.resume, q)
	case parked:
		s.parked = append(s.parked, q)
	case batch:
		s.running = append(s.running, q)
		s.announce(q)
	}
}
