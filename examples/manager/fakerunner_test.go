package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"

	"github.com/paddock-go/paddock/metrics"
)

// fakeRunner answers as a runner does, in plain code of its own: requests in a list, counted anew for each answer. It has a clock that
// tests move, can be set, and loses everything when it is restarted.
type fakeRunner struct {
	clock *fakeClock
	ring  uint64 // events that its ring has
	run   metrics.Run
	done  []fakeRequest // of this run
	shift int64
	base  int64 // the shift when this run began
	up    bool
	runs  int

	// asked is called before each answer; an error is what the client gets instead.
	asked func(path string) error
	// answered is told of each answer of rollups: how many requests it knew of, and where it ended.
	answered func(run string, g int, n int, to int64)
}

// fakeClock is a time that never stands still alone, and the time of day, which can be set.
type fakeClock struct{ now, set int64 } // seconds

func (c *fakeClock) wall() int64 { return c.now + c.set }

type fakeRequest struct {
	at int64 // by the clock that isn't set
	id seriesID
	n  uint64 // of tokens
}

var fakeBounds = metrics.RollupBounds{Duration: []float64{1, 2}, FirstToken: []float64{1}, PerToken: []float64{0.1, 0.2, 0.4}}

func newFakeRunner(c *fakeClock, ring uint64) *fakeRunner {
	f := &fakeRunner{clock: c, ring: ring, asked: func(string) error { return nil }, answered: func(string, int, int, int64) {}}
	f.start()
	return f
}

func (f *fakeRunner) start() {
	f.runs++
	f.run = metrics.Run{ID: fmt.Sprintf("run-%d", f.runs), Start: float64(f.clock.wall())}
	f.done, f.shift, f.up = nil, 0, true
	f.base, f.shift = f.clock.set, f.clock.set // a process begins with the time of day
}

func (f *fakeRunner) finish(id seriesID, n uint64) {
	f.done = append(f.done, fakeRequest{f.clock.now, id, n})
}

// counts are what one request adds to a slot.
func (r fakeRequest) addTo(c *metrics.RollupCounts) {
	if c.Duration.Counts == nil {
		c.Duration.Counts, c.FirstToken.Counts, c.PerToken.Counts = make([]uint64, 3), make([]uint64, 2), make([]uint64, 4)
	}
	c.Requests++
	c.Successes++
	c.PromptTokens += r.n
	c.GeneratedTokens++
	c.Duration.Counts[r.n%3]++
	c.Duration.Sum += float64(r.n)
	c.FirstToken.Counts[r.n%2]++
	c.PerToken.Counts[r.n%4]++
}

// RoundTrip makes the runner a transport.
func (f *fakeRunner) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := f.asked(req.URL.Path); err != nil {
		return nil, err
	}
	if !f.up {
		return nil, errors.New("connection refused")
	}
	w := httptest.NewRecorder()
	q := req.URL.Query()
	number := func(name string, absent int64) int64 {
		if n, err := strconv.ParseInt(q.Get(name), 10, 64); err == nil {
			return n
		}
		return absent
	}
	var answer any
	switch req.URL.Path {
	case "/api/stats":
		answer = metrics.Stats{TimeMS: f.clock.wall() * 1000, Run: f.run}
	case "/api/rollups":
		for i := range grains {
			if grains[i].name == q.Get("step") {
				answer = f.rollups(i, number("from", -1), number("to", -1))
			}
		}
	case "/api/events":
		answer = f.events(number("since", -1), number("max", 512))
	}
	if answer == nil {
		w.WriteHeader(http.StatusBadRequest)
	} else if err := json.NewEncoder(w).Encode(answer); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// rollups answers as the real ones do: the time of day moves all slots by whole tens of seconds.
func (f *fakeRunner) rollups(g int, from, to int64) any {
	if off := f.clock.set - f.shift; off > 10 || off < -10 {
		f.shift += (off + 5*sign(off)) / 10 * 10
	}
	step := grains[g].step
	last := f.clock.now + 1
	if to >= 0 {
		last = max(1, to-f.shift)
	}
	first := max(0, last-3600)
	if from >= 0 {
		first = max(0, from-f.shift)
	}
	if first >= last {
		return nil
	}
	a, b := max(first/step, f.clock.now/step-grains[g].keep-1), min((last+step-1)/step, f.clock.now/step+1)
	b = max(a, b)
	out := metrics.Rollups{From: a*step + f.shift, To: b*step + f.shift, Step: step, Shift: f.shift, Bounds: fakeBounds, Run: f.run}
	f.answered(f.run.ID, g, len(f.done), b*step)
	sums := countAll(f.done, step)
	for id, slots := range sums {
		s := metrics.RollupSeries{Operation: operations[id.op], Origin: origins[id.origin], Model: id.model}
		for n := a; n < b; n++ {
			if c := slots[n*step]; c != nil {
				s.Slots = append(s.Slots, metrics.RollupSlot{Start: n*step + f.shift, RollupCounts: *c})
			}
		}
		out.Series = append(out.Series, s)
	}
	out.Models = []metrics.RollupModel{{Model: "m", Slots: []metrics.RollupModelSlot{}}}
	return out
}

func sign(v int64) int64 {
	if v < 0 {
		return -1
	}
	return 1
}

// countAll is the naive model: every request once, in the slot of its time.
func countAll(all []fakeRequest, step int64) map[seriesID]map[int64]*metrics.RollupCounts {
	sums := map[seriesID]map[int64]*metrics.RollupCounts{}
	for _, r := range all {
		if sums[r.id] == nil {
			sums[r.id] = map[int64]*metrics.RollupCounts{}
		}
		at := r.at / step * step
		if sums[r.id][at] == nil {
			sums[r.id][at] = new(metrics.RollupCounts)
		}
		r.addTo(sums[r.id][at])
	}
	return sums
}

func (f *fakeRunner) events(since, most int64) metrics.EventPage {
	head := uint64(len(f.done))
	tail := head - min(head, f.ring)
	from := tail
	p := metrics.EventPage{Run: f.run, Events: []metrics.Event{}}
	if since >= 0 {
		if uint64(since) > head {
			p.Next = head
			return p
		}
		from = max(tail, uint64(since))
		p.Dropped = from - uint64(since)
	}
	to := min(head, from+uint64(most))
	for i := from; i < to; i++ {
		p.Events = append(p.Events, metrics.Event{Seq: i, TimeMS: f.done[i].at * 1000, InputTokens: new(int(f.done[i].n))})
	}
	p.Next = to
	return p
}
