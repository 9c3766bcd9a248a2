package sched

import "github.com/paddock-go/paddock/kvcache"

// verdict is what became of an attempt to put a sequence into the batch.
type verdict uint8

const (
	admitted verdict = iota
	waits            // another computes what it needs; the one behind it may try
	full             // no room; those behind it must not overtake, or a large one would never get in
)

// admit fills the batch from those who wait and are better in rank than before (nil: all of them), until one of them finds
// no room.
func (s *Scheduler) admit(before *Sequence) {
	for !s.closed {
		q := s.candidate()
		if q == nil || before != nil && q.rank().compare(before.best) > 0 {
			return
		}
		s.closed = s.try(q) == full
	}
}

// candidate is the best of those who wait: who was admitted before goes first within a priority.
func (s *Scheduler) candidate() *Sequence {
	next := s.queue.pick()
	if len(s.resume) > 0 {
		if r := s.resume[0]; next == nil || r.Priority >= next.Priority {
			return r
		}
	}
	return next
}

// recheck sends back those whose wait for a prefix is over: the page is there, its owner is gone, or, once all rows are
// given, its owner got none, so that waiting longer would not be cheaper than computing.
func (s *Scheduler) recheck(given bool) {
	for i := 0; i < len(s.sharing); {
		w := s.sharing[i]
		if s.waits(w) && (w.waitOwner.rows > 0 || !given) {
			i++
			continue
		}
		s.drop(w)
		w.waitPage, w.waitOwner = kvcache.NoPage, nil
		s.enter(w, w.back)
	}
}

// waits reports whether what w waits for is still being computed by the same owner.
func (s *Scheduler) waits(w *Sequence) bool {
	o := w.waitOwner
	return o.place == batch && s.pool.Pending(w.waitPage, kvcache.Owner(o.ID), w.waitHash)
}

// try puts q into the batch if there is a place, a page for each of its known tokens, and rows to compute.
func (s *Scheduler) try(q *Sequence) verdict {
	if len(q.table.Pages()) > 0 {
		return s.tryReturn(q)
	}
	for {
		m := s.lookup(q)
		if m.Pending != kvcache.NoPage && s.wait(q, m) {
			return waits
		}
		need := s.pool.PagesFor(q.known()) - len(m.Pages) + len(q.Forks)
		if q.turn != 0 {
			need += len(s.running) // else the first page that any of them needs would throw it out again
		}
		if lack := need + m.Free + s.reserved - s.pool.Free(); s.chunk == 0 || !s.hasPlace(q) {
			return full
		} else if lack > 0 {
			if !s.makeRoom(q, lack) {
				return full
			}
			continue // what was found may be less now
		}
		q.computed = len(m.Pages) * s.pool.PageSize()
		if !s.giveChunk(q) {
			q.computed = 0
			return full
		}
		if q.turn == 0 {
			s.prepare(q)
		}
		q.table.Adopt(s.pool, m.Pages)
		s.start(q)
		return admitted
	}
}

// wait makes q wait for the owner of the page that it needs next, if that owner computes in this step. The owner acts with
// q's rank from here, so its turn has come if it had not.
func (s *Scheduler) wait(q *Sequence, m kvcache.Match) bool {
	o := s.live[SeqID(m.Owner)]
	if o.rows == 0 && !s.giveChunk(o) {
		return false
	}
	q.waitPage, q.waitOwner, q.waitHash = m.Pending, o, q.chain[len(m.Pages)]
	q.back = q.place
	s.drop(q)
	s.enter(q, sharing)
	return true
}

// hasPlace reports whether the batch has a place for q and the choices that start with it. Of more choices than the batch
// is large, the rest comes later.
func (s *Scheduler) hasPlace(q *Sequence) bool {
	places := s.limits.MaxSequences
	for _, r := range s.running {
		places -= r.weight()
	}
	return places >= min(q.weight(), s.limits.MaxSequences)
}

// tryReturn is try for a sequence that kept its pages while it was out of the batch.
func (s *Scheduler) tryReturn(q *Sequence) verdict {
	if s.chunk == 0 || !s.hasPlace(q) {
		return full
	}
	for {
		lack := s.needs(q) + len(q.Forks) + s.reserved - s.pool.Free()
		if lack <= 0 {
			break
		}
		if !s.makeRoom(q, lack) {
			return full
		}
	}
	if !s.giveChunk(q) {
		return full
	}
	s.start(q)
	return admitted
}

// start moves q into the batch; the pages that it needs are free.
func (s *Scheduler) start(q *Sequence) {
	s.hold(q)
	q.reserve = len(q.Forks)
	s.reserved += q.reserve
	if q.place == queued {
		s.first(q)
		s.plan.Admitted = append(s.plan.Admitted, q)
	} else {
		s.drop(q)
		s.plan.Resumed = append(s.plan.Resumed, q)
	}
	q.high = max(q.high, q.computed)
	q.best = q.rank()
	s.enter(q, batch)
}

// first does what happens once in a request's life: its turn is fixed, its clock stamped, its prompt counted and charged.
func (s *Scheduler) first(q *Sequence) {
	s.queue.admitted(q)
	s.fresh--
	q.scheduled, q.cached = s.now, q.computed
	q.charged = q.known()
	q.tenant.credit -= int64(q.charged - q.cached)
	s.stats.PromptTokens += uint64(q.PromptLen)
	s.stats.PromptComputed += uint64(q.PromptLen - q.cached)
	s.stats.PromptPrefix += uint64(q.cached)
	if s.looksUp(q) {
		s.stats.PrefixQueries += uint64(q.PromptLen)
		s.stats.PrefixHits += uint64(q.cached)
	}
}

// prepare gives q a table with room for all that it may ever hold, so that decoding never allocates.
func (s *Scheduler) prepare(q *Sequence) {
	q.table = kvcache.MakeTable(min(s.pool.PagesFor(q.PromptLen+q.limit), s.pool.Pages()))
}

func (s *Scheduler) looksUp(q *Sequence) bool { return !q.NoPrefix && s.shares(q) }

// shares reports whether q's pages are of use to others.
func (s *Scheduler) shares(q *Sequence) bool { return !q.Atomic && !s.limits.NoPrefixCache }

// lookup asks the prefix index for q's known tokens.
func (s *Scheduler) lookup(q *Sequence) kvcache.Match {
	if !s.looksUp(q) {
		return kvcache.Match{Pending: kvcache.NoPage}
	}
	q.chain = s.pool.Chain(q.chain, q.seed, q.Tokens)
	return s.pool.Lookup(s.matches[:0], q.chain, q.Tokens)
}

// announce tells others which pages q computes now.
func (s *Scheduler) announce(q *Sequence) {
	if !s.shares(q) || q.due() <= 1 {
		return
	}
	size, pages := s.pool.PageSize(), q.table.Pages()
	q.chain = s.pool.Chain(q.chain, q.seed, q.Tokens)
	for i := q.computed / size; i < q.known()/size; i++ {
		s.pool.Announce(pages[i], kvcache.Owner(q.ID), s.content(q, i))
	}
}

// withdraw takes back what announce said.
func (s *Scheduler) withdraw(q *Sequence) {
	pages := q.table.Pages()
	for _, id := range pages[min(q.computed/s.pool.PageSize(), len(pages)):] {
		s.pool.Withdraw(id)
	}
}

// content is page number i of q, all of whose tokens are known, as the index files it. The pages before it are published,
// or in q's chain.
func (s *Scheduler) content(q *Sequence, i int) kvcache.Content {
	size := s.pool.PageSize()
	c := kvcache.Content{Pos: i, Parent: s.parent(q, i), Tokens: q.Tokens[i*size : (i+1)*size]}
	if i < len(q.chain) {
		c.Hash = q.chain[i]
	} else {
		c.Hash = s.pool.HashPage(c.Parent, c.Tokens)
	}
	return c
}

// parent is the hash of all tokens before page number i of q.
func (s *Scheduler) parent(q *Sequence, i int) kvcache.Hash {
	if i == 0 {
		return q.seed
	}
	if i <= len(q.chain) {
		return q.chain[i-1]
	}
	h, _ := s.pool.Published(q.table.Pages()[i-1])
	return h
}
