package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/kvcache"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

func newScheduler(t *testing.T) *sched.Scheduler {
	t.Helper()
	pool, err := kvcache.New(64, pageSize)
	if err != nil {
		t.Fatal(err)
	}
	return sched.New(pool, sched.Limits{})
}

// openWith tries to start an engine over a fake model.
func openWith(o Options) (*Engine, error) {
	o.Metrics = metrics.NewRecorder(metrics.RecorderOptions{})
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{name: "fake", vocab: 32, context: 4096, log: o.Logger, rec: o.Metrics}
	m := &fakeModel{vocab: 32}
	r, err := e.plan(o, m, 0)
	if err != nil {
		return nil, err
	}
	return e.start(o, m, r, nil)
}

// TestSchedulerOfOneEngine asks that a scheduler is driven by one engine alone,
// and by none after somebody else has begun to use it.
func TestSchedulerOfOneEngine(t *testing.T) {
	s := newScheduler(t)
	e, err := openWith(Options{Scheduler: s})
	if err != nil {
		t.Fatal(err)
	}
	var options *OptionsError
	if _, err := openWith(Options{Scheduler: s}); !errors.As(err, &options) {
		t.Errorf("a second engine over one scheduler: %v, want an OptionsError", err)
	}
	if got := len(collect(t, e, Request{Tokens: prompt(20, 1), MaxTokens: 5})[0]); got != 5 {
		t.Errorf("%d tokens, want 5", got)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := openWith(Options{Scheduler: s}); !errors.As(err, &options) {
		t.Errorf("an engine over the scheduler of a closed one: %v, want an OptionsError", err)
	}
	used := newScheduler(t)
	if err := used.Add(0, &sched.Sequence{ID: 7, Tokens: []int32{1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := openWith(Options{Scheduler: used}); !errors.As(err, &options) {
		t.Errorf("an engine over a scheduler in use: %v, want an OptionsError", err)
	}
}

// TestSchedulerBringsItsOptions asks that nothing that a caller's scheduler
// decides is ignored without a word.
func TestSchedulerBringsItsOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"limits":  {Limits: sched.Limits{MaxSequences: 3}},
		"pages":   {KVPages: 5},
		"timeout": {StallTimeout: time.Second},
		"device":  {Devices: []Device{nil}},
		"KV type": {KVType: 9},
	} {
		o.Scheduler = newScheduler(t)
		var options *OptionsError
		if _, err := openWith(o); !errors.As(err, &options) {
			t.Errorf("%s: %v, want an OptionsError", name, err)
		}
	}
}

// TestPagesBounded asks that the context that a file states does not decide alone
// how many records of pages are made.
func TestPagesBounded(t *testing.T) {
	e := &Engine{context: 1 << 20}
	r := &room{limits: backend.Limits{Seqs: 64, PageSize: pageSize, Context: e.context}, available: 1 << 60}
	got, _ := e.pages(Options{}, r, &fakeModel{})
	if got > mostPages || got < e.context/pageSize {
		t.Errorf("%d pages", got)
	}
}

// TestNothingLostInAPanic breaks the scheduler while commands wait, and asks that
// each of them is answered all the same.
func TestNothingLostInAPanic(t *testing.T) {
	gate := make(chan struct{})
	e := openFake(t, &fakeModel{gate: gate}, Options{KVPages: 64})
	running, err := e.Submit(context.Background(), Request{Tokens: prompt(20, 1), MaxTokens: 500})
	if err != nil {
		t.Fatal(err)
	}
	// While the step waits at the gate: a job that Add can't take without a panic,
	// one behind it, a drain and a close.
	broken, behind := newJob(e), newJob(e)
	broken.choices = nil
	drained := make(chan struct{})
	for _, c := range []command{{kind: cmdAdd, job: broken}, {kind: cmdAdd, job: behind}, {kind: cmdDrain, drained: drained}} {
		if !e.inbox.post(c) {
			t.Fatal("the inbox is closed")
		}
	}
	close(gate)
	var device *DeviceError
	for _, j := range []*job{broken, behind} {
		if err := <-j.ack; !errors.As(err, &device) {
			t.Errorf("the submitter got %v, want a DeviceError", err)
		}
	}
	<-drained
	if _, _, err := drainStream(running); !errors.As(err, &device) {
		t.Errorf("the running request ended with %v, want a DeviceError", err)
	}
	if err := e.Close(); !errors.As(err, &device) {
		t.Errorf("Close: %v, want a DeviceError", err)
	}
}

// drainStream reads to the end.
func drainStream(s *Stream) (n int, last Token, err error) {
	for {
		tok, ok, err := s.Next()
		if !ok {
			return n, last, err
		}
		n, last = n+1, tok
	}
}

// newJob is a job as Submit makes them.
func newJob(e *Engine) *job {
	r := &Request{Tokens: prompt(5, 2), MaxTokens: 3}
	s, err := e.newStream(r, r.Tokens, &metrics.Record{Arrival: e.rec.Now(), Model: e.model}, false)
	if err != nil {
		panic(err)
	}
	return s.job
}
