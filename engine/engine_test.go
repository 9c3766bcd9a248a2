package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// settle waits until the engine is idle and then holds the books together.
func settle(t *testing.T, e *Engine) Stats {
	t.Helper()
	for range 2000 {
		s := e.Stats()
		if err := metrics.CheckBooks(&s); err != nil {
			t.Fatal(err)
		}
		if s.Running == 0 && s.WaitingTotal() == 0 {
			if s.PagesUsed != 0 {
				t.Fatalf("idle with %d pages used", s.PagesUsed)
			}
			return s
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the engine did not become idle")
	return Stats{}
}

// TestSameTokensHoweverBatched is law 1 for the engine: many requests at once,
// under limits that cut, share, preempt and speculate, answer what each answers
// alone.
func TestSameTokensHoweverBatched(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	shared := prompt(100, 99)
	var requests []Request
	for i := range 40 {
		r := Request{Tokens: prompt(1+rng.IntN(80), uint64(i)), MaxTokens: 1 + rng.IntN(60), Priority: rng.IntN(3), Tenant: string(rune('a' + i%3))}
		if i%3 == 0 {
			r.Tokens = append(append([]int32{}, shared[:rng.IntN(100)]...), r.Tokens...)
		}
		if i%4 == 0 {
			r.Temperature, r.Seed, r.TopK = 1.5, new(int64(i)), rng.IntN(10)
		}
		if i%5 == 0 {
			r.N, r.Temperature, r.Seed = 3, 1, new(int64(i))
		}
		if i%7 == 0 {
			r.RepetitionPenalty, r.FrequencyPenalty = 1.2, 0.3
		}
		requests = append(requests, r)
	}
	want := make([][][]int32, len(requests))
	for i, r := range requests {
		want[i] = alone(t, r)
	}
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"roomy", Options{KVPages: 2048}},
		{"few pages", Options{KVPages: 40}},
		{"small steps", Options{KVPages: 64, Limits: sched.Limits{MaxTokens: 9, MaxSequences: 8, MaxChunk: 3}}},
		{"speculating", Options{KVPages: 2048, Spec: Spec{NGram: 4}}},
		{"speculating with few pages", Options{KVPages: 48, Spec: Spec{NGram: 8}, Limits: sched.Limits{MaxSequences: 6}}},
		{"one at a time", Options{KVPages: 64, Limits: sched.Limits{MaxSequences: 3}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var wg, begun sync.WaitGroup
			begun.Add(len(requests))
			// The first step waits until everyone has come, so that the batch forms
			// however fast a step is.
			m := &fakeModel{first: func() { begun.Wait(); time.Sleep(20 * time.Millisecond) }}
			e := openFake(t, m, c.o)
			for i, r := range requests {
				wg.Go(func() {
					begun.Done()
					res, err := e.Complete(context.Background(), r)
					if err != nil {
						t.Errorf("request %d: %v", i, err)
						return
					}
					if got := ids(res); !reflect.DeepEqual(got, want[i]) {
						t.Errorf("request %d:\n got %v\nwant %v", i, got, want[i])
					}
				})
			}
			wg.Wait()
			s := settle(t, e)
			total := uint64(0)
			for _, w := range want {
				for _, ids := range w {
					total += uint64(len(ids))
				}
			}
			if got := s.Generated.Sum(); got != total {
				t.Errorf("%d tokens counted, %d handed out", got, total)
			}
			t.Logf("%d steps, widest %d, preemptions %d, prefix hits %d, accepted drafts %d",
				m.steps.Load(), m.widest.Load(), s.Preemptions, s.PrefixHits, s.Spec.AcceptedTokens)
			if c.name == "few pages" && s.Preemptions == 0 {
				t.Error("no preemption happened")
			}
		})
	}
}

// TestHangUps cancels at random moments, in every way there is, and expects the
// others undisturbed and nothing left behind.
func TestHangUps(t *testing.T) {
	m := &fakeModel{delay: 200 * time.Microsecond}
	e := openFake(t, m, Options{KVPages: 60})
	var wg sync.WaitGroup
	steady := Request{Tokens: prompt(40, 5), MaxTokens: 80}
	want := alone(t, steady)
	for i := range 60 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 3))
			switch i % 4 {
			case 0:
				if got := collect(t, e, steady); !reflect.DeepEqual(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			case 1: // the context ends
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(20000))*time.Microsecond)
				defer cancel()
				for range e.Generate(ctx, Request{Tokens: prompt(30, uint64(i)), MaxTokens: 100}) {
				}
			case 2: // the reader leaves the loop
				left := rng.IntN(20)
				for range e.Generate(context.Background(), Request{Tokens: prompt(30, uint64(i)), MaxTokens: 100}) {
					if left--; left < 0 {
						break
					}
				}
			case 3: // nobody reads; later it is closed
				s, err := e.Submit(context.Background(), Request{Tokens: prompt(30, uint64(i)), MaxTokens: 100, N: 2})
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Duration(rng.IntN(10000)) * time.Microsecond)
				s.Close()
				s.Close()
			}
		})
	}
	wg.Wait()
	s := settle(t, e)
	if s.Admitted != s.FinishedTotal() {
		t.Errorf("admitted %d, finished %d", s.Admitted, s.FinishedTotal())
	}
}

func TestUnreadStreamIsParkedAndEnded(t *testing.T) {
	e := openFake(t, &fakeModel{}, Options{KVPages: 200, StallTimeout: 50 * time.Millisecond})
	s, err := e.Submit(context.Background(), Request{Tokens: prompt(5, 1), MaxTokens: 2000})
	if err != nil {
		t.Fatal(err)
	}
	other := Request{Tokens: prompt(9, 2), MaxTokens: 300}
	if got, want := collect(t, e, other), alone(t, other); !reflect.DeepEqual(got, want) {
		t.Error("the other request was disturbed")
	}
	settle(t, e) // ended without anyone reading
	n := 0
	for {
		_, ok, err := s.Next()
		if !ok {
			if !errors.Is(err, ErrStalled) {
				t.Errorf("ended with %v, want ErrStalled", err)
			}
			break
		}
		n++
	}
	if n == 0 || n >= 2000 {
		t.Errorf("%d tokens were buffered", n)
	}
}

// TestStalledInTheStepThatFails: the step that ends a stream nobody reads is the
// one in which the device fails, or the loop panics. Both requests end.
func TestStalledInTheStepThatFails(t *testing.T) {
	for _, how := range []string{"error", "panic"} {
		t.Run(how, func(t *testing.T) {
			m := &fakeModel{gate: make(chan struct{})}
			const stall = 5 * time.Millisecond
			e := openFake(t, m, Options{KVPages: 200, StallTimeout: stall})
			unread, err := e.Submit(context.Background(), Request{Tokens: prompt(5, 1), MaxTokens: 2000})
			if err != nil {
				t.Fatal(err)
			}
			other := make(chan error, 1)
			go func() {
				_, err := e.Complete(context.Background(), Request{Tokens: prompt(9, 2), MaxTokens: 2000})
				other <- err
			}()
			step := func() {
				n := m.steps.Load()
				m.gate <- struct{}{}
				for m.steps.Load() == n {
					time.Sleep(50 * time.Microsecond)
				}
			}
			for e.Stats().Waiting[metrics.WaitParked] == 0 {
				step()
			}
			step() // its plan started the clock of the stall
			step()
			time.Sleep(stall)
			step() // the next plan ends it
			if how == "panic" {
				m.panic.Store(true)
			} else {
				err := errors.New("broken")
				m.fail.Store(&err)
			}
			m.gate <- struct{}{}
			var device *DeviceError
			if err := <-other; !errors.As(err, &device) {
				t.Errorf("the request that was read ended with %v, want a DeviceError", err)
			}
			for ok := true; ok; {
				if _, ok, err = unread.Next(); !ok && !errors.Is(err, ErrStalled) {
					t.Errorf("the unread request ended with %v, want ErrStalled", err)
				}
			}
			settle(t, e)
		})
	}
}

func TestSlowReaderGetsEverything(t *testing.T) {
	r := Request{Tokens: prompt(5, 1), MaxTokens: 600}
	want := alone(t, r)
	e := openFake(t, &fakeModel{}, Options{KVPages: 200})
	s, err := e.Submit(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // the ring is full by now, and the request parked
	if st := e.Stats(); st.Waiting[metrics.WaitParked] != 1 {
		t.Errorf("%d requests parked, want 1", st.Waiting[metrics.WaitParked])
	}
	res, err := s.run()
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(res); !reflect.DeepEqual(got, want) {
		t.Errorf("got %d tokens that differ", len(got[0]))
	}
	settle(t, e)
}

func TestErrors(t *testing.T) {
	e := openFake(t, &fakeModel{}, Options{KVPages: 8, MaxContext: 200})
	for _, c := range []struct {
		name string
		r    Request
		as   any
	}{
		{"no prompt", Request{}, new(*RequestError)},
		{"two prompts", Request{Prompt: "a", Tokens: []int32{1}}, new(*RequestError)},
		{"text without a tokenizer", Request{Prompt: "a"}, new(*RequestError)},
		{"a token outside", Request{Tokens: []int32{99}}, new(*RequestError)},
		{"too many choices", Request{Tokens: []int32{1}, N: 129}, new(*RequestError)},
		{"a bias outside", Request{Tokens: []int32{1}, Sampling: Sampling{LogitBias: map[int32]float32{-1: 1}}}, new(*RequestError)},
		{"an empty stop string", Request{Tokens: []int32{1}, Stop: []string{""}}, new(*RequestError)},
		{"too long for the context", Request{Tokens: prompt(150, 1), MaxTokens: 60}, new(*ContextError)},
		{"too long for the pool", Request{Tokens: prompt(100, 1), MaxTokens: 60}, new(*PagesError)},
	} {
		_, err := e.Complete(context.Background(), c.r)
		if !errors.As(err, c.as) {
			t.Errorf("%s: %v (%T)", c.name, err, err)
		}
	}
	s := settle(t, e)
	if s.Rejected[metrics.RejectOutOfPages] != 1 {
		t.Errorf("%d rejected for pages, want 1", s.Rejected[metrics.RejectOutOfPages])
	}
}

func TestQueueFullAndDrain(t *testing.T) {
	m := &fakeModel{gate: make(chan struct{})}
	e := openFake(t, m, Options{KVPages: 64, Limits: sched.Limits{MaxSequences: 1, MaxTokens: 8, MaxQueue: 2}})
	r := Request{Tokens: prompt(4, 1), MaxTokens: 3}
	var wg sync.WaitGroup
	results := make(chan error, 8)
	var streams []*Stream
	full := 0
	go func() { // the gate lets steps through only as long as this runs
		for {
			select {
			case m.gate <- struct{}{}:
				time.Sleep(time.Millisecond)
			case <-e.done:
				return
			}
		}
	}()
	for range 12 {
		s, err := e.Submit(context.Background(), Request{Tokens: prompt(4, 1), MaxTokens: 40})
		var q *QueueFullError
		switch {
		case errors.As(err, &q):
			full++
			if q.Max != 2 || q.RetryAfter <= 0 {
				t.Errorf("%+v", q)
			}
		case err != nil:
			t.Error(err)
		default:
			streams = append(streams, s)
		}
	}
	if full == 0 {
		t.Error("the queue was never full")
	}
	for _, s := range streams {
		wg.Go(func() { _, err := s.run(); results <- err })
	}
	if err := e.Drain(context.Background()); err != nil {
		t.Error(err)
	}
	if e.Ready() {
		t.Error("ready while draining")
	}
	if _, err := e.Complete(context.Background(), r); !errors.Is(err, ErrDraining) {
		t.Errorf("a request after Drain: %v", err)
	}
	wg.Wait()
	for range streams {
		if err := <-results; err != nil {
			t.Errorf("a request taken before Drain: %v", err)
		}
	}
	settle(t, e)
}

func TestDrainEndsWhatIsLeft(t *testing.T) {
	e := openFake(t, &fakeModel{delay: time.Millisecond}, Options{KVPages: 300})
	s, err := e.Submit(context.Background(), Request{Tokens: prompt(4, 1), MaxTokens: 4000})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if err := e.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Drain: %v", err)
	}
	if _, err := s.run(); !errors.Is(err, ErrDraining) {
		t.Errorf("the request: %v", err)
	}
	settle(t, e)
}

func TestDeviceFailureEndsRequestsNotTheProgram(t *testing.T) {
	for _, how := range []string{"error", "panic"} {
		m := &fakeModel{delay: time.Millisecond}
		e := openFake(t, m, Options{KVPages: 300})
		s, err := e.Submit(context.Background(), Request{Tokens: prompt(4, 1), MaxTokens: 4000})
		if err != nil {
			t.Fatal(err)
		}
		broken := errors.New("broken")
		if how == "error" {
			m.fail.Store(&broken)
		} else {
			m.panic.Store(true)
		}
		var device *DeviceError
		if _, err := s.run(); !errors.As(err, &device) {
			t.Errorf("%s: the request ended with %v", how, err)
		}
		if _, err := e.Complete(context.Background(), Request{Tokens: []int32{1}}); !errors.As(err, &device) {
			t.Errorf("%s: a later request: %v", how, err)
		}
		if e.Ready() {
			t.Errorf("%s: still ready", how)
		}
		if err := e.Close(); !errors.As(err, &device) {
			t.Errorf("%s: Close: %v", how, err)
		}
	}
}

func TestNaNEndsOneRequest(t *testing.T) {
	e := openFake(t, &fakeModel{nan: 31, delay: 100 * time.Microsecond}, Options{KVPages: 300})
	good := Request{Tokens: []int32{1, 2, 3}, MaxTokens: 20, Sampling: Sampling{LogitBias: map[int32]float32{31: -100}}}
	want := alone(t, good)
	var wg sync.WaitGroup
	wg.Go(func() {
		if got := collect(t, e, good); !reflect.DeepEqual(got, want) {
			t.Error("the other request was disturbed")
		}
	})
	var token *TokenError
	if _, err := e.Complete(context.Background(), Request{Tokens: []int32{5, 31}, MaxTokens: 5}); !errors.As(err, &token) {
		t.Errorf("got %v", err)
	}
	wg.Wait()
	s := settle(t, e)
	if s.Finished[metrics.EndError] != 1 {
		t.Errorf("%d sequences ended in error, want 1", s.Finished[metrics.EndError])
	}
}

func TestCloseEndsEverything(t *testing.T) {
	e := openFake(t, &fakeModel{delay: time.Millisecond}, Options{KVPages: 300})
	s, err := e.Submit(context.Background(), Request{Tokens: prompt(4, 1), MaxTokens: 4000})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.run(); !errors.Is(err, ErrClosed) {
		t.Errorf("the request: %v", err)
	}
	if _, err := e.Complete(context.Background(), Request{Tokens: []int32{1}}); !errors.Is(err, ErrClosed) {
		t.Errorf("a later request: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error("second Close:", err)
	}
	if err := e.Drain(context.Background()); err != nil {
		t.Error("Drain after Close:", err)
	}
}

// TestWarmPrefixIsNotComputed: the second of two equal prompts adds only what no
// full page holds to the rows that are computed.
func TestWarmPrefixIsNotComputed(t *testing.T) {
	m := &fakeModel{}
	e := openFake(t, m, Options{KVPages: 200})
	r := Request{Tokens: prompt(500, 3), MaxTokens: 1}
	first := collect(t, e, r)
	rows := m.rows.Load()
	if rows != 500 {
		t.Errorf("%d rows for the first, want 500", rows)
	}
	res, err := e.Complete(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.rows.Load() - rows; got != 500-496 {
		t.Errorf("%d rows for the second, want 4", got)
	}
	if res.Usage.CachedTokens != 496 || !reflect.DeepEqual(ids(res), first) {
		t.Errorf("usage %+v", res.Usage)
	}
	r.CacheScope = "other"
	if res, err = e.Complete(context.Background(), r); err != nil || res.Usage.CachedTokens != 0 {
		t.Errorf("another scope found %d cached tokens, %v", res.Usage.CachedTokens, err)
	}
}

func TestMinTokensAndStopTokens(t *testing.T) {
	e := openFake(t, &fakeModel{}, Options{KVPages: 64})
	r := Request{Tokens: []int32{1, 2}, MaxTokens: 50}
	free := collect(t, e, r)[0]
	r.StopTokens = []int32{free[3]}
	res, err := e.Complete(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for free[at] != free[3] {
		at++
	}
	if got := ids(res)[0]; res.Finish != FinishStop || len(got) != at+1 {
		t.Errorf("stopped after %d tokens with %v, want %d", len(got), res.Finish, at+1)
	}
	r.MinTokens = 10
	res, err = e.Complete(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids(res)[0] {
		if id == free[3] && i < 10 {
			t.Errorf("the stop token came at %d, before MinTokens", i)
		}
	}
}

// TestStepAllocatesNothing drives the loop by hand, since AllocsPerRun counts the
// whole process.
func TestStepAllocatesNothing(t *testing.T) {
	e := openFake(t, &fakeModel{}, Options{KVPages: 400})
	r := Request{Tokens: prompt(20, 1), MaxTokens: 3000, N: 2, Logprobs: 3, Sampling: Sampling{Temperature: 0.7}}
	s, err := e.Submit(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 { // warm: buffers have their sizes
		s.Next()
	}
	top := make([]TokenLogprob, 0)
	_ = top
	n := testing.AllocsPerRun(300, func() {
		en, _, resumed, _, _ := s.job.ring.pop(s.top)
		_ = en
		if resumed {
			e.inbox.post(command{kind: cmdUnpark, job: s.job})
		}
		if s.job.ring.empty() {
			<-s.job.ring.wake
		}
	})
	if n > 0.5 {
		t.Errorf("%v allocations a token, want 0", n)
	}
	s.Close()
}
