package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/paddock-go/paddock/metrics"
)

// reader reads one runner's numbers into the history.
type reader struct {
	client  *client
	history *history
	to      *target

	slots  [numGrains]int64 // how many slots to ask for at once: less where the answers are too long
	events int
	kept   fingerprint
	note   string // what of the newest look was not kept, and why
}

// maxRounds is how many rounds of questions one reading has. A round that doesn't bring the reader up to now is followed by the next; what
// is left after these waits for the next reading.
const maxRounds = 64

// wholeHistory is more slots than any grain keeps.
const wholeHistory = 1 << 20

func newReader(c *client, h *history, to *target) *reader {
	return &reader{client: c, history: h, to: to, slots: [numGrains]int64{wholeHistory, wholeHistory, wholeHistory}, events: metrics.DefaultEventPage}
}

// reading is what one reading brought besides what the history has of it.
type reading struct {
	stats *metrics.Stats // nil: the runner keeps no metrics
	run   metrics.Run
	at    int64  // up to when it was read, by the runner's clock, Unix milliseconds
	note  string // what of it was not kept, and why
}

// errRestarted says that another process answered in the middle of a round.
var errRestarted = errors.New("the runner was restarted while it was read")

// read brings the history up to now.
func (r *reader) read(ctx context.Context) (*reading, error) {
	run := ""
	for range maxRounds {
		got, l, err := r.ask(ctx)
		if errors.Is(err, errTooMuch) && r.smaller() {
			continue
		}
		if err != nil {
			return got, err
		}
		if l == nil { // it keeps neither rollups nor events
			return got, nil
		}
		if run != "" && run != l.run.ID {
			return got, errRestarted // one reading makes one run at most: what is a new one each time mustn't fill the history
		}
		run = l.run.ID
		if !l.full || l.more || !r.kept.same(l, r.history.now()) {
			err := r.history.take(l)
			r.note = ""
			if errors.Is(err, errNoEvents) {
				r.note, l.more, err = err.Error(), false, nil
			}
			if err != nil {
				return got, err
			}
			r.kept.remember(l, r.history.now())
		}
		if l.full && !l.more {
			r.larger()
			got.note = r.note
			return got, nil
		}
	}
	return nil, fmt.Errorf("it isn't read up to now after %d rounds: the next reading goes on", maxRounds)
}

// smaller halves what is asked for at once; false: it can't be less.
func (r *reader) smaller() bool {
	less := false
	for g := range r.slots {
		if r.slots[g] == wholeHistory {
			r.slots[g] = grains[g].keep
		}
		if r.slots[g] > 2 {
			r.slots[g], less = r.slots[g]/2, true
		}
	}
	if r.events > 1 {
		r.events, less = r.events/2, true
	}
	return less
}

func (r *reader) larger() {
	for g := range r.slots {
		r.slots[g] = min(2*r.slots[g], wholeHistory)
	}
	r.events = min(2*r.events, metrics.DefaultEventPage)
}

// ask makes one round of questions. All answers are of one run, or there is an error.
func (r *reader) ask(ctx context.Context) (*reading, *look, error) {
	got := &reading{at: r.history.now().UnixMilli()}
	body, err := r.client.get(ctx, r.to, "/api/stats", nil, maxStatsBytes)
	switch {
	case err == nil:
		if got.stats, err = parseStats(body); err != nil {
			return nil, nil, wrong("/api/stats", err)
		}
		got.run, got.at = got.stats.Run, got.stats.TimeMS
		if err := r.ahead(got.run, got.at); err != nil {
			return nil, nil, err
		}
	case !refused(err):
		return nil, nil, err
	}
	l := &look{runner: r.to.id, at: got.at, full: true}
	var rec runRecord
	if got.stats != nil {
		l.run = got.run
		if rec, err = r.history.run(got.run.ID); err != nil {
			return got, nil, err
		}
		for g := range grains {
			if err := r.askRollups(ctx, l, &rec, g); err != nil {
				return got, nil, err
			}
		}
	}
	if err := r.askEvents(ctx, l, &rec); err != nil {
		return got, nil, err
	}
	got.run = l.run
	if l.run.ID == "" {
		return got, nil, nil
	}
	return got, l, nil
}

// maxAhead is how far a runner's clock may be before the manager's. What lies further would be the newest for ever.
const maxAhead = 24 * time.Hour

// ahead says that times of an answer are in the future.
func (r *reader) ahead(run metrics.Run, ms int64) error {
	if ms = max(ms, int64(run.Start*1000)); ms > r.history.now().Add(maxAhead).UnixMilli() {
		return fmt.Errorf("its clock says %s, more than a day ahead of this machine's: it isn't read", time.UnixMilli(ms).UTC().Format(time.RFC3339))
	}
	return nil
}

// wrong says which answer is malformed.
func wrong(path string, err error) error {
	if errors.Is(err, errTooMuch) {
		return err
	}
	return fmt.Errorf("its answer to %s is malformed: %w", path, err)
}

// askRollups asks for the slots from the first one on that may have changed.
func (r *reader) askRollups(ctx context.Context, l *look, rec *runRecord, g int) error {
	step := grains[g].step
	from := max(rec.Open[g], grains[g].oldest(l.at/1000)-rec.Shift, 0)
	from -= from % step
	q := url.Values{"from": {strconv.FormatInt(max(0, from+rec.Shift), 10)}, "step": {grains[g].name}}
	to := int64(0)
	if r.slots[g] < wholeHistory {
		to = from + max(2, r.slots[g])*step
		q.Set("to", strconv.FormatInt(max(1, to+rec.Shift), 10))
	}
	body, err := r.client.get(ctx, r.to, "/api/rollups", q, maxRollupBytes)
	if clockSetBack(err) {
		// What is asked for lies ahead of the runner's time now: its last hour tells by how much that was moved.
		q.Del("from")
		q.Del("to")
		body, err = r.client.get(ctx, r.to, "/api/rollups", q, maxRollupBytes)
	}
	if err != nil {
		return err
	}
	a, err := parseRollups(body, &grains[g])
	if err != nil {
		return wrong("/api/rollups", err)
	}
	if a.run != l.run {
		return errRestarted
	}
	if err := r.ahead(a.run, (a.to+a.shift-step)*1000); err != nil {
		return err
	}
	if a.shift != rec.Shift && rec.Open[g] != 0 {
		a.from, a.to, a.puts = 0, 0, nil // it was asked for other slots than were meant: only the shift is taken
		l.full = false
	} else if to != 0 && a.to >= to {
		l.full = false
	}
	l.rollups[g] = a
	return nil
}

// clockSetBack tells whether a runner refused a range that is all to come.
func clockSetBack(err error) bool {
	var s *statusError
	return errors.As(err, &s) && s.status == http.StatusBadRequest
}

func (r *reader) askEvents(ctx context.Context, l *look, rec *runRecord) error {
	q := url.Values{"max": {strconv.Itoa(r.events)}}
	since, first := rec.Next, !rec.Events
	if !first {
		q.Set("since", strconv.FormatUint(since, 10))
	}
	body, err := r.client.get(ctx, r.to, "/api/events", q, maxEventBytes)
	if refused(err) {
		return nil // it keeps none
	}
	if err != nil {
		return err
	}
	a, err := parseEvents(body, since, first, r.events)
	if l.run.ID == "" && err == nil {
		// Without metrics only events tell the run, and how far it has been read.
		l.run = a.run
		if err := r.ahead(a.run, 0); err != nil {
			return err
		}
		if *rec, err = r.history.run(a.run.ID); err == nil && rec.Events {
			return r.askEvents(ctx, l, rec)
		}
	}
	if err != nil {
		return wrong("/api/events", err)
	}
	if a.run != l.run {
		return errRestarted
	}
	l.more = len(a.puts) == r.events
	l.events = a
	return nil
}

// fingerprint is what was last stored: a look that says the same again isn't stored again within keepFor, so that an idle runner makes no
// disk busy. What a crash loses of it is at most so much of "nothing happened".
type fingerprint struct {
	run   string
	sum   [32]byte
	until time.Time
}

const keepFor = 10 * time.Second

func (f *fingerprint) same(l *look, now time.Time) bool {
	return f.run == l.run.ID && now.Before(f.until) && now.After(f.until.Add(-keepFor-time.Second)) && f.sum == l.sum()
}

func (f *fingerprint) remember(l *look, now time.Time) {
	f.run, f.sum, f.until = l.run.ID, l.sum(), now.Add(keepFor)
}
