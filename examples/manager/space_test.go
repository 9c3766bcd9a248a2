package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/paddock-go/paddock/metrics"
)

// storing is a history at a fixed time.
func storing(t *testing.T) (*history, int64) {
	t.Helper()
	now := time.Now().Unix() / 3600 * 3600
	h, err := openHistory(t.TempDir(), func() time.Time { return time.Unix(now, 0) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.close() })
	h.db.NoSync = true
	return h, now
}

// lookOf is a look at a run with some events.
func lookOf(runner, run string, at int64, events int) *look {
	l := &look{runner: runner, run: metrics.Run{ID: run, Start: float64(at - 5)}, at: at * 1000, full: true, events: &eventAnswer{next: uint64(events)}}
	for i := range events {
		l.events.puts = append(l.events.puts, put{eventKey(uint64(i)), []byte(`{"seq":1}`)})
	}
	return l
}

func kept(t *testing.T, h *history, runner string) (runs, events int) {
	t.Helper()
	err := h.view(func(tx *bbolt.Tx) error {
		return eachRun(tx, func(id string, r *runRecord) error {
			if r.Runner == runner {
				runs++
				if b, _ := runBucket(tx, bucketEvents, id, false); b != nil {
					events += b.Stats().KeyN
				}
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return runs, events
}

// TestRunsOfOne: a runner that is another process at each reading loses its own runs and events, nobody else's.
func TestRunsOfOne(t *testing.T) {
	h, now := storing(t)
	if err := h.take(lookOf("good", "g", now-86400, 7)); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if err := h.take(lookOf("bad", fmt.Sprint("b", i), now-9000+int64(i), 200)); err != nil {
			t.Fatal(err)
		}
	}
	if runs, events := kept(t, h, "bad"); runs != 40 || events != keepEvents+200 {
		t.Errorf("the other has %d runs and %d events", runs, events)
	}
	// Up to the most in one go.
	if err := h.update(func(tx *bbolt.Tx) error {
		for i := range maxRunsEach {
			if err := (&runRecord{Runner: "bad", Looked: int64(i)}).write(tx, fmt.Sprint("old", i)); err != nil {
				return err
			}
		}
		for i := range maxRuns {
			if err := (&runRecord{Runner: fmt.Sprint("other", i%60), Looked: now*1000 + 1}).write(tx, fmt.Sprint("many", i)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	before, _ := kept(t, h, "bad")
	if err := h.take(lookOf("bad", "last", now, 1)); err != nil {
		t.Fatal(err)
	}
	if runs, _ := kept(t, h, "bad"); runs != before {
		t.Errorf("it has %d runs, %d before", runs, before)
	}
	if err := h.take(lookOf("new", "n", now, 1)); err != nil {
		t.Fatal(err)
	}
	if runs, _ := kept(t, h, "bad"); runs != before-1 {
		t.Errorf("it has the most, and %d runs, %d before", runs, before)
	}
	if runs, events := kept(t, h, "good"); runs != 1 || events != 7 {
		t.Errorf("of the good one %d runs and %d events are left", runs, events)
	}
}

// TestOneRunEachReading: what is another process at each question makes one run a reading.
func TestOneRunEachReading(t *testing.T) {
	h, now := storing(t)
	f := newFakeRunner(&fakeClock{now: now - 10}, 10)
	f.asked = func(path string) error {
		if path == "/api/stats" {
			f.start()
		}
		return nil
	}
	to, err := parseTarget("http://127.0.0.1:1", "")
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(&client{&http.Client{Transport: f}}, h, to)
	r.slots = [numGrains]int64{2, 2, 2} // never all at once
	if _, err := r.read(t.Context()); !errors.Is(err, errRestarted) {
		t.Error(err)
	}
	if runs, _ := kept(t, h, to.id); runs != 1 {
		t.Errorf("%d runs", runs)
	}
}

// TestFullFile: events go first, then the runner that has the most; others are still stored.
func TestFullFile(t *testing.T) {
	h, now := storing(t)
	slots := func(runner string, n int) *look {
		l := lookOf(runner, "run-"+runner, now, 3)
		a := &rollupAnswer{run: l.run, bounds: fakeBounds, from: now - 3000, to: now}
		for i := range n {
			a.puts = append(a.puts, put{slotKey(now-3000, seriesID{0, 0, fmt.Sprint(i)}), make([]byte, 500)})
		}
		l.rollups[0] = a
		return l
	}
	if err := h.take(slots("bad", 1000)); err != nil {
		t.Fatal(err)
	}
	used := func() (n int64) {
		if err := h.view(func(tx *bbolt.Tx) error { n = h.used(tx); return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	h.most = used() * 105 / 100
	if err := h.take(slots("good", 5)); !errors.Is(err, errNoEvents) {
		t.Errorf("nearly full: %v", err)
	}
	if runs, events := kept(t, h, "good"); runs != 1 || events != 0 {
		t.Errorf("%d runs, %d events", runs, events)
	}
	if r, err := h.run("run-good"); err != nil || r.looked() != now*1000 || r.Next != 0 || r.Bytes == 0 {
		t.Errorf("%+v %v", r, err)
	}
	h.most = used() - 1
	if err := h.take(slots("bad", 2000)); !errors.As(err, new(*fullError)) {
		t.Errorf("the largest: %v", err)
	}
	if err := h.take(slots("good", 10)); !errors.Is(err, errNoEvents) {
		t.Errorf("another: %v", err)
	}
	if runs, _ := kept(t, h, "bad"); runs != 0 {
		t.Error("the largest keeps all")
	}
	if err := h.take(slots("good", 11)); err != nil {
		t.Errorf("with space again: %v", err)
	}
}

// TestClockSetBack: a gap stays one when the runner's clock is set back, before the process ends or with it.
func TestClockSetBack(t *testing.T) {
	h, now := storing(t)
	first, next := lookOf("x", "a", now-100, 0), lookOf("x", "b", now-4000, 0)
	if err := h.take(first); err != nil {
		t.Fatal(err)
	}
	set := lookOf("x", "a", now-4100, 0) // an hour and more back, and read again
	set.rollups[0] = &rollupAnswer{run: set.run, bounds: fakeBounds, shift: -4050, from: 0, to: 10}
	if err := h.take(set); err != nil {
		t.Fatal(err)
	}
	if err := h.take(next); err != nil {
		t.Fatal(err)
	}
	r, err := h.run("a")
	if err != nil || r.looked() != (now-4100)*1000 || r.until() != (now-4005)*1000+startError {
		t.Errorf("from %d to %d, %v", r.looked()/1000-now, r.until()/1000-now, err)
	}
	// Set back while nobody answered.
	if err := h.take(lookOf("x", "c", now-9000, 0)); err != nil {
		t.Fatal(err)
	}
	if r, err = h.run("b"); err != nil || r.until()-r.looked() < minGap {
		t.Errorf("from %d to %d, %v", r.looked()/1000-now, r.until()/1000-now, err)
	}
}

// TestGapUntilTheNextStart: a run may have lived on until the next one began, which may have been up to a second after the time that it says;
// a start that so comes to lie before the last reading is no clock that was set.
func TestGapUntilTheNextStart(t *testing.T) {
	h, now := storing(t)
	last := now - 100
	if err := h.take(lookOf("x", "a", last, 0)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		run, next string
		start, at int64 // of the next, milliseconds after the last reading
		until     int64 // likewise
	}{
		{"a", "b", 1200, 9000, 2200}, {"b", "c", -400, 9000, 600}, {"c", "d", 1200, 1800, 1800},
	} {
		l := lookOf("x", c.next, last, 0)
		l.at += c.at
		l.run.Start = float64(last) + float64(c.start)/1000
		if err := h.take(l); err != nil {
			t.Fatal(err)
		}
		if r, err := h.run(c.run); err != nil || r.looked() != last*1000 || r.until() != last*1000+c.until {
			t.Errorf("run %s: a gap from %d to %d, %v", c.run, r.looked()-last*1000, r.until()-last*1000, err)
		}
		last += c.at / 1000
	}
}

// TestFarFuture: a runner whose clock is far ahead is not read, and says why; so nothing of it is the newest for ever.
func TestFarFuture(t *testing.T) {
	h, now := storing(t)
	to, err := parseTarget("http://127.0.0.1:1", "")
	if err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(*fakeRunner){
		"clock": func(f *fakeRunner) { f.clock.set = 70 * 365 * 86400 },
		"start": func(f *fakeRunner) { f.run.Start = 4e9 },
		"slots": func(f *fakeRunner) {
			f.answered = func(string, int, int, int64) { f.clock.now = now + 3*86400 }
		},
	} {
		f := newFakeRunner(&fakeClock{now: now - 10}, 10)
		spoil(f)
		_, err := newReader(&client{&http.Client{Transport: f}}, h, to).read(t.Context())
		if err == nil || !strings.Contains(err.Error(), "more than a day ahead") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if runs, _ := kept(t, h, to.id); runs != 0 {
		t.Errorf("%d runs", runs)
	}
}
