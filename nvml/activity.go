package nvml

import (
	"sync"
	"time"
)

// activity is what a thread is doing in the library, for those who wait for it.
type activity struct {
	mu    sync.Mutex
	what  string // empty: nothing
	since time.Time

	quit <-chan struct{} // nil: never; closed: no further call is to be made, but to shut down
}

// over tells whether nothing more is to be asked.
func (a *activity) over() bool {
	select {
	case <-a.quit:
		return true
	default:
		return false
	}
}

// begin notes what is asked, and gives what notes its end.
func (a *activity) begin(what string, c Clock) (end func()) {
	now := c.Now()
	a.mu.Lock()
	a.what, a.since = what, now
	a.mu.Unlock()
	return a.end
}

func (a *activity) end() {
	a.mu.Lock()
	a.what = ""
	a.mu.Unlock()
}

// get tells what is being done since when.
func (a *activity) get() (what string, since time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.what, a.since
}
