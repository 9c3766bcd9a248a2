package nvml

import (
	"sync"
	"time"
)

// fakeClock moves when it is told to.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[chan time.Time]time.Time // by what they fire, when
	set    chan struct{}                // receives at each timer that is set
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Unix(1e9, 0), timers: map[chan time.Time]time.Time{}, set: make(chan struct{}, 1000)}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := make(chan time.Time, 1)
	if d <= 0 {
		f <- c.now
	} else {
		c.timers[f] = c.now.Add(d)
	}
	select {
	case c.set <- struct{}{}:
	default:
	}
	return f, func() {
		c.mu.Lock()
		delete(c.timers, f)
		c.mu.Unlock()
	}
}

// Advance moves the time on, and fires what is due.
func (c *fakeClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for f, at := range c.timers {
		if !at.After(c.now) {
			f <- c.now
			delete(c.timers, f)
		}
	}
}

// next is how long it is to the next timer; false: none is set.
func (c *fakeClock) next() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first, any := time.Duration(0), false
	for _, at := range c.timers {
		if d := at.Sub(c.now); !any || d < first {
			first, any = d, true
		}
	}
	return first, any
}
