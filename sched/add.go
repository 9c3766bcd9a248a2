package sched

import (
	"time"

	"github.com/paddock-go/paddock/kvcache"
)

// Add accepts a sequence and its Forks, all or none, to be served from the next Next on. Errors: ErrDraining, ErrInvalid,
// *ContextError and *TooLargeError (it can never be served), *QueueFullError (not now). A refused sequence is unchanged
// and may be offered again.
func (s *Scheduler) Add(now time.Duration, q *Sequence) error {
	s.tick(now)
	if s.draining {
		s.stats.Rejected.Draining++
		return ErrDraining
	}
	if err := s.valid(q); err != nil {
		return err
	}
	if q.Atomic && len(q.Tokens) > s.limits.MaxTokens {
		return s.tooLong(&ContextError{Prompt: len(q.Tokens), Limit: s.limits.MaxTokens, Pooled: true})
	}
	limit, err := s.fit(q)
	if err != nil {
		return err
	}
	if s.fresh >= s.limits.MaxQueue {
		s.stats.Rejected.QueueFull++
		return &QueueFullError{Queued: s.fresh, Max: s.limits.MaxQueue, RetryAfter: s.ends.hint()}
	}
	q.PromptLen, q.limit, q.waitPage = len(q.Tokens), limit, kvcache.NoPage
	q.seed = kvcache.Seed(q.Adapter, q.Scope)
	q.tenant = s.queue.join(q.Tenant, q.weight())
	s.live[q.ID] = q
	for _, f := range q.Forks {
		f.Tokens = append(f.Tokens[:0], q.Tokens...)
		f.PromptLen, f.MaxTokens, f.Priority, f.Tenant, f.Adapter, f.Scope = q.PromptLen, q.MaxTokens, q.Priority, q.Tenant, q.Adapter, q.Scope
		f.NoPrefix, f.Arrival = q.NoPrefix, q.Arrival
		f.limit, f.waitPage, f.seed, f.tenant = limit, kvcache.NoPage, q.seed, q.tenant
		f.leader, f.place, f.state = q, forking, StateWaiting
		s.live[f.ID] = f
	}
	s.stats.Admitted += uint64(q.weight())
	s.fresh++
	s.put(q, queued)
	s.queue.push(q)
	return nil
}

// valid finds what is wrong with the sequence itself.
func (s *Scheduler) valid(q *Sequence) error {
	switch {
	case q.state != StateNew:
		return invalid(q.ID, "it was added before (%s)", q.state)
	case s.live[q.ID] != nil:
		return invalid(q.ID, "another sequence has this id")
	case len(q.Tokens) == 0:
		return invalid(q.ID, "it has no token to begin with")
	case q.PromptLen != 0 && q.PromptLen != len(q.Tokens):
		return invalid(q.ID, "PromptLen is %d, it has %d tokens", q.PromptLen, len(q.Tokens))
	case q.MaxTokens < 0:
		return invalid(q.ID, "MaxTokens is %d", q.MaxTokens)
	case q.Pooled && (q.MaxTokens > 0 || len(q.Forks) > 0):
		return invalid(q.ID, "it is pooled, and is to generate %d tokens in %d choices", q.MaxTokens, q.weight())
	case q.Atomic && !q.Pooled:
		return invalid(q.ID, "it can't be cut, and is to generate")
	}
	for i, f := range q.Forks {
		switch {
		case f == nil || f == q || len(f.Forks) > 0 || f.state != StateNew:
			return invalid(q.ID, "its fork %d is not a fresh sequence", i)
		case s.live[f.ID] != nil || f.ID == q.ID:
			return invalid(q.ID, "the id %d of its fork %d is in use", f.ID, i)
		}
		for _, g := range q.Forks[:i] {
			if g == f || g.ID == f.ID {
				return invalid(q.ID, "the id %d is used by two of its forks", f.ID)
			}
		}
	}
	return nil
}

// tooLong counts a refusal.
func (s *Scheduler) tooLong(err *ContextError) error {
	s.stats.Rejected.ContextLength++
	return err
}

// fit returns the number of tokens to generate at most in each choice of q, or why even the idle machine can't serve
// them. The choices share the full pages of the prompt and nothing else.
func (s *Scheduler) fit(q *Sequence) (int, error) {
	prompt, want, n := len(q.Tokens), q.MaxTokens, q.weight()
	least := max(1, want) // to generate
	if q.Pooled {
		least = 0
	}
	if room := s.limits.MaxContext - prompt; s.limits.MaxContext > 0 && least > room {
		return 0, s.tooLong(&ContextError{Prompt: prompt, Max: want, Limit: s.limits.MaxContext, Pooled: q.Pooled})
	}
	size, have := s.pool.PageSize(), s.pool.Pages()
	full := prompt / size
	room := -1 // tokens to generate in each choice, as far as pages go
	if full <= have {
		room = (full+(have-full)/n)*size - prompt
	}
	if least > room {
		s.stats.Rejected.OutOfPages++
		most := min(least, 1<<40) // beyond that the number of pages says nothing more, and must not wrap
		need := full + n*(s.pool.PagesFor(prompt+most)-full)
		return 0, &TooLargeError{Need: need, Have: have, Prompt: prompt, Max: least, Choices: n}
	}
	if want > 0 || q.Pooled {
		return want, nil
	}
	if s.limits.MaxContext > 0 {
		room = min(room, s.limits.MaxContext-prompt)
	}
	return room, nil
}
