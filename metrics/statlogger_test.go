package metrics

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// told is a caller's StatLogger that keeps what it is told.
type told struct {
	mu     sync.Mutex
	opened []EngineInfo
	steps  int // tokens
	ended  []string
	logged [][]EngineStats
	hook   func(what string) // nil: none
	plain  bool              // it wants no observer
}

func (l *told) call(what string) {
	if l.hook != nil {
		l.hook(what)
	}
}

func (l *told) OpenEngine(e EngineInfo) Observer {
	l.opened = append(l.opened, e)
	l.call("open")
	if l.plain {
		return nil
	}
	return toldOf{l, e}
}

func (l *told) Log(engines []EngineStats) {
	l.logged = append(l.logged, slices.Clone(engines))
	l.call("log")
}

type toldOf struct {
	l *told
	e EngineInfo
}

func (o toldOf) Step(s *StepStats) {
	o.l.mu.Lock()
	defer o.l.mu.Unlock()
	o.l.steps += s.Tokens
	o.l.call("step")
}

func (o toldOf) Finish(rec *Record) {
	o.l.mu.Lock()
	defer o.l.mu.Unlock()
	o.l.ended = append(o.l.ended, o.e.Model+" "+rec.ID)
	o.l.call("finish")
}

func TestStatLoggerIsTold(t *testing.T) {
	logger := &told{}
	opts := RecorderOptions{StatLoggers: []StatLogger{logger, &told{plain: true}}}
	opts.test.wall = func() time.Time { return time.Unix(1000, 0) }
	r := newTestRecorder(opts)
	a := mustOpen(t, r, "a", &fixedSource{Admitted: 3, Running: 3, MaxContext: 99}, Chat)
	mustOpen(t, r, "no engine", nil, Chat)
	c := mustOpen(t, r, "c", &fixedSource{}, Chat)
	a.Step(&StepStats{Tokens: 5})
	c.Step(&StepStats{Tokens: 2})
	rec := finished(Chat, Live, 2)
	rec.ID = "r1"
	c.Finish(rec)
	c.Finish(rec) // once
	r.logStats()
	a.Close()
	a.Step(&StepStats{Tokens: 100})
	a.Finish(finished(Chat, Live, 2))
	r.logStats()
	c.Close()
	r.logStats() // nobody is there to tell of
	want := []EngineInfo{{Index: 0, Model: "a", MaxContext: 99}, {Index: 1, Model: "no engine"}, {Index: 2, Model: "c"}}
	for i, e := range logger.opened {
		if e.Opened.Unix() != 1000 || e.model == nil {
			t.Errorf("%v was opened at %v", e.Model, e.Opened)
		}
		e.Opened, e.model = time.Time{}, nil
		if e != want[i] {
			t.Errorf("told of %+v, want %+v", e, want[i])
		}
	}
	if len(logger.opened) != 3 || logger.steps != 7 || !slices.Equal(logger.ended, []string{"c r1"}) {
		t.Errorf("%d engines, %d tokens, ends %q", len(logger.opened), logger.steps, logger.ended)
	}
	if len(logger.logged) != 2 || len(logger.logged[0]) != 2 || len(logger.logged[1]) != 1 {
		t.Fatalf("logs %+v", logger.logged)
	}
	first := logger.logged[0][0]
	if first.Model != "a" || first.Index != 0 || first.At.Unix() != 1000 || first.Snapshot.Running != 3 || first.model != nil {
		t.Errorf("%+v", first)
	}
	if last := logger.logged[1][0]; last.Model != "c" || last.Index != 2 {
		t.Errorf("%+v", last)
	}
	if r.Faults() != 0 {
		t.Errorf("%d faults", r.Faults())
	}
}

// A logger that panics, wherever it does, costs a fault; the page, other loggers and the events go on.
func TestStatLoggerMayPanic(t *testing.T) {
	for _, where := range []string{"open", "step", "finish", "log"} {
		bad := &told{hook: func(what string) {
			if what == where {
				panic("theirs")
			}
		}}
		good := &told{}
		r := newTestRecorder(RecorderOptions{StatLoggers: []StatLogger{bad, nil, good}}) // nil panics at open
		m := mustOpen(t, r, "m", &fixedSource{}, Chat)
		m.Step(&StepStats{Tokens: 4})
		m.Finish(finished(Chat, Live, 2))
		r.logStats()
		faults := r.Faults()
		if faults < 2 {
			t.Errorf("%s: %d faults", where, faults)
		}
		if good.steps != 4 || len(good.ended) != 1 || len(good.logged) != 1 || len(good.opened) != 1 {
			t.Errorf("%s: the good logger was told %+v", where, good)
		}
		s := scrapeOf(t, r)
		s.want(t, `paddock_iteration_tokens_sum{model="m"}`, 4)
		s.want(t, "gen_ai_server_request_duration_seconds_count{"+base(Chat, "m", Live)+"}", 1)
	}
}

// A logger outside the gate and the lock may look at the page from Log and from an observer, and finds there what it was told.
func TestStatLoggerMayScrape(t *testing.T) {
	var r *Recorder
	logger := &told{hook: func(what string) {
		if what == "open" {
			return
		}
		s := scrapeOf(t, r)
		s.want(t, `paddock_iteration_tokens_sum{model="m"}`, 4)
		if what == "finish" {
			s.want(t, "gen_ai_server_request_duration_seconds_count{"+base(Chat, "m", Live)+"}", 1)
		}
	}}
	r = newTestRecorder(RecorderOptions{StatLoggers: []StatLogger{logger}})
	m := mustOpen(t, r, "m", &fixedSource{}, Chat)
	m.Step(&StepStats{Tokens: 4})
	m.Finish(finished(Chat, Live, 2))
	r.logStats()
	if r.Faults() != 0 || len(logger.ended) != 1 || len(logger.logged) != 1 {
		t.Errorf("%d faults, %d ends, %d logs", r.Faults(), len(logger.ended), len(logger.logged))
	}
}

// Observers cost no allocation of ours.
func TestTellingAllocatesNothing(t *testing.T) {
	r := newTestRecorder(RecorderOptions{StatLoggers: []StatLogger{counting{}, counting{}}})
	m := mustOpen(t, r, "m", &fixedSource{}, Chat)
	step := &StepStats{Tokens: 1}
	if n := testing.AllocsPerRun(100, func() { m.Step(step) }); n != 0 {
		t.Errorf("a step allocates %v times", n)
	}
	rec := finished(Chat, Live, 2)
	if n := testing.AllocsPerRun(100, func() {
		rec.held.word.Store(0)
		m.Finish(rec)
	}); n != 0 {
		t.Errorf("a request's end allocates %v times", n)
	}
}

type counting struct{ n *int }

func (counting) OpenEngine(EngineInfo) Observer { return counting{new(int)} }
func (counting) Log([]EngineStats)              {}
func (c counting) Step(*StepStats)              { *c.n++ }
func (c counting) Finish(*Record)               { *c.n++ }
