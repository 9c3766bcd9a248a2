package sched

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/paddock-go/paddock/kvcache"
)

// decoding is a scheduler with n sequences in the middle of long outputs, and outcomes to feed it.
func decoding(t testing.TB, n int, drafts bool) (*Scheduler, []Outcome) {
	t.Helper()
	const most = 1 << 12
	pool, err := kvcache.New(n*(most/16+2), 16)
	if err != nil {
		t.Fatal(err)
	}
	s := New(pool, Limits{})
	out := make([]Outcome, n)
	for i := range n {
		q := &Sequence{ID: SeqID(i), Tokens: make([]int32, 20, 20+most), MaxTokens: most, Tenant: fmt.Sprint(i % 3), Draft: make([]int32, 0, MaxDraft)}
		for k := range q.Tokens {
			q.Tokens[k] = int32(i * k)
		}
		if err := s.Add(0, q); err != nil {
			t.Fatal(err)
		}
		out[i] = Outcome{Seq: q, Tokens: make([]int32, 1, MaxDraft)}
	}
	for s.Stats().Waiting > 0 || s.Stats().PromptTokens > s.Stats().Rows {
		p := s.Next(0)
		var now []Outcome
		for _, b := range p.Spans {
			if b.Logits > 0 {
				now = append(now, Outcome{Seq: b.Seq, Tokens: []int32{1}})
			}
		}
		s.Commit(p, time.Millisecond, now)
	}
	return s, out
}

// A warm step allocates nothing: not when pages fill and are hashed, not with drafts, not with a queue behind it.
func TestWarmStepAllocatesNothing(t *testing.T) {
	for _, drafts := range []bool{false, true} {
		s, out := decoding(t, 64, drafts)
		if err := s.Add(0, &Sequence{ID: 1000, Tokens: make([]int32, 200)}); err != nil { // waits for a place
			t.Fatal(err)
		}
		step := func() {
			if drafts {
				for i := range out {
					out[i].Seq.Draft = append(out[i].Seq.Draft[:0], 7, 8, 9)
					out[i].Tokens = append(out[i].Tokens[:0], 7, 8, 3)
				}
			}
			p := s.Next(0)
			if len(p.Spans) != 64 {
				t.Fatalf("%d spans", len(p.Spans))
			}
			s.Commit(p, time.Millisecond, out)
		}
		step() // the plan grows to its size
		before := s.Stats()
		if n := testing.AllocsPerRun(200, step); n != 0 {
			t.Errorf("drafts %v: %v allocations a step", drafts, n)
		}
		after := s.Stats()
		if after.Pages.Used-before.Pages.Used < 64*10 || after.Drafts > before.Drafts != drafts {
			t.Errorf("the steps were not what they should be: %+v, then %+v", before, after)
		}
		if n := testing.AllocsPerRun(10, func() { s.Stats() }); n != 0 {
			t.Errorf("%v allocations in Stats", n)
		}
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkDecodeStep(b *testing.B) {
	s, out := decoding(b, 64, false)
	b.ReportAllocs()
	for b.Loop() {
		if s.live[0].Generated() > 4000 {
			b.StopTimer()
			s, out = decoding(b, 64, false)
			b.StartTimer()
		}
		s.Commit(s.Next(0), time.Millisecond, out)
	}
	b.ReportMetric(float64(b.N)*64/b.Elapsed().Seconds(), "rows/s")
}

func TestValidate(t *testing.T) {
	err := Limits{MaxTokens: 4, MaxSequences: 8, MaxQueue: -1, MinChunk: -2}.Validate()
	for _, want := range []string{"Limits.MaxSequences is 8, it must not exceed MaxTokens (4)", "Limits.MaxQueue is -1", "Limits.MinChunk is -2"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate: %v, want %q in it", err, want)
		}
	}
	for _, l := range []Limits{{}, {MaxTokens: 3}, {MaxSequences: 2000}, {MaxChunk: 1}, {MaxTokens: 8, MaxChunk: 100}} {
		d := l.WithDefaults()
		if l.Validate() != nil || d.Validate() != nil || d.MaxSequences > d.MaxTokens || d.MaxChunk > d.MaxTokens || d.MinChunk > d.MaxChunk || d.MinChunk < 1 {
			t.Errorf("%+v becomes %+v", l, d)
		}
	}
}

func TestErrorsCarryNumbers(t *testing.T) {
	m := newSim(t, 4, 4, Limits{MaxQueue: 1, MaxContext: 40})
	var large *TooLargeError
	if err := m.add(&Sequence{ID: 1, Tokens: make([]int32, 10), MaxTokens: 7}); !errors.As(err, &large) || *large != (TooLargeError{Need: 5, Have: 4, Prompt: 10, Max: 7, Choices: 1}) {
		t.Errorf("%v", err)
	}
	var long *ContextError
	if err := m.add(&Sequence{ID: 1, Tokens: make([]int32, 10), MaxTokens: 1 << 62}); !errors.As(err, &long) || *long != (ContextError{Prompt: 10, Max: 1 << 62, Limit: 40}) {
		t.Errorf("%v", err)
	}
	if err := m.add(&Sequence{ID: 1, Tokens: make([]int32, 10)}); err != nil {
		t.Fatal(err)
	}
	var full *QueueFullError
	if err := m.add(&Sequence{ID: 2, Tokens: make([]int32, 10)}); !errors.As(err, &full) || *full != (QueueFullError{Queued: 1, Max: 1, RetryAfter: time.Second}) {
		t.Errorf("%v", err)
	}
	m.s.Drain()
	if err := m.add(&Sequence{ID: 2, Tokens: make([]int32, 10)}); !errors.Is(err, ErrDraining) {
		t.Errorf("%v", err)
	}
	if got := m.s.Stats().Rejected; got != (Rejections{QueueFull: 1, ContextLength: 1, OutOfPages: 1, Draining: 1}) {
		t.Errorf("%+v", got)
	}
	// Numbers at the end of their range must not wrap into acceptance.
	m = newSim(t, 4, 4, Limits{})
	if err := m.add(&Sequence{ID: 1, Tokens: make([]int32, 10), MaxTokens: 1<<63 - 1}); !errors.As(err, &large) || large.Need <= large.Have {
		t.Errorf("%v", err)
	}
}

// The retry hint follows how often sequences end.
func TestRetryHint(t *testing.T) {
	var e endings
	if e.hint() != time.Second {
		t.Errorf("before anything ended: %s", e.hint())
	}
	for i := range 40 {
		e.add(time.Duration(i) * 10 * time.Second)
	}
	if h := e.hint(); h < 9*time.Second || h > 10*time.Second {
		t.Errorf("one every 10 s: %s", h)
	}
	e.add(time.Hour * 10)
	if e.hint() != time.Minute {
		t.Errorf("after a long silence: %s", e.hint())
	}
}

func TestWake(t *testing.T) {
	m := newSim(t, 4, 4, Limits{StallTimeout: 10 * time.Second})
	for id := range SeqID(2) {
		if err := m.add(&Sequence{ID: id, Tokens: make([]int32, 3)}); err != nil {
			t.Fatal(err)
		}
		m.s.Park(id, true)
		m.now += time.Second
		if _, any := m.s.Wake(); any != (id > 0) {
			t.Errorf("before the first step that finds it parked: %v", any)
		}
		m.step(0)
	}
	if at, any := m.s.Wake(); !any || at != 11*time.Second {
		t.Errorf("wake at %s, %v", at, any)
	}
	m.now = 11 * time.Second
	if p := m.step(0); len(p.Ended) != 1 || p.Ended[0].Reason != ReasonDisconnect {
		t.Errorf("ended: %v", p)
	}
	m.now = 12*time.Second - 1
	if p := m.step(0); len(p.Ended) != 0 {
		t.Errorf("ended early: %v", p)
	}
	m.now++
	m.step(0)
	if _, any := m.s.Wake(); any || !m.s.Idle() {
		t.Error("nobody is left to wake for")
	}
}

// The first-scheduled stamp and the prefix hit of a sequence are fixed at its first admission, whatever happens later.
func TestFirstAdmissionIsFixed(t *testing.T) {
	m := newSim(t, 6, 4, Limits{MaxStepTime: -1})
	a := &Sequence{ID: 1, Tokens: words("aaaaaaa"), MaxTokens: 12, Priority: 1}
	b := &Sequence{ID: 2, Tokens: words("bbbbbbb"), MaxTokens: 12}
	for _, q := range []*Sequence{a, b} {
		if err := m.add(q); err != nil {
			t.Fatal(err)
		}
		if _, any := q.FirstScheduled(); any {
			t.Error("scheduled before the first step")
		}
	}
	for b.Wait() != WaitPreempted {
		m.step(time.Second)
	}
	m.cancel(1, ReasonStop)
	m.step(time.Second)
	if at, any := b.FirstScheduled(); !any || at != 0 || b.Cached() != 0 || b.Computed() <= 7 {
		t.Errorf("scheduled at %s (%v), cached %d, computed %d", at, any, b.Cached(), b.Computed())
	}
	s := m.s.Stats()
	if s.PrefixQueries != 14 || s.PrefixHits != 0 || s.RecomputedTokens == 0 || s.Preemptions != 1 {
		t.Errorf("the return counted as a request: %+v", s)
	}
}

// A tenant pays for a prompt when it is admitted, for each token once, and gets back what was never computed.
func TestTenantPaysOnce(t *testing.T) {
	m := newSim(t, 64, 4, Limits{MaxTokens: 16, MaxStepTime: -1})
	stays := &Sequence{ID: 2, Tokens: words("x"), MaxTokens: 50, Tenant: "a"}
	long := &Sequence{ID: 1, Tokens: make([]int32, 100), MaxTokens: 5, Tenant: "a", Priority: 1}
	for _, q := range []*Sequence{long, stays} {
		if err := m.add(q); err != nil {
			t.Fatal(err)
		}
	}
	// The only tenant has a quantum for each round so far, less what it paid.
	paid := func() int { return int(m.s.queue.round)*16 - int(m.s.queue.names["a"].credit) }
	for i := range 2 { // two chunks of a prompt that is paid
		if m.step(0); paid() != 100 {
			t.Fatalf("after step %d: %d tokens are paid", i, paid())
		}
	}
	m.cancel(1, ReasonAbort)
	if paid() != 32 {
		t.Errorf("of 100 tokens 32 were computed, %d are paid", paid())
	}
	for range 5 { // a prompt of one token, four generated ones
		m.step(0)
	}
	if paid() != 32+5 {
		t.Errorf("37 tokens were computed, %d are paid", paid())
	}
}

// What only a caller's mistake can cause is a panic with a sentence.
func TestMisusePanics(t *testing.T) {
	for want, do := range map[string]func(s *Scheduler, q *Sequence){
		"Next before the Commit": func(s *Scheduler, q *Sequence) { s.Next(0); s.Next(0) },
		"was committed before": func(s *Scheduler, q *Sequence) {
			p := s.Next(0)
			s.Commit(p, 0, nil)
			s.Commit(p, 0, nil)
		},
		"not the last one": func(s *Scheduler, q *Sequence) { s.Next(0); s.Commit(&Plan{}, 0, nil) },
		"2 tokens for sequence 1, which has logits for 1": func(s *Scheduler, q *Sequence) {
			s.Commit(s.Next(0), 0, []Outcome{{Seq: q, Tokens: []int32{1, 2}}})
		},
		"0 tokens for sequence 1": func(s *Scheduler, q *Sequence) { s.Commit(s.Next(0), 0, []Outcome{{Seq: q}}) },
		"which had no logits": func(s *Scheduler, q *Sequence) {
			s.Commit(s.Next(0), 0, []Outcome{{Seq: &Sequence{ID: 5}, Tokens: []int32{1}}})
		},
		"two outcomes for one": func(s *Scheduler, q *Sequence) {
			o := Outcome{Seq: q, Tokens: []int32{1}}
			s.Commit(s.Next(0), 0, []Outcome{o, o})
		},
		"kept for sequence 1 is 4, but 3 was computed": func(s *Scheduler, q *Sequence) {
			s.Commit(s.Next(0), 0, []Outcome{{Seq: q, Tokens: []int32{1}}})
			q.Draft = []int32{3}
			s.Commit(s.Next(0), 0, []Outcome{{Seq: q, Tokens: []int32{4, 5}}})
		},
		"its fork 3 has none": func(s *Scheduler, q *Sequence) {
			s.Cancel(1, ReasonAbort)
			l := &Sequence{ID: 2, Tokens: []int32{1}, Forks: []*Sequence{{ID: 3}}}
			if err := s.Add(0, l); err != nil {
				panic(err)
			}
			s.Commit(s.Next(0), 0, []Outcome{{Seq: l, Tokens: []int32{1}}})
		},
		"for the fork 3, which has logits for one": func(s *Scheduler, q *Sequence) {
			s.Cancel(1, ReasonAbort)
			l := &Sequence{ID: 2, Tokens: []int32{1}, Forks: []*Sequence{{ID: 3}}}
			if err := s.Add(0, l); err != nil {
				panic(err)
			}
			s.Commit(s.Next(0), 0, []Outcome{{Seq: l, Tokens: []int32{1}}, {Seq: l.Forks[0]}})
		},
		"Limits.MaxQueue": func(s *Scheduler, q *Sequence) { New(s.pool, Limits{MaxQueue: -1}) },
	} {
		t.Run(want, func(t *testing.T) {
			m := newSim(t, 8, 4, Limits{})
			q := &Sequence{ID: 1, Tokens: []int32{1, 2, 3}}
			if err := m.add(q); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, want) {
					t.Errorf("panic %q", r)
				}
			}()
			do(m.s, q)
		})
	}
}

// Every value has a name of its own.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for r := range NumReasons {
		seen["r"+r.String()] = true
	}
	for w := range NumWaits {
		seen["w"+w.String()] = true
	}
	for s := StateNew; s <= StateEnded; s++ {
		seen["s"+s.String()] = true
	}
	if n := int(NumReasons) + int(NumWaits) + 4; len(seen) != n {
		t.Errorf("%d names for %d values", len(seen), n)
	}
	if Reason(99).String() != "unknown" || Wait(99).String() != "unknown" || State(99).String() != "unknown" {
		t.Error("names for what does not exist")
	}
	for r, want := range map[Reason]bool{ReasonNone: false, ReasonStop: true, ReasonLength: true, ReasonStopSequence: true, ReasonToolCalls: true, ReasonAbort: false, ReasonError: false} {
		if r.Success() != want {
			t.Errorf("%s is a success: %v", r, r.Success())
		}
	}
}
