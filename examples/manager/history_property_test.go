package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"github.com/paddock-go/paddock/metrics"
)

// TestHistoryProperty: whatever the order of readings, crashes of the manager at any step, restarts of the runner, full rings, clocks that
// are set and long absences: what is stored of a run is exactly what the runner had counted at one of its answers, never before the newest
// reading that was finished; and what is missing lies in a gap.
func TestHistoryProperty(t *testing.T) {
	folder, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		w := newWorld(t, filepath.Join(folder, fmt.Sprint(n)))
		defer func() { w.h.close() }()
		steps := rapid.IntRange(5, 25).Draw(t, "steps")
		for range steps {
			w.step(t)
		}
		if w.f.up { // at last all is read
			w.finishRead(t)
		}
		w.check(t)
	})
}

// candidate is an answer of a run at a grain: what is stored may be just what it had counted, up to where it ended.
type candidate struct {
	n  int
	to int64
}

// truth is all that a run did.
type truth struct {
	done    []fakeRequest
	may     [numGrains][]candidate // the newest finished reading and what was answered since
	found   int64                  // by the clock that isn't set, when it was first asked
	base    int64                  // how far the clock was set when it began
	setWhen bool                   // its clock was set in its time
}

type world struct {
	dir            string
	clock          *fakeClock
	f              *fakeRunner
	h              *history
	r              *reader
	runs           map[string]*truth
	crash          int    // steps until the manager crashes; 0: it doesn't
	restart        int    // questions until the runner is another process; 0: it isn't
	minSet, maxSet int64  // of its clock
	begun          []byte // the file as the newest transaction found it
}

var errCrash = errors.New("crash")

func newWorld(t *rapid.T, dir string) *world {
	w := &world{dir: dir, clock: &fakeClock{now: 1_700_000_000}, runs: map[string]*truth{}}
	w.f = newFakeRunner(w.clock, uint64(rapid.IntRange(1, 30).Draw(t, "ring")))
	w.f.asked = func(string) error {
		if w.restart > 0 {
			if w.restart--; w.restart == 0 && w.f.up {
				w.truth()
				w.clock.now++
				w.f.start()
				w.f.finish(seriesID{0, 0, "m"}, 7)
				w.f.finish(seriesID{1, 2, "m"}, 8)
			}
		}
		return w.tick("ask")
	}
	w.f.answered = func(run string, g, n int, to int64) {
		tr := w.truth()
		tr.may[g] = append(tr.may[g], candidate{n, to})
	}
	w.open(t)
	return w
}

func (w *world) tick(string) error {
	if w.crash > 0 {
		if w.crash--; w.crash == 0 {
			return errCrash
		}
	}
	return nil
}

func (w *world) open(t *rapid.T) {
	h, err := openHistory(w.dir, func() time.Time { return time.Unix(w.clock.wall(), 0) })
	if err != nil {
		t.Fatal(err)
	}
	h.db.NoSync, h.at = true, func(step string) error {
		if step == "record" {
			w.begun = w.file(t)
		}
		return w.tick(step)
	}
	w.h = h
	to, err := parseTarget("http://127.0.0.1:11540", "")
	if err != nil {
		t.Fatal(err)
	}
	w.r = newReader(&client{&http.Client{Transport: w.f}}, h, to)
}

// truth is the truth of the run that is up, brought up to date.
func (w *world) truth() *truth {
	tr := w.runs[w.f.run.ID]
	if tr == nil {
		tr = &truth{found: w.clock.now, base: w.f.base}
		w.runs[w.f.run.ID] = tr
	}
	tr.done = w.f.done
	return tr
}

func (w *world) step(t *rapid.T) {
	switch op := rapid.IntRange(0, 19).Draw(t, "op"); {
	case op < 6:
		w.clock.now += int64(rapid.IntRange(1, 25).Draw(t, "seconds"))
	case op < 7:
		w.clock.now += int64(rapid.SampledFrom([]int{400, 4000, 9000, 100_000, 700_000}).Draw(t, "long"))
	case op < 12:
		if w.f.up {
			for range rapid.IntRange(1, 12).Draw(t, "requests") {
				w.f.finish(seriesID{uint8(rapid.IntRange(0, 1).Draw(t, "op")), uint8(rapid.IntRange(0, 2).Draw(t, "origin")), "m"}, uint64(rapid.IntRange(0, 99).Draw(t, "tokens")))
			}
			w.truth()
		}
	case op < 13:
		if w.f.up {
			w.truth()
		}
		if w.f.up = false; rapid.Bool().Draw(t, "again") {
			w.clock.now++
			w.f.start()
		}
	case op < 14:
		if !w.f.up {
			w.f.start()
		}
	case op < 15:
		if w.f.up && rapid.Bool().Draw(t, "more") { // slots that end unread before the clock is set
			w.f.finish(seriesID{2, 0, "m"}, 5)
			w.truth()
			w.clock.now += int64(rapid.SampledFrom([]int{20, 200, 500}).Draw(t, "pass"))
		}
		w.clock.set += int64(rapid.SampledFrom([]int{-130, -15, 15, 130, -60, 70, 4000, -4000}).Draw(t, "set"))
		w.minSet, w.maxSet = min(w.minSet, w.clock.set), max(w.maxSet, w.clock.set)
		w.truth().setWhen = true
	case op < 16:
		if err := w.h.expire(t.Context()); err != nil {
			t.Fatal(err)
		}
	case op < 18:
		w.read(t, 0)
	default:
		w.read(t, rapid.IntRange(1, 25).Draw(t, "crash"))
	}
	if rapid.IntRange(0, 9).Draw(t, "small") == 0 {
		w.r.slots = [numGrains]int64{2, 3, 5}
		w.r.events = 3
	}
}

// read is one reading, which may crash: then the file is what it was at that moment, and a new manager opens it.
func (w *world) read(t *rapid.T, crash int) {
	w.crash, w.begun, w.restart = crash, nil, rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3, 4, 5, 6}).Draw(t, "restart")
	_, err := w.r.read(t.Context())
	crashed := crash > 0 && w.crash == 0
	w.crash, w.restart = 0, 0
	if err == nil && w.f.up {
		tr := w.truth()
		for g := range tr.may {
			if k := len(tr.may[g]); k > 0 {
				tr.may[g] = tr.may[g][k-1:]
			}
		}
	}
	if !crashed {
		w.check(t)
		return
	}
	after := w.file(t)
	if pages := 2 * w.h.db.Info().PageSize; w.begun != nil && rapid.Bool().Draw(t, "torn") {
		// The pages of the newest transaction are written, the one that makes them count is not.
		copy(after[:pages], w.begun)
	}
	w.h.close()
	if err := os.WriteFile(filepath.Join(w.dir, "history.db"), after, 0o600); err != nil {
		t.Fatal(err)
	}
	w.open(t)
	w.check(t)
}

func (w *world) file(t *rapid.T) []byte {
	b, err := os.ReadFile(filepath.Join(w.dir, "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (w *world) finishRead(t *rapid.T) {
	for i := 0; ; i++ {
		w.crash = 0
		_, err := w.r.read(t.Context())
		if err == nil {
			break
		}
		if i == 50 {
			t.Fatalf("the last reading: %v", err)
		}
	}
	tr := w.truth()
	for g := range tr.may {
		tr.may[g] = tr.may[g][len(tr.may[g])-1:]
		if got := tr.may[g][0]; got.n != len(tr.done) {
			t.Fatalf("the last reading knows of %d requests, there were %d", got.n, len(tr.done))
		}
	}
}

// check holds the history against the naive model.
func (w *world) check(t *rapid.T) {
	err := w.h.db.View(func(tx *bbolt.Tx) error {
		for id, tr := range w.runs {
			r, err := readRun(tx, id)
			if err != nil {
				return err
			}
			if r == nil {
				continue // never read, or forgotten after 90 days
			}
			for g := range grains {
				w.checkGrain(t, tx, id, r, tr, g)
			}
			w.checkEvents(t, tx, id, r, tr)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkGrain: the slots that are stored are those of one answer that may be the newest.
func (w *world) checkGrain(t *rapid.T, tx *bbolt.Tx, id string, r *runRecord, tr *truth, g int) {
	stored := map[seriesID]map[int64]*metrics.RollupCounts{}
	// Nothing is told of slots that were too old when the run was found, or are now, or lie near that edge of the clock.
	edge := grains[g].oldest(w.clock.now+w.maxSet-w.minSet) + 2*grains[g].step
	if b := tx.Bucket([]byte(grains[g].name)).Bucket([]byte(id)); b != nil {
		err := b.ForEach(func(k, v []byte) error {
			start, s, ok := parseSlotKey(k)
			if !ok || s.op == engineSeries {
				return nil
			}
			c, ok := parseCounts(v)
			if !ok {
				return errDamaged
			}
			if stored[s] == nil {
				stored[s] = map[int64]*metrics.RollupCounts{}
			}
			if start >= edge {
				stored[s][start] = &c
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	clean := func(m map[seriesID]map[int64]*metrics.RollupCounts, to int64) map[seriesID]map[int64]*metrics.RollupCounts {
		for s, slots := range m {
			for at := range slots {
				if at < edge || at >= to {
					delete(slots, at)
				}
			}
			if len(slots) == 0 {
				delete(m, s)
			}
		}
		return m
	}
	stored = clean(stored, 1<<62)
	for _, c := range tr.may[g] {
		if reflect.DeepEqual(clean(countAll(tr.done[:c.n], grains[g].step), c.to), stored) {
			w.checkGap(t, id, r, tr, g, c.n)
			return
		}
	}
	if len(stored) == 0 && len(tr.may[g]) == 0 {
		return
	}
	// Before the first reading was finished there may be nothing yet.
	if len(stored) == 0 && r.Open[g] == 0 {
		return
	}
	t.Fatalf("run %s at %s: stored is %s, which is none of %d answers; done %d requests, record %+v, now %d, edge %d", id, grains[g].name, show(stored), len(tr.may[g]), len(tr.done), r, w.clock.now, edge)
}

func show(m map[seriesID]map[int64]*metrics.RollupCounts) (s string) {
	for id, slots := range m {
		for at, c := range slots {
			s += fmt.Sprintf(" %v@%d:%d/%d", id, at, c.Requests, c.PromptTokens)
		}
	}
	return s
}

// checkGap: a request that isn't stored came to its end after the run was last read, and before the gap's end.
func (w *world) checkGap(t *rapid.T, id string, r *runRecord, tr *truth, g, n int) {
	slack := int64(0)
	if w.minSet != w.maxSet {
		slack = 20_000 // a shift is whole tens of seconds, and follows a clock that is set by more
	}
	looked := r.looked()
	if r.Looked == r.Start {
		looked -= tr.base * 1000 // the shift of a real runner is 0 at its start
	}
	if r.Until != 0 && r.until() <= r.looked() && len(tr.done) > n {
		t.Fatalf("run %s at %s: %d requests aren't stored, and the gap from %d to %d is none", id, grains[g].name, len(tr.done)-n, r.looked(), r.until())
	}
	for _, q := range tr.done[n:] {
		at := (q.at + r.Shift) * 1000
		late := r.Until != 0 && at > r.until()+slack && !tr.setWhen // how long a gap was across which the clock was set is the manager's to know
		if at < looked-slack || late {
			t.Fatalf("run %s at %s: a request of %d isn't stored, and not in the gap from %d to %d", id, grains[g].name, at, looked, r.until())
		}
	}
	if id != w.f.run.ID && r.Until == 0 && w.runs[w.f.run.ID] != nil {
		if cur, err := readRunOutside(w.h, w.f.run.ID); err == nil && cur != nil {
			t.Fatalf("run %s was followed by another, and has no gap", id)
		}
	}
}

func readRunOutside(h *history, id string) (r *runRecord, err error) {
	err = h.db.View(func(tx *bbolt.Tx) error {
		r, err = readRun(tx, id)
		return err
	})
	return r, err
}

// checkEvents: each of the newest numbers is stored or lost, and not both; and an event is the one that it was.
func (w *world) checkEvents(t *rapid.T, tx *bbolt.Tx, id string, r *runRecord, tr *truth) {
	have := map[uint64]int{}
	if b := tx.Bucket(bucketLost).Bucket([]byte(id)); b != nil {
		_ = b.ForEach(func(k, v []byte) error {
			from, n := binary.BigEndian.Uint64(k), binary.BigEndian.Uint64(v)
			for i := range n {
				have[from+i]++
			}
			return nil
		})
	}
	lost := uint64(len(have))
	if b := tx.Bucket(bucketEvents).Bucket([]byte(id)); b != nil {
		_ = b.ForEach(func(k, v []byte) error {
			seq := binary.BigEndian.Uint64(k)
			have[seq]++
			if seq >= uint64(len(tr.done)) || string(v) != eventText(seq, tr.done[seq]) {
				t.Fatalf("run %s: event %d is %s", id, seq, v)
			}
			return nil
		})
	}
	if r.Lost != lost {
		t.Fatalf("run %s: %d lost, noted %d", id, r.Lost, lost)
	}
	for i := range r.Next {
		if have[i] != 1 {
			t.Fatalf("run %s: event %d of %d is there %d times", id, i, r.Next, have[i])
		}
	}
	if uint64(len(have)) != r.Next {
		t.Fatalf("run %s: %d events, next is %d", id, len(have), r.Next)
	}
}

func eventText(seq uint64, q fakeRequest) string {
	return fmt.Sprintf(`{"seq":%d,"ts_ms":%d,"duration_ms":0,"stream":false,"gen_ai.operation.name":"","gen_ai.provider.name":"","gen_ai.request.model":"","gen_ai.usage.input_tokens":%d,"paddock.origin":""}`, seq, q.at*1000, q.n)
}
