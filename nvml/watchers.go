package nvml

import "sync"

// watchers are the channels of those who watch. Each holds one reading, the newest.
type watchers struct {
	wake chan struct{} // receives when the first comes

	mu     sync.Mutex
	closed bool
	chans  map[chan Reading]struct{}
}

func (w *watchers) add(now Reading) (<-chan Reading, func()) {
	c := make(chan Reading, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		close(c)
		return c, func() {}
	}
	if !now.Time.IsZero() {
		c <- now
	}
	if w.chans == nil {
		w.chans = map[chan Reading]struct{}{}
	}
	w.chans[c] = struct{}{}
	if len(w.chans) == 1 {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return c, func() { w.remove(c) }
}

func (w *watchers) remove(c chan Reading) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.chans[c]; ok {
		delete(w.chans, c)
		close(c)
	}
}

func (w *watchers) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.chans) > 0
}

// send puts r in the place of what was not read yet.
func (w *watchers) send(r Reading) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.chans {
		select {
		case <-c:
		default:
		}
		c <- r
	}
}

func (w *watchers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for c := range w.chans {
		close(c)
	}
	w.chans = nil
}
