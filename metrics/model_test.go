package metrics

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestTwoLiveModelsOfOneName(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	first := mustOpen(t, r, "m", nil, Chat)
	var dup *DuplicateModelError
	if _, err := r.OpenModel("m", []Operation{Chat}, nil); !errors.As(err, &dup) || dup.Name != "m" {
		t.Fatalf("got %v, want a *DuplicateModelError of m", err)
	}
	mustOpen(t, newTestRecorder(RecorderOptions{}), "m", nil, Chat) // another recorder doesn't mind
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, r, "m", nil, Chat)
	if err := first.Close(); err != nil { // the second close must not close the new one
		t.Fatal(err)
	}
	scrapeOf(t, r).want(t, "gen_ai_server_request_duration_seconds_count{"+base(Chat, "m", Live)+"}", 0)
}

func TestCloseTakesTheSeriesAway(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "gone", &fixedSource{}, Chat)
	other := mustOpen(t, r, "stays", &fixedSource{}, Chat)
	m.Finish(finished(Chat, Live, 3))
	other.Finish(finished(Chat, Live, 3))
	if !strings.Contains(get(t, HandlerFor(HandlerOptions{Recorder: r})), `"gone"`) {
		t.Fatal("the open model is not on the page")
	}
	m.Close()
	m.Finish(finished(Chat, Live, 3)) // late: no panic, no series
	m.Step(&StepStats{Tokens: 1})
	page := get(t, HandlerFor(HandlerOptions{Recorder: r}))
	if strings.Contains(page, `"gone"`) {
		t.Error("series of a closed model are on the page")
	}
	parse(t, page).want(t, "gen_ai_server_request_duration_seconds_count{"+base(Chat, "stays", Live)+"}", 1)
	mustOpen(t, r, "gone", &fixedSource{}, Chat)
	scrapeOf(t, r).want(t, "gen_ai_server_request_duration_seconds_count{"+base(Chat, "gone", Live)+"}", 0)
}

func TestModelNames(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	for _, name := range []string{"", "a\xffb", strings.Repeat("x", maxModelName+1)} {
		if _, err := r.OpenModel(name, []Operation{Chat}, nil); err == nil {
			t.Errorf("%.20q is taken", name)
		}
	}
	const odd = "a\"b\\c\nd{e=\"f\"} 1"
	mustOpen(t, r, odd, &fixedSource{}, Chat)
	s := scrapeOf(t, r)
	s.want(t, `paddock_num_requests_running{model="a\"b\\c\nd{e=\"f\"} 1"}`, 0)
}

func TestOffRecordsNothing(t *testing.T) {
	m := mustOpen(t, Off, "m", &fixedSource{}, Chat)
	mustOpen(t, Off, "m", &fixedSource{}, Chat) // it keeps no list, so there is no duplicate
	m.Step(&StepStats{Tokens: 1})
	m.Finish(finished(Chat, Live, 2))
	Off.InFlight(5)
	if Off.inFlight.Load() != 0 || Off.Enabled() || Off.Now() <= 0 {
		t.Error("Off counted, or has no clock")
	}
	if families, err := Off.Gather(); len(families) != 0 || err != nil {
		t.Errorf("Off has a page: %d families, %v", len(families), err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	var none *Model
	none.Step(&StepStats{})
	none.Finish(&Record{})
	if none.Name() != "" || none.Recorder() != Off || none.Close() != nil {
		t.Error("a nil model does something")
	}
}

func TestDefaultIsOneRecorder(t *testing.T) {
	if a, b := Default(), Default(); a != b || !a.Enabled() {
		t.Error("Default is not one recorder")
	}
	if Handler().rec != Default() {
		t.Error("Handler doesn't show the default recorder")
	}
}

func TestClockIsMonotonicAndNeverZero(t *testing.T) {
	r := NewRecorder(RecorderOptions{})
	last := time.Duration(0)
	for range 1000 {
		now := r.Now()
		if now <= 0 || now < last {
			t.Fatalf("%v after %v", now, last)
		}
		last = now
	}
}

func TestBrokenSourceKeepsItsLastNumbers(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	broken := false
	mustOpen(t, r, "m", funcSource(func(s *Snapshot) {
		s.Admitted = 7
		if broken {
			s.Admitted = 1
			panic("source")
		}
	}), Chat)
	scrapeOf(t, r).want(t, `paddock_requests_admitted_total{model="m"}`, 7)
	broken = true
	scrapeOf(t, r).want(t, `paddock_requests_admitted_total{model="m"}`, 7)
	if r.Faults() != 1 {
		t.Errorf("%d faults, want 1", r.Faults())
	}
}

func TestRecordingAllocatesNothing(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", &fixedSource{}, Chat)
	step := &StepStats{Tokens: 8, Took: ms, Gaps: make([]TokenGap, 0, 8)}
	if n := testing.AllocsPerRun(100, func() {
		step.Gaps = step.Gaps[:0]
		for range 8 {
			step.Gaps = append(step.Gaps, TokenGap{Chat, Live, ms, 2})
		}
		m.Step(step)
	}); n != 0 {
		t.Errorf("a step allocates %v times", n)
	}
	rec := new(Record)
	if n := testing.AllocsPerRun(100, func() {
		rec.held.word.Store(0)
		rec.Arrival, rec.Queued, rec.Scheduled, rec.First, rec.Finished = r.Now(), r.Now(), r.Now(), 0, 0
		rec.Open(1)
		rec.Token(0, r.Now(), 1)
		rec.Token(0, r.Now(), 1)
		m.Finish(rec)
	}); n != 0 {
		t.Errorf("a request's life allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { r.InFlight(1); r.InFlight(-1) }); n != 0 {
		t.Errorf("in flight allocates %v times", n)
	}
}
