package engine

import (
	"sync"
	"time"

	"github.com/paddock-go/paddock/internal/sample"
)

// entry is one token on its way from the loop to a reader: ids, no text.
type entry struct {
	id      int32
	choice  int32
	finish  FinishReason
	logprob float32
	at      time.Duration        // the end of the step that made it, on the recorder's clock
	top     []sample.Alternative // this entry's own part of ring.tops; nil: none asked for
}

// ring is the bounded buffer between the loop, which never waits, and one
// reader, who may. Before a sequence runs it out of room it is parked: a step
// adds at most `need` entries, so a ring with less free than that takes no more.
type ring struct {
	mu      sync.Mutex
	entries []entry
	head, n int
	need    int   // most entries that one step adds
	full    bool  // the loop parked the request for want of room
	err     error // why the request ended early; after the entries
	ended   bool  // nothing more comes

	wake chan struct{} // one slot: there is something to see
}

// newRing makes a ring for steps of at most need entries, each with tops
// alternatives.
func newRing(need, tops int) *ring {
	size := 64
	for size < 4*need {
		size *= 2
	}
	r := &ring{entries: make([]entry, size), need: need, wake: make(chan struct{}, 1)}
	if tops > 0 {
		all := make([]sample.Alternative, size*tops)
		for i := range r.entries {
			r.entries[i].top = all[i*tops : (i+1)*tops : (i+1)*tops]
		}
	}
	return r
}

// push adds one entry and returns whether the ring has become too full for
// another step. Only the loop calls it, and only when the ring is not full.
func (r *ring) push(e entry) (full bool) {
	r.mu.Lock()
	at := &r.entries[(r.head+r.n)%len(r.entries)]
	copy(at.top, e.top)
	e.top = at.top
	*at = e
	r.n++
	if len(r.entries)-r.n < r.need {
		r.full = true
	}
	full = r.full
	r.mu.Unlock()
	r.signal()
	return full
}

// end says that nothing more comes; err is nil where every choice finished.
func (r *ring) end(err error) {
	r.mu.Lock()
	if !r.ended {
		r.ended, r.err = true, err
	}
	r.mu.Unlock()
	r.signal()
}

func (r *ring) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// pop takes the oldest entry. resumed tells that the ring was full and has room
// again, so that the request may be unparked. The entry's alternatives are copied
// to top, since the slot is free from now on.
func (r *ring) pop(top []sample.Alternative) (e entry, ok, resumed, ended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == 0 {
		return entry{}, false, false, r.ended, r.err
	}
	e = r.entries[r.head]
	copy(top, e.top)
	e.top = top[:min(len(top), len(e.top))]
	r.head = (r.head + 1) % len(r.entries)
	r.n--
	if r.full && len(r.entries)-r.n >= 2*r.need {
		r.full, resumed = false, true
	}
	return e, true, resumed, false, nil
}

// drop empties the ring: its reader has gone.
func (r *ring) drop() {
	r.mu.Lock()
	r.n = 0
	r.mu.Unlock()
}

// empty tells whether nothing waits.
func (r *ring) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n == 0
}
