package sched

import (
	"sync/atomic"
	"time"

	"github.com/paddock-go/paddock/kvcache"
)

// Scheduler decides what each step computes. See the package comment for the order of calls. It is one goroutine's: none
// of its methods but Claim may run at the same time as another.
type Scheduler struct {
	pool   *kvcache.Pool
	limits Limits
	now    time.Duration // the latest that a caller said

	// Every live sequence is in exactly one list (see place). Ordered slices decide; the map only looks up.
	live    map[SeqID]*Sequence
	running []*Sequence // sorted by byBest at each Next
	resume  []*Sequence // by rank: preempted or kept out, first admitted earlier
	sharing []*Sequence // in the order in which they began to wait
	parked  []*Sequence // in the order in which they were parked
	queue   queue

	fresh    int           // requests that were never in the batch: what MaxQueue bounds
	waiting  [NumWaits]int // live sequences by what they wait for; WaitNone: the batch
	reserved int           // free pages set aside for shared tails: the sum of all Sequence.reserve
	draining bool

	plan   Plan
	open   bool // plan was handed out and has something to commit
	left   int  // rows of the step being planned that are not given away yet
	chunk  int  // of those, rows that prompts may still take
	given  int  // rows that prompts took
	closed bool // one of those who wait found no room in this step
	pace   pace

	claimed atomic.Bool

	stats   Stats            // the counters; gauges are filled in by Stats
	ends    endings          // for the retry hint
	matches []kvcache.PageID // scratch of lookups
}

// New makes a scheduler over a pool that nobody else uses. It panics if l.Validate finds a fault.
func New(pool *kvcache.Pool, l Limits) *Scheduler {
	if err := l.Validate(); err != nil {
		panic(err)
	}
	l = l.WithDefaults()
	return &Scheduler{
		pool:    pool,
		limits:  l,
		live:    make(map[SeqID]*Sequence),
		queue:   newQueue(l.MaxTokens),
		pace:    newPace(l),
		matches: make([]kvcache.PageID, 0, pool.Pages()),
	}
}

// Limits are the limits in force, defaults filled in.
func (s *Scheduler) Limits() Limits { return s.limits }

// Pool is the pool that the scheduler was made with. Nothing but reading it, and Sample, is allowed.
func (s *Scheduler) Pool() *kvcache.Pool { return s.pool }

// Claim takes the scheduler for whoever is going to drive it, and reports whether it could be had: not if somebody claimed
// it before, for good. An engine claims the scheduler that it is given, since two drivers would tear it apart. Unlike the
// other methods it may be called from any goroutine.
func (s *Scheduler) Claim() bool { return s.claimed.CompareAndSwap(false, true) }

// Drain makes every further Add answer ErrDraining. Who is here already is served as before.
func (s *Scheduler) Drain() { s.draining = true }

// Idle reports whether no sequence is live.
func (s *Scheduler) Idle() bool { return len(s.live) == 0 }

// Wake is the time at which Next will end the first parked sequence, if one is parked and the clock of its stall was
// started by a Next. A caller with nothing to compute sleeps no longer than that.
func (s *Scheduler) Wake() (time.Duration, bool) {
	if s.limits.StallTimeout < 0 {
		return 0, false
	}
	at, any := time.Duration(0), false
	for _, q := range s.parked {
		if t := q.parkedAt + s.limits.StallTimeout; q.stamped && (!any || t < at) {
			at, any = t, true
		}
	}
	return at, any
}

// Stats are all counters and gauges now, a copy. It allocates nothing.
func (s *Scheduler) Stats() Stats {
	t := s.stats
	t.Pages = s.pool.Stats()
	t.Running = s.waiting[WaitNone]
	t.WaitingBy = s.waiting
	t.WaitingBy[WaitNone] = 0
	for _, n := range t.WaitingBy {
		t.Waiting += n
	}
	return t
}

// tick takes the caller's time, which never goes back.
func (s *Scheduler) tick(now time.Duration) {
	s.now = max(s.now, now)
	s.pool.Tick(s.now)
}

// endings remembers how often sequences ended lately: the best guess of when a place in the queue gets free.
type endings struct {
	last, gap time.Duration
	any       bool
}

func (e *endings) add(now time.Duration) {
	if e.any {
		e.gap += (now - e.last - e.gap) / 4
	}
	e.last, e.any = now, true
}

// hint is the wait until the next ending in whole seconds, from 1 to 60.
func (e *endings) hint() time.Duration {
	return min(max(e.gap+time.Second-1, time.Second), time.Minute).Truncate(time.Second)
}
