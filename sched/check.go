package sched

import (
	"fmt"
	"slices"

	"github.com/paddock-go/paddock/kvcache"
)

// Check verifies the books: every live sequence is in exactly the list that its place names, the gauges and the identity
// of Stats hold, every page has as many holders as tables list it, what is reserved is free, what is computed is
// published, and the pool's own Check. It reports the first contradiction, costs a pass over everything, and is for
// tests and tools. Call it where Cancel is allowed.
func (s *Scheduler) Check() error {
	seen := make(map[*Sequence]place)
	for _, l := range []struct {
		places []place
		list   []*Sequence
	}{
		{[]place{batch}, s.running}, {[]place{preempted, returning}, s.resume},
		{[]place{sharing}, s.sharing}, {[]place{parked}, s.parked}, {[]place{queued}, s.queue.all()},
	} {
		for _, q := range l.list {
			if err := s.checkPlace(q, l.places, seen); err != nil {
				return err
			}
			for _, f := range q.Forks {
				if f.leader != q {
					return fmt.Errorf("sched: fork %d of %d has another leader", f.ID, q.ID)
				}
				if err := s.checkPlace(f, []place{forking}, seen); err != nil {
					return err
				}
			}
		}
	}
	if len(seen) != len(s.live) {
		return fmt.Errorf("sched: %d sequences are in lists, %d are live", len(seen), len(s.live))
	}
	if !slices.IsSortedFunc(s.resume, byRank) {
		return fmt.Errorf("sched: those who come back are not in the order of their ranks")
	}
	if err := s.checkBooks(seen); err != nil {
		return err
	}
	if err := s.checkPages(); err != nil {
		return err
	}
	if err := s.queue.check(); err != nil {
		return err
	}
	return s.pool.Check()
}

func (s *Scheduler) checkPlace(q *Sequence, want []place, seen map[*Sequence]place) error {
	if _, ok := seen[q]; ok {
		return fmt.Errorf("sched: sequence %d is in two lists", q.ID)
	}
	seen[q] = q.place
	if !slices.Contains(want, q.place) {
		return fmt.Errorf("sched: sequence %d is in the list of place %v but says %d", q.ID, want, q.place)
	}
	if s.live[q.ID] != q {
		return fmt.Errorf("sched: sequence %d is in a list but not live", q.ID)
	}
	if (q.place == batch) != (q.state == StateRunning) || q.state == StateNew || q.state == StateEnded {
		return fmt.Errorf("sched: sequence %d at place %d is %s", q.ID, q.place, q.state)
	}
	if q.parked != (q.place == parked) && q.place != forking {
		return fmt.Errorf("sched: sequence %d is parked: %v, at place %d", q.ID, q.parked, q.place)
	}
	return nil
}

// checkBooks compares the gauges with a count by hand.
func (s *Scheduler) checkBooks(seen map[*Sequence]place) error {
	var by [NumWaits]int
	fresh, reserved := 0, 0
	for q := range seen {
		by[q.wait()]++
		reserved += q.reserve
		if q.turn == 0 && q.place != forking {
			fresh++
		}
		if q.reserve != 0 && (q.place != batch || q.reserve != 1 && q.reserve != len(q.Forks)) {
			return fmt.Errorf("sched: sequence %d at place %d reserves %d pages for %d forks", q.ID, q.place, q.reserve, len(q.Forks))
		}
		if q.rows != 0 && !s.open || q.outcome != 0 {
			return fmt.Errorf("sched: sequence %d has rows or an outcome outside a step", q.ID)
		}
	}
	if by != s.waiting {
		return fmt.Errorf("sched: sequences wait by reason %v, the gauges say %v", by, s.waiting)
	}
	if fresh != s.fresh {
		return fmt.Errorf("sched: %d requests were never in the batch, the count says %d", fresh, s.fresh)
	}
	if reserved != s.reserved || reserved > s.pool.Free() {
		return fmt.Errorf("sched: %d pages are reserved, the count says %d, %d are free", reserved, s.reserved, s.pool.Free())
	}
	if len(s.running) > s.limits.MaxSequences {
		return fmt.Errorf("sched: %d sequences in the batch, at most %d may be", len(s.running), s.limits.MaxSequences)
	}
	t := s.Stats()
	if t.Admitted != uint64(t.Running+t.Waiting)+t.FinishedAll() {
		return fmt.Errorf("sched: admitted %d is not running %d + waiting %d + finished %d", t.Admitted, t.Running, t.Waiting, t.FinishedAll())
	}
	if t.PromptTokens != t.PromptComputed+t.PromptPrefix {
		return fmt.Errorf("sched: %d prompt tokens are not %d computed + %d cached", t.PromptTokens, t.PromptComputed, t.PromptPrefix)
	}
	if len(s.live) == 0 && t.Pages.Used != 0 {
		return fmt.Errorf("sched: nobody is here and %d pages are used", t.Pages.Used)
	}
	return nil
}

// checkPages compares every sequence's progress with its table, and all tables with the pool's reference counts.
func (s *Scheduler) checkPages() error {
	refs := make([]int, s.pool.Pages())
	size := s.pool.PageSize()
	for _, q := range s.live {
		pages := q.table.Pages()
		if len(pages) > 0 && q.place != batch && q.place != parked && q.place != returning {
			return fmt.Errorf("sched: sequence %d holds %d pages at place %d", q.ID, len(pages), q.place)
		}
		if q.computed > q.known() || len(pages) < s.pool.PagesFor(q.computed) || len(pages) > s.pool.PagesFor(q.known())+s.pool.PagesFor(q.drafts) {
			return fmt.Errorf("sched: sequence %d has computed %d of %d tokens in %d pages", q.ID, q.computed, q.known(), len(pages))
		}
		if q.place == batch && q.due() < 1 {
			return fmt.Errorf("sched: sequence %d is in the batch with nothing due", q.ID)
		}
		if q.computed > q.high || q.place != forking && q.turn != 0 && q.high > q.charged {
			return fmt.Errorf("sched: sequence %d has computed %d, at most %d, charged %d", q.ID, q.computed, q.high, q.charged)
		}
		for i, id := range pages {
			refs[id]++
			if _, ok := s.pool.Published(id); ok != (i < q.computed/size) && s.shares(q) {
				return fmt.Errorf("sched: page %d, number %d of sequence %d with %d computed, is published: %v", id, i, q.ID, q.computed, ok)
			}
		}
	}
	for id, n := range refs {
		if got := s.pool.Refs(kvcache.PageID(id)); got != n {
			return fmt.Errorf("sched: page %d is in %d tables but has %d holders", id, n, got)
		}
	}
	return nil
}

// all lists who is queued, for Check.
func (u *queue) all() []*Sequence {
	var list []*Sequence
	for _, t := range u.ring {
		list = append(list, t.waiting...)
	}
	return list
}

func (u *queue) check() error {
	if len(u.ring) != len(u.names) {
		return fmt.Errorf("sched: %d tenants in the ring, %d by name", len(u.ring), len(u.names))
	}
	for _, t := range u.ring {
		if u.names[t.name] != t || t.live < 1 || t.live < len(t.waiting) {
			return fmt.Errorf("sched: tenant %q has %d live sequences, %d queued", t.name, t.live, len(t.waiting))
		}
		if !slices.IsSortedFunc(t.waiting, byRank) {
			return fmt.Errorf("sched: tenant %q's queue is not in the order of ranks", t.name)
		}
	}
	return nil
}
