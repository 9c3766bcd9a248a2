package engine

import (
	"errors"
	"fmt"
	"sort"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/kvcache"
	"github.com/paddock-go/paddock/sched"
)

// recordBytes is about what scheduler and cache keep of a page, beside its content.
const recordBytes = 200

// mostPages bounds the default number of pages: the context that a file states
// must not decide alone how much is kept of them.
const mostPages = 1 << 20

// room is the memory that an engine will take, known before any of it is.
type room struct {
	limits backend.Limits
	sched  sched.Limits // of the scheduler to make; where the caller brings one, nothing

	weights, load, kv, scratch int64
	available                  int64
	known                      bool // what is available; else it is a guess

	contextWhy, pagesWhy string
}

// memory is what is available, and whether that is known.
func (o *Options) memory() (int64, bool) {
	if o.available != nil {
		return o.available()
	}
	return availableMemory()
}

// plan settles the context and the limits of a runner, and refuses what does not
// fit. load is what loading takes beside the weights.
func (e *Engine) plan(o Options, sizes backend.Sizes, load int64) (*room, error) {
	r := &room{weights: sizes.WeightBytes(), load: load}
	if r.available, r.known = o.memory(); !r.known {
		r.available = assumedMemory
	}
	var context int
	context, r.contextWhy = e.longest(o)
	r.limits, r.sched = e.limits(o, context)
	if r.limits.Context < context {
		context, r.contextWhy = r.limits.Context, "a text is one step, and Limits.MaxTokens is the most that a step takes"
	}
	if o.Scheduler != nil {
		if got := o.Scheduler.Pool().PageSize(); got != pageSize {
			return nil, &OptionsError{fmt.Errorf("the pool of Scheduler has pages of %d tokens, must be %d", got, pageSize)}
		}
	} else {
		r.limits.Pages, r.pagesWhy = e.pages(o, r, sizes)
	}
	r.kv, r.scratch = e.runnerBytes(sizes, r.limits)
	needed := &MemoryError{Weights: r.weights, KV: r.kv, Scratch: r.scratch, Load: load, Available: r.available, Pages: r.limits.Pages, Context: context, KVType: r.limits.KVType}
	if r.known && needed.Needed() > r.available {
		e.fit(o, sizes, r, needed)
		return nil, needed
	}
	if r.limits.Pages > kvcache.MaxPages {
		return nil, &OptionsError{fmt.Errorf("a context of %d tokens takes %d KV pages, the most there can be are %d; set MaxContext", context, r.limits.Pages, kvcache.MaxPages)}
	}
	e.context, e.contextWhy = context, r.contextWhy
	e.window = min(r.limits.Seqs, queueOf(o, o.Scheduler))
	return r, nil
}

// longest is the longest context, and what set it.
func (e *Engine) longest(o Options) (int, string) {
	context, why := e.context, e.contextWhy
	if s := o.Scheduler; s != nil {
		if most := s.Limits().MaxContext; most > 0 && most < context {
			return most, "the Scheduler's Limits.MaxContext"
		}
	} else if most := o.Limits.MaxContext; most > 0 && most < context {
		return most, "Limits.MaxContext"
	}
	return context, why
}

// limits are a runner's for a context, without pages if those are to be chosen, and
// those of the scheduler to make.
func (e *Engine) limits(o Options, context int) (backend.Limits, sched.Limits) {
	l := backend.Limits{PageSize: pageSize, Context: context, KVType: o.KVType}
	if e.pooled.atomic { // see backend.KVType.For
		l.KVType = KVF32
	}
	own := o.Limits
	if s := o.Scheduler; s != nil {
		sl := s.Limits()
		l.Pages, l.Rows, l.Seqs = s.Pool().Pages(), sl.MaxTokens, sl.MaxSequences
	} else {
		if e.pooled.atomic && own.MaxTokens == 0 { // a sequence is one step
			own.MaxTokens = max(sched.DefaultMaxTokens, own.MaxSequences, context)
		}
		own.MaxContext = context
		d := own.WithDefaults()
		l.Rows, l.Seqs = d.MaxTokens, d.MaxSequences
	}
	if e.pooled.atomic {
		l.Context = min(context, l.Rows)
	}
	l.LogitRows = l.Seqs + min(l.Seqs*e.spec.NGram, draftRows)
	return l, own
}

// pages is the number of KV pages to make, and why: as asked, or full contexts for
// all sequences as far as memory goes, and one full context at least.
func (e *Engine) pages(o Options, r *room, sizes backend.Sizes) (int, string) {
	if o.KVPages > 0 {
		return o.KVPages, "Options.KVPages"
	}
	l := r.limits
	context := pagesOf(l.Context)
	if e.pooled.atomic { // nothing is kept from one step to the next
		return max(context, l.Rows/pageSize+l.Seqs), "a step's tokens: nothing is kept from one to the next"
	}
	perPage, scratch := e.perPage(sizes, l)
	left := max(r.available-backend.Sum(r.weights, scratch), 0)
	share, part := kvShare, "half"
	if o.ownMemory {
		share, part = ownKVShare, "nine tenths"
	}
	fit := int(min(share*float64(left)/float64(max(perPage, 1)), mostPages))
	all := min(backend.Product(int64(l.Seqs), int64(context)), mostPages)
	switch {
	case fit <= context:
		return context, fmt.Sprintf("one full context; %s of the %s that weights and scratch leave would hold %d", part, size(left), fit)
	case int64(fit) < all:
		return fit, fmt.Sprintf("%s of the %s that weights and scratch leave", part, size(left))
	case all == mostPages:
		return mostPages, "the most that is made unasked"
	}
	return int(all), fmt.Sprintf("a full context for each of %d sequences", l.Seqs)
}

// pagesOf is how many pages a context takes.
func pagesOf(context int) int { return (context-1)/pageSize + 1 }

// perPage is what a page takes, and the scratch beside the pages.
func (e *Engine) perPage(sizes backend.Sizes, l backend.Limits) (page, scratch int64) {
	l.Pages = 1
	return e.runnerBytes(sizes, l)
}

// runnerBytes is what a runner takes, with the engine's own part.
func (e *Engine) runnerBytes(sizes backend.Sizes, l backend.Limits) (kv, scratch int64) {
	kv, scratch = sizes.RunnerBytes(l)
	return backend.Sum(kv, backend.Product(int64(l.Pages), recordBytes)), backend.Sum(scratch, e.logitBytes(l))
}

// logitBytes is the engine's copy of the rows of output.
func (e *Engine) logitBytes(l backend.Limits) int64 {
	return backend.Product(4, int64(l.LogitRows), int64(e.width()))
}

// fit finds what would fit in place of what does not.
func (e *Engine) fit(o Options, sizes backend.Sizes, r *room, m *MemoryError) {
	left := m.Available - m.Weights
	if left <= 0 || m.Load > left {
		return
	}
	fits := func(l backend.Limits) bool {
		kv, scratch := e.runnerBytes(sizes, l)
		return backend.Sum(kv, scratch) <= left
	}
	if !e.pooled.atomic {
		for _, kv := range backend.KVTypes() {
			l := r.limits
			l.KVType = kv
			if c, ok := sizes.(backend.LimitChecker); ok && c.CheckLimits(l) != nil {
				continue // not for this device
			}
			if size, _ := e.runnerBytes(sizes, l); size < m.KV && fits(l) {
				m.FitKVTypes = append(m.FitKVTypes, kv)
			}
		}
		m.FitPages = most(m.Pages, func(n int) bool {
			l := r.limits
			l.Pages = n
			return fits(l)
		})
	}
	if o.KVPages > 0 || o.Scheduler != nil {
		return // the pages are the caller's, whatever the context
	}
	m.FitContext = most(m.Context, func(n int) bool {
		l, _ := e.limits(o, n)
		l.Pages = pagesOf(n)
		if e.pooled.atomic {
			l.Pages = max(l.Pages, l.Rows/pageSize+l.Seqs)
		}
		return fits(l)
	})
}

// most is the largest number up to n for which ok holds, of those from 1 on it being
// true up to some number and not beyond; 0: for none.
func most(n int, ok func(int) bool) int {
	return sort.Search(n, func(i int) bool { return !ok(i + 1) })
}

// scheduler returns the caller's scheduler, claimed, or a new one.
func (e *Engine) scheduler(o Options, r *room) (*sched.Scheduler, error) {
	s := o.Scheduler
	if s == nil {
		pool, err := kvcache.New(r.limits.Pages, pageSize)
		if err != nil {
			return nil, &OptionsError{err}
		}
		s = sched.New(pool, r.sched)
	}
	if !s.Claim() || !s.Idle() {
		return nil, &OptionsError{errors.New("the Scheduler is in use already; make one for each engine")}
	}
	return s, nil
}
