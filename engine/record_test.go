package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// keeper is a StatLogger that keeps the record of every ended request.
type keeper struct {
	mu      sync.Mutex
	records []*metrics.Record
	pages   []metrics.PageResidency
}

func (k *keeper) OpenEngine(metrics.EngineInfo) metrics.Observer { return k }
func (k *keeper) Log([]metrics.EngineStats)                      {}
func (k *keeper) Step(s *metrics.StepStats) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pages = append(k.pages, s.Residency...)
}
func (k *keeper) Finish(r *metrics.Record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.records = append(k.records, r)
}

// take waits for n records and returns them.
func (k *keeper) take(t *testing.T, n int) []*metrics.Record {
	t.Helper()
	for range 5000 {
		k.mu.Lock()
		if len(k.records) >= n {
			got := k.records
			k.records = nil
			k.mu.Unlock()
			if len(got) != n {
				t.Fatalf("%d requests ended, want %d", len(got), n)
			}
			for _, r := range got {
				if err := orderly(r); err != nil {
					t.Error(err)
				}
			}
			return got
		}
		k.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d requests did not end", n)
	return nil
}

func openKept(t *testing.T, m *fakeModel, o Options) (*Engine, *keeper) {
	k := &keeper{}
	o.Metrics = metrics.NewRecorder(metrics.RecorderOptions{StatLoggers: []metrics.StatLogger{k}})
	e := openFake(t, m, o)
	t.Cleanup(func() {
		if n := e.rec.Faults(); n != 0 {
			t.Errorf("%d faults in metrics", n)
		}
	})
	return e, k
}

// orderly is what holds for the record of every request, however it ended: stamps
// in order and without a hole, and numbers that fit them.
func orderly(r *metrics.Record) error {
	stamps := []struct {
		name string
		at   time.Duration
	}{{"arrival", r.Arrival}, {"queued", r.Queued}, {"scheduled", r.Scheduled}, {"first", r.First}, {"last", r.Last}}
	before, reached := stamps[0], true
	for _, s := range stamps {
		switch {
		case s.at == 0:
			reached = false
		case !reached:
			return fmt.Errorf("%s is stamped, what comes before it is not: %+v", s.name, stamps)
		case s.at < before.at:
			return fmt.Errorf("%s at %v is before %s at %v", s.name, s.at, before.name, before.at)
		default:
			before = s
		}
	}
	if r.Finished < before.at || r.Arrival == 0 {
		return fmt.Errorf("finished at %v, %s at %v", r.Finished, before.name, before.at)
	}
	tokens := 0
	for i, c := range r.Choices {
		tokens += c.Tokens
		if (c.Tokens == 0) != (c.First == 0) || c.First > c.Last || c.First != 0 && c.First < r.First || c.Last > r.Last {
			return fmt.Errorf("choice %d of a request that got tokens from %v to %v: %+v", i, r.First, r.Last, c)
		}
		if r.Fail == metrics.NoFail && c.Finish == metrics.NoFinish {
			return fmt.Errorf("choice %d of a success did not finish", i)
		}
	}
	switch {
	case tokens != r.GeneratedTokens || (tokens > 0) != (r.First != 0):
		return fmt.Errorf("%d tokens, %d in the choices, the first at %v", r.GeneratedTokens, tokens, r.First)
	case (r.Fail == metrics.NoFail) != (r.Finish != metrics.NoFinish):
		return fmt.Errorf("finish %v with fail %v", r.Finish, r.Fail)
	case (r.Scheduled != 0) != (r.PromptTokens > 0) || r.CachedTokens >= max(r.PromptTokens, 1):
		return fmt.Errorf("%d prompt tokens, %d cached, scheduled at %v", r.PromptTokens, r.CachedTokens, r.Scheduled)
	case r.KVPages > 0 && r.Scheduled == 0, r.Accepted > r.Drafted, r.Preemptions > 0 && r.Scheduled == 0:
		return fmt.Errorf("%d pages, %d of %d drafts, %d preemptions, scheduled at %v", r.KVPages, r.Accepted, r.Drafted, r.Preemptions, r.Scheduled)
	case r.Queued != 0 && r.Tokenizing > r.Queued-r.Arrival:
		return fmt.Errorf("tokenised for %v within %v", r.Tokenizing, r.Queued-r.Arrival)
	}
	return nil
}

// TestRecordOfEveryEnd brings requests to each end there is and looks at what is
// recorded of them.
func TestRecordOfEveryEnd(t *testing.T) {
	bg := context.Background()
	for _, c := range []struct {
		name  string
		model *fakeModel
		o     Options
		fail  metrics.FailReason
		run   func(t *testing.T, e *Engine, m *fakeModel)
		check func(r *metrics.Record) bool
	}{
		{"length", &fakeModel{}, Options{KVPages: 64}, metrics.NoFail, func(t *testing.T, e *Engine, m *fakeModel) {
			collect(t, e, Request{Tokens: prompt(30, 1), MaxTokens: 20})
		}, func(r *metrics.Record) bool {
			return r.Finish == metrics.Length && r.MaxTokens == 20 && r.PromptTokens == 30 && r.GeneratedTokens == 20 &&
				r.KVPages == 4 && r.Choices[0].Finish == metrics.Length // 49 tokens were computed: the 20th never is
		}},
		{"stop", &fakeModel{}, Options{KVPages: 64}, metrics.NoFail, func(t *testing.T, e *Engine, m *fakeModel) {
			all := make([]int32, 32)
			for i := range all {
				all[i] = int32(i)
			}
			collect(t, e, Request{Tokens: prompt(3, 1), MaxTokens: 20, StopTokens: all})
		}, func(r *metrics.Record) bool {
			return r.Finish == metrics.Stop && r.GeneratedTokens == 1 && r.Choices[0].Finish == metrics.Stop && r.KVPages == 1
		}},
		{"refused for a field", &fakeModel{}, Options{KVPages: 64}, metrics.InvalidRequest, func(t *testing.T, e *Engine, m *fakeModel) {
			_, _ = e.Complete(bg, Request{Tokens: prompt(3, 1), MaxTokens: 9, Sampling: Sampling{TopK: -1}})
		}, func(r *metrics.Record) bool { return r.Queued == 0 && r.MaxTokens == 9 }},
		{"refused for its length", &fakeModel{}, Options{KVPages: 64, MaxContext: 100}, metrics.ContextLength, func(t *testing.T, e *Engine, m *fakeModel) {
			_, _ = e.Complete(bg, Request{Tokens: prompt(200, 1)})
		}, func(r *metrics.Record) bool { return r.Queued == 0 && r.MaxTokens == 0 }},
		{"refused while draining", &fakeModel{}, Options{KVPages: 64}, metrics.Draining, func(t *testing.T, e *Engine, m *fakeModel) {
			if err := e.Drain(bg); err != nil {
				t.Error(err)
			}
			_, _ = e.Complete(bg, Request{Tokens: prompt(3, 1)})
		}, func(r *metrics.Record) bool { return r.Queued == 0 }},
		{"cancelled before Submit", &fakeModel{}, Options{KVPages: 64}, metrics.Disconnect, func(t *testing.T, e *Engine, m *fakeModel) {
			ctx, cancel := context.WithCancel(bg)
			cancel()
			_, _ = e.Complete(ctx, Request{Tokens: prompt(3, 1)})
		}, func(r *metrics.Record) bool { return r.Queued == 0 }},
		{"cancelled during prefill", &fakeModel{delay: 2 * time.Millisecond}, Options{KVPages: 128, Limits: sched.Limits{MaxChunk: 1}}, metrics.Disconnect,
			func(t *testing.T, e *Engine, m *fakeModel) {
				s, err := e.Submit(bg, Request{Tokens: prompt(1000, 1), MaxTokens: 5})
				if err != nil {
					t.Fatal(err)
				}
				for m.steps.Load() < 3 {
					time.Sleep(time.Millisecond)
				}
				s.Close()
			}, func(r *metrics.Record) bool {
				return r.Scheduled != 0 && r.First == 0 && r.PromptTokens == 1000 && r.KVPages == 63 && r.Choices[0].Finish == metrics.NoFinish
			}},
		{"cancelled while decoding", &fakeModel{delay: time.Millisecond}, Options{KVPages: 128}, metrics.Disconnect, func(t *testing.T, e *Engine, m *fakeModel) {
			for range e.Generate(bg, Request{Tokens: prompt(10, 1), MaxTokens: 500}) {
				break
			}
		}, func(r *metrics.Record) bool { return r.First != 0 && r.GeneratedTokens < 500 }},
		{"out of time", &fakeModel{delay: time.Millisecond}, Options{KVPages: 128}, metrics.Deadline, func(t *testing.T, e *Engine, m *fakeModel) {
			ctx, cancel := context.WithTimeout(bg, 30*time.Millisecond)
			defer cancel()
			_, _ = e.Complete(ctx, Request{Tokens: prompt(10, 1), MaxTokens: 2000})
		}, func(r *metrics.Record) bool { return r.Scheduled != 0 }},
		{"stalled", &fakeModel{}, Options{KVPages: 200, StallTimeout: 20 * time.Millisecond}, metrics.Disconnect, func(t *testing.T, e *Engine, m *fakeModel) {
			s, err := e.Submit(bg, Request{Tokens: prompt(5, 1), MaxTokens: 2000})
			if err != nil {
				t.Fatal(err)
			}
			settle(t, e)
			s.Close()
		}, func(r *metrics.Record) bool { return r.GeneratedTokens > 0 && r.KVPages > 0 }},
		{"drained", &fakeModel{delay: time.Millisecond}, Options{KVPages: 300}, metrics.Draining, func(t *testing.T, e *Engine, m *fakeModel) {
			s, err := e.Submit(bg, Request{Tokens: prompt(4, 1), MaxTokens: 2000, N: 2})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 { // the third comes of the second step, in which each choice has a page of its own
				s.Next()
			}
			ctx, cancel := context.WithCancel(bg)
			cancel()
			if err := e.Drain(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			s.Close()
		}, func(r *metrics.Record) bool { return len(r.Choices) == 2 && r.GeneratedTokens >= 2 && r.KVPages == 2 }},
		{"no token", &fakeModel{nan: 31}, Options{KVPages: 64}, metrics.EngineError, func(t *testing.T, e *Engine, m *fakeModel) {
			_, _ = e.Complete(bg, Request{Tokens: []int32{5, 31}, MaxTokens: 5})
		}, func(r *metrics.Record) bool { return r.GeneratedTokens == 0 && r.Scheduled != 0 && r.KVPages == 1 }},
		{"device failed", &fakeModel{}, Options{KVPages: 64}, metrics.EngineError, func(t *testing.T, e *Engine, m *fakeModel) {
			broken := errors.New("broken")
			m.fail.Store(&broken)
			_, _ = e.Complete(bg, Request{Tokens: prompt(40, 1), MaxTokens: 5})
		}, func(r *metrics.Record) bool { return r.Scheduled != 0 && r.First == 0 && r.KVPages == 3 }},
		{"closed", &fakeModel{delay: time.Millisecond}, Options{KVPages: 300}, metrics.Draining, func(t *testing.T, e *Engine, m *fakeModel) {
			if _, err := e.Submit(bg, Request{Tokens: prompt(4, 1), MaxTokens: 4000}); err != nil {
				t.Fatal(err)
			}
			e.Close()
		}, func(r *metrics.Record) bool { return r.Queued != 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, k := openKept(t, c.model, c.o)
			c.run(t, e, c.model)
			r := k.take(t, 1)[0]
			if r.Fail != c.fail || !c.check(r) {
				t.Errorf("recorded: %+v", r)
			}
		})
	}
}

// TestRecordOfQueuedRequests holds one request in its step and ends those that wait
// behind it: their prompts never started, so they count nowhere.
func TestRecordOfQueuedRequests(t *testing.T) {
	m := &fakeModel{gate: make(chan struct{})}
	e, k := openKept(t, m, Options{KVPages: 64, Limits: sched.Limits{MaxSequences: 1, MaxTokens: 64, MaxQueue: 1}})
	submit := func(ctx context.Context) (*Stream, error) {
		return e.Submit(ctx, Request{Tokens: prompt(20, 1), MaxTokens: 2})
	}
	step := func() { m.gate <- struct{}{} }
	first, err := submit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan *Stream)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		s, err := submit(ctx)
		if err != nil {
			t.Error(err)
		}
		second <- s
	}()
	waitPosted(e, 1)
	step() // the first gets its first token; then the second is taken in
	s := <-second
	third := make(chan error)
	go func() {
		_, err := submit(context.Background())
		third <- err
	}()
	// The third is refused, since the second waits; then the second is given up.
	waitPosted(e, 1)
	cancel()
	waitPosted(e, 2)
	step()
	if err := <-third; !errors.As(err, new(*QueueFullError)) {
		t.Errorf("the third: %v", err)
	}
	if _, ok, err := s.Next(); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("the second: %v", err)
	}
	if n, _, err := drainStream(first); n != 2 || err != nil {
		t.Errorf("the first: %d tokens, %v", n, err)
	}
	got := k.take(t, 3)
	slices.SortFunc(got, func(a, b *metrics.Record) int { return int(a.Arrival - b.Arrival) })
	if r := got[0]; r.Fail != metrics.NoFail || r.KVPages != 2 {
		t.Errorf("the first: %+v", r)
	}
	if r := got[1]; r.Fail != metrics.Disconnect || r.Queued == 0 || r.Scheduled != 0 {
		t.Errorf("the second: %+v", r)
	}
	if r := got[2]; r.Fail != metrics.QueueFull || r.Queued != 0 {
		t.Errorf("the third: %+v", r)
	}
	if st := e.Stats(); st.Prompt.Sum() != 20 {
		t.Errorf("%d prompt tokens counted, want 20", st.Prompt.Sum())
	}
}

// waitPosted waits until the inbox of an engine whose step is held has n commands.
func waitPosted(e *Engine, n int) {
	for {
		e.inbox.mu.Lock()
		have := len(e.inbox.commands)
		e.inbox.mu.Unlock()
		if have >= n {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// TestRecordsAddUp serves a crowd that is preempted, shares and speculates: what the
// records say of each adds up to what the engine counted of all.
func TestRecordsAddUp(t *testing.T) {
	for _, o := range []Options{
		{KVPages: 44},
		{KVPages: 26, Spec: Spec{NGram: 6}, Limits: sched.Limits{MaxSequences: 6}},
	} {
		var wg, begun sync.WaitGroup
		const requests = 24
		begun.Add(requests)
		e, k := openKept(t, &fakeModel{vocab: 3, first: func() { begun.Wait(); time.Sleep(20 * time.Millisecond) }}, o)
		for i := range requests {
			wg.Go(func() {
				begun.Done()
				p := prompt(30+i, uint64(i%5))
				for k := range p {
					p[k] %= 3
				}
				collect(t, e, Request{Tokens: p, MaxTokens: 60, N: 1 + i%3/2, Tenant: fmt.Sprint(i % 4)})
			})
		}
		wg.Wait()
		s := settle(t, e)
		var sum metrics.Record
		for _, r := range k.take(t, requests) {
			sum.PromptTokens += r.PromptTokens
			sum.CachedTokens += r.CachedTokens
			sum.GeneratedTokens += r.GeneratedTokens
			sum.Preemptions += r.Preemptions
			sum.Drafted += r.Drafted
			sum.Accepted += r.Accepted
			if r.KVPages < 5 || r.KVPages > o.KVPages+8 { // 8: shared by two choices
				t.Errorf("%d pages held at most", r.KVPages)
			}
		}
		for _, c := range []struct {
			what string
			got  int
			want uint64
		}{
			{"prompt", sum.PromptTokens, s.Prompt.Sum()}, {"cached", sum.CachedTokens, s.Cached.Sum()},
			{"generated", sum.GeneratedTokens, s.Generated.Sum()}, {"preemptions", sum.Preemptions, s.Preemptions},
			{"drafted", sum.Drafted, s.Spec.DraftTokens}, {"accepted", sum.Accepted, s.Spec.AcceptedTokens},
		} {
			if uint64(c.got) != c.want {
				t.Errorf("%s: the records add up to %d, the engine counted %d", c.what, c.got, c.want)
			}
		}
		if s.Preemptions == 0 || o.Spec.NGram > 0 && s.Spec.AcceptedTokens == 0 {
			t.Errorf("%d preemptions, %d accepted", s.Preemptions, s.Spec.AcceptedTokens)
		}
	}
}

// TestEdgesRecordIsFilled asks that a record which an edge brings is complete when
// the stream has ended, and not finished by the engine.
func TestEdgesRecordIsFilled(t *testing.T) {
	e, k := openKept(t, &fakeModel{}, Options{KVPages: 64})
	rec := &metrics.Record{Operation: metrics.Chat, Edge: true}
	ctx := e.model.Begin(context.Background(), rec)
	if _, err := e.Complete(ctx, Request{Tokens: prompt(20, 1), MaxTokens: 3, Tenant: "t"}); err != nil {
		t.Fatal(err)
	}
	if rec.Finished != 0 || rec.Finish != metrics.Length || rec.KVPages != 2 || rec.MaxTokens != 3 || rec.Tenant != "t" {
		t.Errorf("filled: %+v", rec)
	}
	e.model.Finish(rec)
	k.take(t, 1)
}

// TestTokenizingIsTimed asks that the time for finding a prompt's tokens is kept.
func TestTokenizingIsTimed(t *testing.T) {
	k := &keeper{}
	e := openDemo(t, Options{Metrics: metrics.NewRecorder(metrics.RecorderOptions{StatLoggers: []metrics.StatLogger{k}})})
	for _, r := range []Request{{Prompt: "What is a gauge?"}, {Messages: []Message{{Role: "user", Content: "What is a gauge?"}}}, {Tokens: []int32{5}}} {
		r.MaxTokens = 2
		if _, err := e.Complete(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		if got := k.take(t, 1)[0]; (got.Tokenizing > 0) != (r.Tokens == nil) {
			t.Errorf("tokenised for %v", got.Tokenizing)
		}
	}
}
