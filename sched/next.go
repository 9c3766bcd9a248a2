package sched

import (
	"slices"
	"time"
)

// Next plans one step. The plan belongs to the scheduler and stays valid until the next Next. Unless it is Empty it must
// be committed first: Next panics if it was not. While a sequence is live that neither is parked nor
// waits for a parked one of its group, the plan is not empty.
func (s *Scheduler) Next(now time.Duration) *Plan {
	if s.open {
		panic("sched: Next before the Commit of the plan before")
	}
	s.tick(now)
	s.plan.reset()
	s.left = s.limits.MaxTokens
	s.sweep()
	s.inherit()
	slices.SortFunc(s.running, byBest)
	s.planDecodes()
	s.planPrompts()
	s.planDrafts()
	s.emit()
	s.open = !s.plan.Empty()
	return &s.plan
}

// inherit gives each running sequence the best rank among its own and those of its waiters.
func (s *Scheduler) inherit() {
	for _, q := range s.running {
		q.best = q.rank()
	}
	for _, w := range s.sharing {
		if o := w.waitOwner; s.waits(w) && w.rank().compare(o.best) < 0 {
			o.best = w.rank()
		}
	}
}

// planDecodes gives a row to every sequence with one token due, and the page for it. The best in rank goes first, so
// whoever loses pages to it has no row yet.
func (s *Scheduler) planDecodes() {
	for i := 0; i < len(s.running); {
		q := s.running[i]
		if q.due() != 1 {
			i++
			continue
		}
		if !s.room(q) {
			continue // q itself lost its pages, and its place in the list with them
		}
		q.rows = 1
		s.left--
		i++
	}
}

// planPrompts gives the chunk to the sequences with more than one token due, in the order of ranks: those in the batch, who
// hold their pages already, and those who wait to get in.
func (s *Scheduler) planPrompts() {
	s.chunk, s.given, s.closed = min(s.pace.chunk, s.left), 0, false
	s.recheck(false)
	for _, q := range s.running { // admission appends to the list, but only who has rows
		if q.rows == 0 {
			s.admit(q)
			s.giveChunk(q)
		}
	}
	s.recheck(true)
	s.admit(nil)
}

// giveChunk gives q prompt rows if enough are left for a chunk worth computing; the first to ask gets what there is.
func (s *Scheduler) giveChunk(q *Sequence) bool {
	n := min(q.due(), s.chunk)
	if q.Atomic {
		n = s.whole(q)
	}
	if n <= 0 || q.rows > 0 || s.given > 0 && n < min(s.limits.MinChunk, q.due()) {
		return false
	}
	q.rows = n
	s.chunk = max(0, s.chunk-n)
	s.left -= n
	s.given += n
	return true
}

// whole is the rows of a sequence that can't be cut, or 0 if they don't fit. One that is longer than the chunk goes first
// or waits for the next step.
func (s *Scheduler) whole(q *Sequence) int {
	n := q.due()
	if n > s.left || n > s.chunk && s.given > 0 {
		return 0
	}
	return n
}

// planDrafts adds rows for drafts where rows and pages are left over; nobody is preempted for a guess.
func (s *Scheduler) planDrafts() {
	size := s.pool.PageSize()
	for _, q := range s.running {
		if len(q.Draft) == 0 || q.rows != 1 || q.due() != 1 || len(q.Forks) > 0 {
			continue
		}
		pages := len(q.table.Pages()) + s.pool.Free() - s.reserved
		n := min(len(q.Draft), MaxDraft, s.left, q.limit-q.Generated()-1, pages*size-q.known())
		if n <= 0 || !q.table.Grow(s.pool, q.known()+n) {
			continue
		}
		q.drafts = n
		s.left -= n
	}
}

// emit writes the spans: those with one token due, then the prompts, each in the order of the batch.
func (s *Scheduler) emit() {
	for _, q := range s.running {
		if q.due() == 1 {
			s.span(q)
		}
	}
	for _, q := range s.running {
		if q.due() > 1 {
			s.span(q)
		}
	}
}

func (s *Scheduler) span(q *Sequence) {
	if q.rows == 0 {
		return
	}
	p := Span{Seq: q, From: q.computed, Count: q.rows + q.drafts, Drafts: q.drafts}
	if q.rows == q.due() {
		p.Logits = 1 + q.drafts
		p.Forks = len(q.Forks) > 0
	}
	s.plan.Spans = append(s.plan.Spans, p)
	s.plan.Tokens += p.Count
}
