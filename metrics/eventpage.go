package metrics

import (
	"context"
	"errors"
	"math"
	"time"
)

// Run tells the recorder of one process from that of the next: numbers of events and slots of rollups are known for good by the run and
// themselves. It is in every answer, so that none can be taken for one of another process.
type Run struct {
	ID    string  `json:"run_id"`    // random; also where the service's instance id is given and stays
	Start float64 `json:"run_start"` // of the process, Unix seconds
}

// EventPage is an answer to who reads events.
type EventPage struct {
	// Next is the number to ask for next. It is below the number that was asked for where that is an earlier process's: this
	// process hasn't ended so many requests yet.
	Next uint64 `json:"next"`

	// Dropped is how many events were overwritten between the number that was asked for and the first one here: exactly what a reader
	// that asks on with Next each time has missed.
	Dropped uint64 `json:"dropped"`

	Events []Event `json:"events"` // numbered without a hole, up to Next − 1

	Run
}

// OldestEvent asks Events for the oldest event there is, whatever its number.
const OldestEvent = math.MaxUint64

// How many events a page has: by default, and at most.
const (
	DefaultEventPage = 512
	MaxEventPage     = 2048
)

// ErrNoEvents is returned by Events of a recorder that has no event ring.
var ErrNoEvents = errors.New("metrics: this recorder keeps no events; RecorderOptions.Events of 0 or more makes it keep some")

// Events returns ended requests from number since on, the oldest first: at most limit, or DefaultEventPage for limit ≤ 0, and never
// more than MaxEventPage. Where there is none yet, it waits for one, wait long at most. If ctx is done first, its error comes with the
// page. Any number of readers may read at once; none takes anything from another, and none holds up a request.
func (r *Recorder) Events(ctx context.Context, since uint64, limit int, wait time.Duration) (EventPage, error) {
	if r.events == nil {
		return EventPage{}, ErrNoEvents
	}
	if limit <= 0 {
		limit = DefaultEventPage
	}
	limit = min(limit, MaxEventPage)
	var err error
	if wait > 0 {
		if woken := r.events.waiter(since); woken != nil {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			select {
			case <-woken:
			case <-timer.C:
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
	}
	page := r.events.page(since, limit)
	page.Run = r.process.run
	return page, err
}
