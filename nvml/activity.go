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
