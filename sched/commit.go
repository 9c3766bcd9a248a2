package sched

import (
	"fmt"
	"time"
)

// Commit takes what a step gave: p is the plan of the last Next, took the time that it lasted, out one outcome for each
// sequence whose logits were wanted, in any order. It appends the kept tokens, publishes the pages that became full, cuts
// off rows of rejected drafts, starts forks, and ends what has finished. It panics if out contradicts the plan.
func (s *Scheduler) Commit(p *Plan, took time.Duration, out []Outcome) {
	if p != &s.plan || !s.open {
		if p == &s.plan && p.Empty() && len(out) == 0 {
			return
		}
		panic("sched: Commit of a plan that is not the last one of this scheduler, or was committed before")
	}
	s.open = false
	for i := range out {
		out[i].Seq.outcome = int32(i + 1)
	}
	taken := 0
	for i := range p.Spans {
		taken += s.settle(&p.Spans[i], out)
	}
	if taken != len(out) {
		for i := range out {
			if out[i].Seq.outcome != 0 {
				panic(fmt.Sprintf("sched: an outcome for sequence %d, which had no logits in this plan", out[i].Seq.ID))
			}
		}
		panic("sched: two outcomes for one sequence")
	}
	s.stats.Steps++
	s.stats.Rows += uint64(p.Tokens)
	if s.limits.MaxStepTime >= 0 && took > s.limits.MaxStepTime {
		s.stats.SlowSteps++
	}
	s.pace.observe(s.given, took)
}

// settle brings one span into the books and returns how many outcomes it used.
func (s *Scheduler) settle(p *Span, out []Outcome) int {
	q := p.Seq
	q.rows, q.drafts = 0, 0
	if p.Logits == 0 {
		s.advance(q, p.From+p.Count)
		return 0
	}
	o := claim(q, out)
	if o == nil {
		q.table.Truncate(s.pool, q.known())
		q.Draft = q.Draft[:0]
		return 0
	}
	taken := 1
	known := p.From + p.Count - p.Drafts
	if p.Forks {
		s.advance(q, known)
		taken += s.fork(q, out)
	}
	s.verify(p, o)
	q.Tokens = append(q.Tokens, o.Tokens...)
	q.table.Truncate(s.pool, q.known())
	s.advance(q, known+max(0, len(o.Tokens)-1))
	q.Draft = q.Draft[:0]
	s.finish(q, o)
	return taken
}

// claim finds the outcome for q and marks it as used.
func claim(q *Sequence, out []Outcome) *Outcome {
	if q.outcome == 0 {
		return nil
	}
	o := &out[q.outcome-1]
	q.outcome = 0
	return o
}

// verify panics on an outcome that would put rows of other tokens under q's: the caller's mistake, and one that would
// show as wrong text much later.
func (s *Scheduler) verify(p *Span, o *Outcome) {
	n := len(o.Tokens)
	if n > 1+p.Drafts || n == 0 && o.Finish == ReasonNone {
		panic(fmt.Sprintf("sched: %d tokens for sequence %d, which has logits for %d", n, p.Seq.ID, p.Logits))
	}
	for i := range n - 1 {
		if o.Tokens[i] != p.Seq.Draft[i] {
			panic(fmt.Sprintf("sched: token %d kept for sequence %d is %d, but %d was computed", i, p.Seq.ID, o.Tokens[i], p.Seq.Draft[i]))
		}
	}
	if p.Drafts > 0 {
		s.stats.Drafts++
		s.stats.DraftTokens += uint64(p.Drafts)
		s.stats.AcceptedTokens += uint64(max(0, n-1))
		p.Seq.tally.Drafted += p.Drafts
		p.Seq.tally.Accepted += max(0, n-1)
		for i := range n - 1 {
			s.stats.AcceptedPerPos[i]++
		}
	}
}

// advance says that q's tokens before to are computed: it charges them, counts what was computed before, and publishes
// the pages that they fill.
func (s *Scheduler) advance(q *Sequence, to int) {
	from := q.computed
	if to <= from {
		return
	}
	s.stats.RecomputedTokens += uint64(max(0, min(to, q.high)-from))
	q.computed, q.high = to, max(q.high, to)
	if to > q.charged {
		q.tenant.credit -= int64(to - q.charged)
		q.charged = to
	}
	if !s.shares(q) {
		return
	}
	size, pages := s.pool.PageSize(), q.table.Pages()
	for i := from / size; i < to/size; i++ {
		s.pool.Publish(pages[i], s.content(q, i))
	}
}

// finish counts the tokens that were kept and ends q if they were the last.
func (s *Scheduler) finish(q *Sequence, o *Outcome) {
	s.stats.GeneratedTokens += uint64(len(o.Tokens))
	switch {
	case o.Finish != ReasonNone:
		s.end(q, o.Finish)
	case q.Generated() >= q.limit:
		s.end(q, ReasonLength)
	}
}

// fork starts the choices of q, whose prompt is computed: each holds q's pages, the part-filled last one included, gets
// its own first token, and is on its own from here. It returns the number of outcomes used.
func (s *Scheduler) fork(q *Sequence, out []Outcome) int {
	forks := q.Forks
	reserve := min(1, q.reserve)
	s.unreserve(q, q.reserve)
	for i, f := range forks {
		o := claim(f, out)
		if o == nil {
			panic(fmt.Sprintf("sched: sequence %d has an outcome, its fork %d has none", q.ID, f.ID))
		}
		if len(o.Tokens) > 1 || len(o.Tokens) == 0 && o.Finish == ReasonNone {
			panic(fmt.Sprintf("sched: %d tokens for the fork %d, which has logits for one", len(o.Tokens), f.ID))
		}
		s.count(f, -1)
		q.Forks = forks[i+1:]
		f.place, f.leader = nowhere, nil
		f.turn, f.scheduled, f.cached = q.turn, q.scheduled, q.cached
		f.high, f.charged = q.computed, q.computed
		s.prepare(f)
		to := returning
		if len(s.running) < s.limits.MaxSequences {
			to = batch
			f.table.Fork(s.pool, &q.table)
			f.computed = q.computed
			f.reserve = reserve
			s.reserved += reserve
		}
		f.Tokens = append(f.Tokens, o.Tokens...)
		s.enter(f, to)
		s.finish(f, o)
	}
	q.Forks = nil
	return len(forks)
}
