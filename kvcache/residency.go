package kvcache

import "time"

// Residency is the life of one page's content, told when the page is taken for other content. A use of a page is its
// taking (Acquire, Own, Grow) or a prefix hit on it (Adopt), not each row that reads it, and not a fork.
//
//	taken ────── hit ──── hit ─────── hit ─────── taken again
//	│                │ Gaps[0] │  Gaps[1] │   Idle   │
//	└───────────────────── Lifetime ─────────────────┘
type Residency struct {
	Lifetime time.Duration    // from being taken to being taken again
	Idle     time.Duration    // of that, since the last use
	Gaps     [3]time.Duration // between the last four hits, oldest first; the first NGaps are valid
	NGaps    int
}

// SampleAll is the rate at which the residency of every page is told.
const SampleAll = 1 << 32

// residence is what is remembered of a page's content.
type residence struct {
	sampled     bool
	birth, last time.Duration
	hits        [4]time.Duration // the newest ones, oldest first
	n           int              // of hits
}

// sampler draws which taken pages are watched. The draw is a hash of how many were taken before, so that the same calls
// sample the same pages and no pattern of requests can stay in step with it.
type sampler struct {
	rate  uint64 // of 2³²
	tell  func(Residency)
	taken uint64
	pages []residence // one a page
}

// Sample has the residency of about rate/2³² of all pages that are taken from now on told to tell, from within the call
// that takes such a page again: at SampleAll of every page, at 0 of none. tell must not call the pool. Of pages that
// are never taken again nothing is told. What an earlier call watched is forgotten. It panics if rate is above SampleAll.
func (p *Pool) Sample(rate uint64, tell func(Residency)) {
	switch {
	case rate > SampleAll:
		panic("kvcache: a sampling rate above SampleAll")
	case rate == 0 || tell == nil:
		p.sampler = nil
	default:
		p.sampler = &sampler{rate: rate, tell: tell, pages: make([]residence, p.Pages())}
	}
}

// Tick says what time it is, for Residency. Time that goes back is not believed.
func (p *Pool) Tick(now time.Duration) { p.now = max(p.now, now) }

// take ends what the page was and begins what it becomes.
func (s *sampler) take(id PageID, now time.Duration) {
	r := &s.pages[id]
	if r.sampled {
		s.tell(r.end(now))
	}
	*r = residence{sampled: mix(s.taken)>>32 < s.rate, birth: now, last: now}
	s.taken++
}

// hit notes a use of the page.
func (s *sampler) hit(id PageID, now time.Duration) {
	r := &s.pages[id]
	if !r.sampled {
		return
	}
	r.last = now
	if r.n == len(r.hits) {
		copy(r.hits[:], r.hits[1:])
		r.n--
	}
	r.hits[r.n] = now
	r.n++
}

func (r *residence) end(now time.Duration) Residency {
	t := Residency{Lifetime: now - r.birth, Idle: now - r.last, NGaps: max(0, r.n-1)}
	for i := range t.NGaps {
		t.Gaps[i] = r.hits[i+1] - r.hits[i]
	}
	return t
}

// mix spreads a counter over 64 bits: the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x = (x + 1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
