package metrics

import "time"

// ticker wakes a recorder up while a model is open: every second for the rollups, and every LogInterval for the StatLoggers, whose
// goroutine is another, so that one that blocks costs no slot.
type ticker struct {
	stop    chan struct{} // nil: no model is open
	logging chan struct{} // full while StatLoggers are being called: the goroutine before may still be at it
}

// tickEvery is how often the rollups look at the counters. What happens within it is counted together, so it bounds how far a request
// may stand from its slot.
const tickEvery = time.Second

const defaultLogInterval = 10 * time.Second

// opened is called with the scrape lock held, after m has joined the models.
func (r *Recorder) opened(m *Model) {
	now := r.now()
	r.advance(now) // what m counts falls into the slots that are open from now on
	r.rollups.open(m, now)
	if test := &r.opts.test; r.ticker.stop != nil || test.now != nil && !test.ticks { // where time doesn't pass by itself, the test ticks
		return
	}
	stop := make(chan struct{})
	r.ticker.stop = stop
	if r.ticker.logging == nil {
		r.ticker.logging = make(chan struct{}, 1)
	}
	interval := r.opts.LogInterval
	if interval <= 0 {
		interval = defaultLogInterval
	}
	go r.every(tickEvery, stop, func() { r.tick(r.now()) })
	go r.every(interval, stop, func() {
		select {
		case r.ticker.logging <- struct{}{}:
			defer func() { <-r.ticker.logging }()
			r.logStats()
		case <-stop:
		}
	})
}

// closing is called with the scrape lock held, after m has left the models. The goroutines end by themselves: one of them may be
// waiting for this lock, or be in a caller's StatLogger, which may close models.
func (r *Recorder) closing(m *Model) {
	r.advance(r.now())
	r.rollups.close(m)
	if len(r.models) == 0 && r.ticker.stop != nil {
		close(r.ticker.stop)
		r.ticker.stop = nil
	}
}

// tick looks at the counters.
func (r *Recorder) tick(now time.Duration) {
	r.scrape.Lock()
	defer r.scrape.Unlock()
	r.advance(now)
}

// every calls f at each multiple of an interval, until stop is closed. Multiples that f's own time has made it miss are left out.
func (r *Recorder) every(interval time.Duration, stop <-chan struct{}, f func()) {
	timer := time.NewTimer(untilNext(r.wall(r.now()), interval))
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		r.contain("ticker", f)
		timer.Reset(untilNext(r.wall(r.now()), interval))
	}
}

// untilNext is the time from t to the next multiple of an interval.
func untilNext(t time.Time, interval time.Duration) time.Duration {
	return interval - time.Duration(t.UnixNano())%interval
}

// contain calls f. A panic is a fault.
func (r *Recorder) contain(where string, f func()) {
	defer r.guard(where)
	f()
}
