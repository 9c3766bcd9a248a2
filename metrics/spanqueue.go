package metrics

import (
	"context"
	"fmt"
	"sync"
)

// maxSpans is how many ended requests wait for their spans to be ended at most, beside as many that are being seen to: together
// under a megabyte.
const maxSpans = 1024

// spanQueue ends spans in the order in which their requests ended, on a goroutine that is there only while one waits. What a tracer's
// exporter does in End, be it to block, thus holds up no engine. A span that finds the queue full is given up and never ended, since
// ending it is what may block; each is a fault.
type spanQueue struct {
	mu    sync.Mutex // held for a copy; no scrape takes it
	queue []spanEnd
	free  []spanEnd     // what queue was before, emptied
	done  chan struct{} // closed when the goroutine has left; nil: there is none
}

// push hands e over. It doesn't wait for any span.
func (q *spanQueue) push(r *Recorder, e spanEnd) {
	q.mu.Lock()
	full := len(q.queue) >= maxSpans
	if !full {
		q.queue = append(q.queue, e)
		if q.done == nil {
			q.done = make(chan struct{})
			go q.work(r, q.done)
		}
	}
	q.mu.Unlock()
	if full {
		r.fault("span", fmt.Errorf("%d ended requests wait for the tracer to take their spans; one was given up", maxSpans))
	}
}

// work ends spans until none waits.
func (q *spanQueue) work(r *Recorder, done chan struct{}) {
	defer close(done)
	for {
		q.mu.Lock()
		batch := q.queue
		if len(batch) == 0 {
			q.done = nil
			q.mu.Unlock()
			return
		}
		q.queue, q.free = q.free[:0], nil
		q.mu.Unlock()
		for i := range batch {
			r.endOne(&batch[i])
			batch[i] = spanEnd{} // an exporter may hold the span for long, this list must not
		}
		q.mu.Lock()
		q.free = batch
		q.mu.Unlock()
	}
}

func (r *Recorder) endOne(e *spanEnd) {
	defer r.guard("span")
	e.end()
}

// FlushSpans waits until the spans of all requests that have ended are ended, or until ctx is: to be called before a tracer's provider is
// shut down. Any goroutine may call it.
func (r *Recorder) FlushSpans(ctx context.Context) error {
	for {
		r.spans.mu.Lock()
		done := r.spans.done
		r.spans.mu.Unlock()
		if done == nil {
			return nil
		}
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
