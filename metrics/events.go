package metrics

import (
	"sync"
	"sync/atomic"
)

// defaultEvents is how many ended requests a recorder remembers unless told otherwise.
const defaultEvents = 4096

// eventRing remembers the newest ended requests, overwriting the oldest. Requests are numbered from 0 in the order of their ends;
// number i lies in slot i mod len(slots).
//
//	        tail                     head
//	…│ gone │ oldest │ … │ newest │ next to come
//
// Its slots are made at once and hold no pointer but strings of at most maxEventText bytes, so that a ring never takes more than
//
//	4,096 · (328 bytes + 5 · 256 bytes of text) = 6.6 MB
//
// and 1.3 MB without texts. The lock is the ring's own: no scrape takes it, and a reader holds it for at most
// eventChunk copies at a time.
type eventRing struct {
	mu    sync.Mutex
	slots []event
	head  uint64
	wake  chan struct{} // closed by the next push; nil: nobody waits
	lost  lostRanges

	dropped atomic.Uint64 // events overwritten before a reader that asked for them saw them
}

// eventChunk is how many events a reader copies without letting a writer in: some 20 KB.
const eventChunk = 64

func newEventRing(n int) *eventRing {
	if n < 0 {
		return nil
	}
	if n == 0 {
		n = defaultEvents
	}
	return &eventRing{slots: make([]event, n)}
}

// push adds an ended request. It allocates nothing.
func (e *eventRing) push(r *Recorder, m *Model, rec *Record) {
	if e == nil {
		return
	}
	var ev event
	ev.fill(m, rec)
	ev.endMS = r.wall(rec.Finished).UnixMilli()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.slots[e.head%uint64(len(e.slots))] = ev
	e.head++
	if e.wake != nil {
		close(e.wake)
		e.wake = nil
	}
}

// tail is the number of the oldest event there is, or head. The caller holds mu.
func (e *eventRing) tail() uint64 { return e.head - min(e.head, uint64(len(e.slots))) }

// page reads from since on. Events that writers overtake while it copies end the page early: the next one counts them.
func (e *eventRing) page(since uint64, most int) EventPage {
	var chunk [eventChunk]event
	n, p := e.first(since, chunk[:min(most, eventChunk)])
	p.Events = make([]Event, 0, n)
	for n > 0 {
		from := p.Next - uint64(n)
		for i := range n {
			p.Events = append(p.Events, chunk[i].export(from+uint64(i)))
		}
		n = e.more(p.Next, chunk[:min(most-len(p.Events), eventChunk)])
		p.Next += uint64(n)
	}
	return p
}

// first copies the first chunk of a page and says what was lost before it.
func (e *eventRing) first(since uint64, chunk []event) (n int, p EventPage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	tail := e.tail()
	switch {
	case since == OldestEvent:
		since = tail
	case since > e.head: // a number of an earlier process
		return 0, EventPage{Next: e.head}
	case since < tail:
		p.Dropped = tail - since
		e.dropped.Add(e.lost.add(since, tail))
		since = tail
	}
	n = e.copy(since, chunk)
	p.Next = since + uint64(n)
	return n, p
}

// more copies a further chunk, nothing if from has been overwritten.
func (e *eventRing) more(from uint64, chunk []event) int {
	if len(chunk) == 0 {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if from < e.tail() {
		return 0
	}
	return e.copy(from, chunk)
}

// copy fills chunk with what there is from a number on. The caller holds mu and knows that the number is there or next.
func (e *eventRing) copy(from uint64, chunk []event) int {
	n := int(min(uint64(len(chunk)), e.head-from))
	at := int(from % uint64(len(e.slots)))
	k := copy(chunk[:n], e.slots[at:])
	copy(chunk[k:n], e.slots)
	return n
}

// waiter returns a channel that is closed once there is an event from since on; nil: there is one now, or there has never been a
// since like that.
func (e *eventRing) waiter(since uint64) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if since == OldestEvent && e.head > 0 || since != OldestEvent && since != e.head {
		return nil
	}
	if e.wake == nil {
		e.wake = make(chan struct{})
	}
	return e.wake
}
