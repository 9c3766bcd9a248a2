package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func mustEvents(t testing.TB, r *Recorder, since uint64, limit int) EventPage {
	t.Helper()
	p, err := r.Events(context.Background(), since, limit, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantPage fails unless the page has the events from ≤ seq < to, dropped and no more.
func wantPage(t testing.TB, what string, p EventPage, dropped, from, to uint64) {
	t.Helper()
	if p.Dropped != dropped || p.Next != to || uint64(len(p.Events)) != to-from {
		t.Errorf("%s: next %d, dropped %d, %d events; want next %d, dropped %d, %d events", what, p.Next, p.Dropped, len(p.Events), to, dropped, to-from)
	}
	for i, e := range p.Events {
		if e.Seq != from+uint64(i) {
			t.Fatalf("%s: event %d has number %d, want %d", what, i, e.Seq, from+uint64(i))
		}
	}
}

func TestEventsOverwriteTheOldest(t *testing.T) {
	r := newTestRecorder(RecorderOptions{Events: 100})
	m := mustOpen(t, r, "m", nil, Chat)
	push := func(n int) {
		for range n {
			m.Finish(finished(Chat, Live, 3))
		}
	}
	wantPage(t, "nothing yet", mustEvents(t, r, OldestEvent, 0), 0, 0, 0)
	wantPage(t, "nothing yet, from 0", mustEvents(t, r, 0, 0), 0, 0, 0)
	wantPage(t, "an earlier process's", mustEvents(t, r, 1, 0), 0, 0, 0)
	push(70)
	wantPage(t, "all", mustEvents(t, r, OldestEvent, 0), 0, 0, 70)
	wantPage(t, "all, from 0", mustEvents(t, r, 0, 0), 0, 0, 70)
	wantPage(t, "a few", mustEvents(t, r, 3, 5), 0, 3, 8)
	wantPage(t, "more than a chunk", mustEvents(t, r, 1, 66), 0, 1, 67)
	wantPage(t, "at the head", mustEvents(t, r, 70, 0), 0, 70, 70)
	wantPage(t, "beyond the head", mustEvents(t, r, 71, 0), 0, 70, 70)
	push(200) // 170 … 269 are there
	wantPage(t, "the oldest", mustEvents(t, r, OldestEvent, 0), 0, 170, 270)
	if n := r.events.dropped.Load(); n != 0 {
		t.Errorf("%d dropped before anybody asked for them", n)
	}
	wantPage(t, "late", mustEvents(t, r, 160, 0), 10, 170, 270)
	wantPage(t, "late, a few", mustEvents(t, r, 160, 3), 10, 170, 173)
	wantPage(t, "just in time", mustEvents(t, r, 170, 0), 0, 170, 270)
	wantPage(t, "very late", mustEvents(t, r, 0, 0), 170, 170, 270)
	wantPage(t, "around the end of the ring", mustEvents(t, r, 195, 10), 0, 195, 205)
	s := scrapeOf(t, r)
	s.want(t, "paddock_events_dropped_total", 170)
}

func TestEventPagesAreBounded(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	for range 3000 {
		m.Finish(finished(Chat, Live, 1))
	}
	wantPage(t, "by default", mustEvents(t, r, 10, 0), 0, 10, 10+DefaultEventPage)
	wantPage(t, "below 0", mustEvents(t, r, 10, -5), 0, 10, 10+DefaultEventPage)
	wantPage(t, "at most", mustEvents(t, r, 10, 5000), 0, 10, 10+MaxEventPage)
}

// A page that writers overtake between two chunks ends there.
func TestOvertakenPagesEndEarly(t *testing.T) {
	r := newTestRecorder(RecorderOptions{Events: 100})
	m := mustOpen(t, r, "m", nil, Chat)
	for range 150 {
		m.Finish(finished(Chat, Live, 1))
	}
	var chunk [eventChunk]event
	for from, want := range map[uint64]int{0: 0, 49: 0, 50: 64, 100: 50, 149: 1, 150: 0} {
		if n := r.events.more(from, chunk[:]); n != want {
			t.Errorf("%d events from %d, want %d", n, from, want)
		}
	}
}

// The numbers that were dropped count once, however many readers ask for them, in whatever order.
func TestDroppedEventsCountOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l lostRanges
		lost, tail, sum := map[uint64]bool{}, uint64(0), uint64(0)
		for range rapid.IntRange(0, 12).Draw(t, "asks") {
			tail += rapid.Uint64Range(0, 9).Draw(t, "overwritten")
			if tail == 0 {
				continue
			}
			since := rapid.Uint64Range(0, tail-1).Draw(t, "since")
			sum += l.add(since, tail)
			for i := since; i < tail; i++ {
				lost[i] = true
			}
			if sum != uint64(len(lost)) {
				t.Fatalf("after %d–%d: %d counted, %d lost", since, tail, sum, len(lost))
			}
		}
	})
}

// With more holes than are remembered, nothing counts twice.
func TestDroppedEventsNeverCountTwice(t *testing.T) {
	var l lostRanges
	sum := uint64(0)
	for i := range uint64(100) {
		sum += l.add(10*i, 10*i+1)
	}
	if sum != 100 {
		t.Errorf("%d counted of 100 apart", sum)
	}
	if sum += l.add(0, 1000); sum > 1000 || sum < 100+15*9 {
		t.Errorf("%d counted of 1000 numbers", sum)
	}
	if n := l.add(0, 1000); n != 0 {
		t.Errorf("%d counted again", n)
	}
}

func TestEventFields(t *testing.T) {
	clock := newTestClock()
	r := clock.recorder(t, RecorderOptions{})
	m := mustOpen(t, r, "tiny", nil, Chat)
	rec := &Record{Operation: Chat, Origin: Batch, Stream: true, ID: "req-1", Tenant: "acme", Session: "s", User: "u", Route: "POST /v1/chat/completions",
		Status: 200, TraceID: [16]byte{0x4b, 15: 0x36}, SpanID: [8]byte{7: 0xb7},
		Arrival: time.Second, Queued: time.Second + 1234567, Scheduled: time.Second + 20*ms, PromptTokens: 100, CachedTokens: 32,
		Tokenizing: 1000001, Preemptions: 1, Drafted: 8, Accepted: 5, KVPages: 7, Finish: Length}
	rec.Open(1)
	for i := range 5 {
		rec.Token(0, time.Second+100*ms+time.Duration(i)*10*ms, 1)
	}
	rec.Finished = rec.Last + 1
	m.Finish(rec)

	two := finished(Chat, Live, 0)
	two.Open(2)
	two.Choices[0].Finish, two.Choices[1].Finish = Stop, ToolCalls
	two.Token(0, time.Second+100*ms, 1)
	two.Token(1, time.Second+200*ms, 4)
	m.Finish(two)

	m.Finish(&Record{Operation: Chat, Route: "POST /v1/chat/completions", Status: 401, Fail: Unauthorized, Arrival: time.Second, Finished: time.Second + ms})

	gone := finished(Chat, Studio, 2)
	gone.Fail = Disconnect
	m.Finish(gone)

	want := []string{
		`{"seq":0,"ts_ms":1752483601140,"endpoint":"POST /v1/chat/completions","status":200,"duration_ms":140.000001,"stream":true,` +
			`"request_id":"req-1","trace_id":"4b000000000000000000000000000036","span_id":"00000000000000b7","session_id":"s","user":"u","tenant":"acme",` +
			`"gen_ai.operation.name":"chat","gen_ai.provider.name":"paddock","gen_ai.request.model":"tiny","gen_ai.usage.input_tokens":100,` +
			`"gen_ai.usage.output_tokens":5,"gen_ai.response.finish_reasons":["length"],"paddock.origin":"batch","paddock.cached_tokens":32,` +
			`"paddock.tokenize_ms":1.000001,"paddock.queue_ms":18.765433,"paddock.prefill_ms":80,"paddock.decode_ms":40,"paddock.ttft_ms":100,` +
			`"paddock.tpot_ms":10,"paddock.decode_tok_s":100,"paddock.preemptions":1,"paddock.spec_drafted":8,"paddock.spec_accepted":5,` +
			`"paddock.kv_pages":7,"paddock.choices":1}`,
		`{"seq":1,"ts_ms":1752483601001,"duration_ms":1,"stream":false,"gen_ai.operation.name":"chat","gen_ai.provider.name":"paddock",` +
			`"gen_ai.request.model":"tiny","gen_ai.usage.input_tokens":100,"gen_ai.usage.output_tokens":5,"gen_ai.response.finish_reasons":["stop","tool_calls"],` +
			`"paddock.origin":"live","paddock.cached_tokens":32,"paddock.queue_ms":18,"paddock.prefill_ms":80,"paddock.decode_ms":100,"paddock.ttft_ms":100,` +
			`"paddock.decode_tok_s":40,"paddock.preemptions":0,"paddock.choices":2}`,
		`{"seq":2,"ts_ms":1752483601001,"endpoint":"POST /v1/chat/completions","status":401,"duration_ms":1,"stream":false,"gen_ai.operation.name":"chat",` +
			`"gen_ai.provider.name":"paddock","gen_ai.request.model":"tiny","error.type":"401","paddock.failure_reason":"unauthorized","paddock.origin":"live"}`,
		`{"seq":3,"ts_ms":1752483601111,"duration_ms":111,"stream":false,"gen_ai.operation.name":"chat","gen_ai.provider.name":"paddock",` +
			`"gen_ai.request.model":"tiny","gen_ai.usage.input_tokens":100,"gen_ai.usage.output_tokens":2,"error.type":"disconnect",` +
			`"paddock.failure_reason":"disconnect","paddock.origin":"studio","paddock.cached_tokens":32,"paddock.queue_ms":18,"paddock.prefill_ms":80,` +
			`"paddock.decode_ms":10,"paddock.ttft_ms":100,"paddock.tpot_ms":10,"paddock.decode_tok_s":100,"paddock.preemptions":0,"paddock.choices":1,` +
			`"paddock.client_disconnected":true}`,
	}
	page := mustEvents(t, r, 0, 0)
	for i, w := range want {
		if i == 1 { // its last token came after finished() had stamped an end
			page.Events[i].DurationMS, page.Events[i].TimeMS = 1, 1752483601001
		}
		b, err := json.Marshal(page.Events[i])
		if err != nil {
			t.Fatal(err)
		}
		if string(b) != w {
			t.Errorf("event %d is\n%s\nwant\n%s", i, b, w)
		}
		var back Event
		if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, page.Events[i]) {
			t.Errorf("event %d doesn't come back from JSON: %v\n%+v", i, err, back)
		}
	}
}

// A text that is too long isn't kept, since a part of it would hold all of its memory, and the event says so.
func TestLongTextsOfEventsAreLeftOut(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	rec := finished(Chat, Live, 1)
	rec.ID, rec.User, rec.Session = strings.Repeat("é", 128), strings.Repeat("x", 257), strings.Repeat("y", 1<<20)
	m.Finish(rec)
	many := finished(Chat, Live, 1)
	many.Open(129)
	m.Finish(many)
	most := finished(Chat, Live, 1)
	most.Open(128)
	for i := range most.Choices {
		most.Choices[i].Finish = FinishReason(1 + i%4)
	}
	m.Finish(most)
	e := mustEvents(t, r, 0, 0).Events
	if e[0].RequestID != rec.ID || e[0].User != "" || e[0].SessionID != "" || fmt.Sprint(e[0].TooLong) != "[session_id user]" {
		t.Errorf("id %d bytes, user %q, session %d bytes, too long %v", len(e[0].RequestID), e[0].User, len(e[0].SessionID), e[0].TooLong)
	}
	if e[1].FinishReasons != nil || e[1].Choices != 129 || fmt.Sprint(e[1].TooLong) != "[gen_ai.response.finish_reasons]" {
		t.Errorf("129 choices: %d, %v, too long %v", e[1].Choices, e[1].FinishReasons, e[1].TooLong)
	}
	for i, f := range e[2].FinishReasons {
		if f != FinishReason(1+i%4).String() {
			t.Errorf("choice %d ended by %q", i, f)
		}
	}
	if len(e[2].FinishReasons) != 128 {
		t.Errorf("%d finish reasons of 128", len(e[2].FinishReasons))
	}
}

// anyRecord draws a record of any life, stamps missing or out of order included.
func anyRecord(t *rapid.T) *Record {
	stamp := rapid.SampledFrom([]time.Duration{0, 1, 5 * ms, time.Second, time.Second + 1, 2 * time.Second, 3*time.Second + 7})
	rec := &Record{Operation: Operation(rapid.IntRange(0, NumOperations-1).Draw(t, "operation")),
		Origin: Origin(rapid.IntRange(0, NumOrigins-1).Draw(t, "origin")), Fail: FailReason(rapid.IntRange(0, NumFailReasons-1).Draw(t, "fail")),
		Arrival: 1 + stamp.Draw(t, "arrival"), Queued: stamp.Draw(t, "queued"), Scheduled: stamp.Draw(t, "scheduled"),
		Finished: 1 + stamp.Draw(t, "finished"), PromptTokens: rapid.IntRange(0, 9).Draw(t, "prompt")}
	rec.Open(rapid.IntRange(0, 2).Draw(t, "choices"))
	for i := range rec.Choices {
		for range rapid.IntRange(0, 2).Draw(t, "tokens") {
			rec.Token(i, 1+stamp.Draw(t, "token"), rapid.IntRange(1, 3).Draw(t, "at once"))
		}
	}
	return rec
}

// What an event says of a request is what the histograms took of it.
func TestEventsAgreeWithHistograms(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newTestRecorder(RecorderOptions{})
		m := mustOpen(t, r, "m", nil, Chat)
		rec := anyRecord(rt)
		m.Finish(rec)
		e := mustEvents(t, r, 0, 0).Events[0]
		s := scrapeOf(t, r)
		labels := base(rec.Operation, "m", rec.Origin)
		same := func(family, labels string, v *float64, unit float64) {
			count := s[family+"_count{"+labels+"}"]
			if v == nil {
				if count != 0 {
					rt.Errorf("%s has %v observations, the event none", family, count)
				}
				return
			}
			if sum := s[family+"_sum{"+labels+"}"]; count != 1 || math.Abs(sum-*v/unit) > 1e-12 {
				rt.Errorf("%s has %v observations, sum %v; the event %v", family, count, sum, *v/unit)
			}
		}
		ended := labels
		if e.ErrorType != "" {
			ended += `,error_type="` + e.ErrorType + `"`
		}
		same("gen_ai_server_request_duration_seconds", ended, &e.DurationMS, 1000)
		same("paddock_request_queue_time_seconds", labels, e.QueueMS, 1000)
		same("paddock_request_prefill_time_seconds", labels, e.PrefillMS, 1000)
		same("paddock_request_decode_time_seconds", labels, e.DecodeMS, 1000)
		if rec.Queued != 0 {
			in, out := float64(*e.InputTokens), float64(*e.OutputTokens)
			same("paddock_request_prompt_tokens", labels, &in, 1)
			same("paddock_request_generation_tokens", labels, &out, 1)
		}
		if len(rec.Choices) == 1 && rec.Fail == NoFail {
			same("gen_ai_server_time_to_first_token_seconds", labels, e.FirstTokenMS, 1000)
			same("gen_ai_server_time_per_output_token_seconds", labels, e.PerTokenMS, 1000)
		}
	})
}

func TestRecordersWithoutEvents(t *testing.T) {
	for name, r := range map[string]*Recorder{"none": newTestRecorder(RecorderOptions{Events: -1}), "off": Off} {
		m, err := r.OpenModel("m", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Finish(finished(Chat, Live, 1))
		if _, err := r.Events(context.Background(), 0, 0, time.Hour); !errors.Is(err, ErrNoEvents) {
			t.Errorf("%s: %v", name, err)
		}
		m.Close()
	}
	r := newTestRecorder(RecorderOptions{Events: -1})
	scrapeOf(t, r).absent(t, "paddock_events_dropped")
	r = newTestRecorder(RecorderOptions{NoMetrics: true})
	m := mustOpen(t, r, "m", nil, Chat)
	m.Finish(finished(Chat, Live, 1))
	wantPage(t, "without metrics", mustEvents(t, r, 0, 0), 0, 0, 1)
}

func TestWaitingForEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestRecorder(RecorderOptions{})
		m := mustOpen(t, r, "m", nil, Chat)
		start := time.Now()
		ask := func(ctx context.Context, since uint64, wait time.Duration) (EventPage, time.Duration, error) {
			at := time.Now()
			p, err := r.Events(ctx, since, 0, wait)
			return p, time.Since(at), err
		}
		bg := context.Background()
		if p, took, err := ask(bg, 0, time.Minute); err != nil || took != time.Minute || len(p.Events) != 0 || p.Next != 0 || p.Events == nil {
			t.Errorf("waited in vain: %+v after %v, %v", p, took, err)
		}
		if _, took, err := ask(bg, 5, time.Minute); err != nil || took != 0 {
			t.Errorf("a number of another process waited %v, %v", took, err)
		}
		var wg sync.WaitGroup
		for _, since := range []uint64{0, OldestEvent, 0} {
			wg.Go(func() {
				if p, took, err := ask(bg, since, time.Minute); err != nil || took != time.Second {
					t.Errorf("answered after %v, %v", took, err)
				} else {
					wantPage(t, "woken", p, 0, 0, 1)
				}
			})
		}
		time.Sleep(time.Second)
		m.Finish(finished(Chat, Live, 1))
		wg.Wait()
		if p, took, err := ask(bg, 0, time.Minute); err != nil || took != 0 || len(p.Events) != 1 {
			t.Errorf("what is there already took %v, %v", took, err)
		}
		ctx, cancel := context.WithTimeout(bg, 3*time.Second)
		defer cancel()
		if p, took, err := ask(ctx, 1, time.Minute); !errors.Is(err, context.DeadlineExceeded) || took != 3*time.Second || p.Next != 1 {
			t.Errorf("left: %+v after %v, %v", p, took, err)
		}
		if time.Since(start) != time.Minute+4*time.Second {
			t.Errorf("all took %v", time.Since(start))
		}
	})
}

// Readers that follow the head see each event once, in order, or count it as dropped, while writers write as fast as they can.
func TestReadersFollowWriters(t *testing.T) {
	const writers, each, readers = 3, 3000, 3
	r := newTestRecorder(RecorderOptions{Events: 200})
	m := mustOpen(t, r, "m", nil, Chat)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				rec := finished(Chat, Live, 2)
				rec.PromptTokens, rec.CachedTokens = w*each+i, 2*(w*each+i) // torn if they don't hang together
				m.Finish(rec)
			}
		})
	}
	for range readers {
		wg.Go(func() {
			var since, seen, dropped uint64
			for since < writers*each {
				p, err := r.Events(context.Background(), since, 100, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				if p.Next != since+p.Dropped+uint64(len(p.Events)) {
					t.Errorf("asked from %d: next %d, dropped %d, %d events", since, p.Next, p.Dropped, len(p.Events))
					return
				}
				for i, e := range p.Events {
					if e.Seq != since+p.Dropped+uint64(i) || *e.CachedTokens != 2**e.InputTokens {
						t.Errorf("event %d of the page from %d has number %d, %d and %d tokens", i, since, e.Seq, *e.InputTokens, *e.CachedTokens)
					}
				}
				seen, dropped, since = seen+uint64(len(p.Events)), dropped+p.Dropped, p.Next
			}
			if seen+dropped != writers*each {
				t.Errorf("%d seen, %d dropped of %d", seen, dropped, writers*each)
			}
			if d := r.events.dropped.Load(); d < dropped {
				t.Errorf("a reader missed %d, the counter has %d", dropped, d)
			}
		})
	}
	wg.Wait()
	if d := r.events.dropped.Load(); d > writers*each {
		t.Errorf("%d dropped of %d", d, writers*each)
	}
}

func TestPushingEventsAllocatesNothing(t *testing.T) {
	r := newTestRecorder(RecorderOptions{Events: 8})
	m := mustOpen(t, r, "m", nil, Chat)
	rec := finished(Chat, Live, 20)
	rec.ID, rec.Session, rec.Route = "req-1", strings.Repeat("x", 5000), "POST /v1/chat/completions"
	r.events.waiter(0)
	if n := testing.AllocsPerRun(1000, func() { r.events.push(r, m, rec) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The bytes that the comment of eventRing states.
func TestEventRingBytes(t *testing.T) {
	const stated = 328
	size := int(reflect.TypeFor[event]().Size())
	t.Logf("event: %d bytes; ring of %d: %d bytes, with the longest texts %d", size, defaultEvents, size*defaultEvents,
		(size+numEventTexts*maxEventText)*defaultEvents)
	if size > stated {
		t.Errorf("an event has %d bytes, stated are %d", size, stated)
	}
	if chunk := size * eventChunk; chunk > 32<<10 {
		t.Errorf("a reader copies %d bytes under the lock", chunk)
	}
}

func BenchmarkPushEvent(b *testing.B) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(b, r, "m", nil, Chat)
	rec := finished(Chat, Live, 20)
	rec.ID, rec.Route = "req-1", "POST /v1/chat/completions"
	b.ReportAllocs()
	for b.Loop() {
		r.events.push(r, m, rec)
	}
}
