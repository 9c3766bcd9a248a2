package metrics

import (
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Tests named after known faults of others, by their number there; metrics/FAULTS.md lists them, and internal/faults puts each fault
// in and sees its test fail.

// A negative amount crashed an engine. Here what runs backwards, a caller's mistake, counts as nothing, and no counter goes down.
func TestVLLM6642_NegativeAmounts(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	for range 2 {
		rec := &Record{Operation: Chat, PromptTokens: -5, CachedTokens: -3, GeneratedTokens: -7, Arrival: 9 * ms, Queued: 8 * ms, Scheduled: 7 * ms,
			First: 6 * ms, Last: 5 * ms, Finished: 4 * ms}
		rec.Open(1)
		rec.Choices[0] = Choice{First: 6 * ms, Last: 5 * ms, Tokens: 3}
		m.Finish(rec)
		m.Step(&StepStats{Tokens: -1, Took: -ms, Gaps: []TokenGap{{Chat, Live, -ms, 2}, {Chat, Live, ms, -2}}})
	}
	for name, v := range scrapeOf(t, r) {
		if v < 0 || v > 1e10 || math.IsNaN(v) {
			t.Errorf("%s is %v", name, v)
		}
		if strings.HasPrefix(name, "gen_ai") && strings.Contains(name, "_sum") && v != 0 {
			t.Errorf("%s is %v, want 0", name, v)
		}
	}
	if r.Faults() != 0 {
		t.Errorf("%d faults", r.Faults())
	}
}

// Each label set has a series of its own: what is pushed for one shows there and nowhere else.
func TestVLLM40840_OneSeriesPerLabelSet(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	models := []*Model{mustOpen(t, r, "a", nil, Chat), mustOpen(t, r, "b", nil, Chat)}
	count := func(model, op, or int) int { return 1 + model + 2*or + 6*op }
	for i, m := range models {
		for op := range NumOperations {
			for or := range NumOrigins {
				for range count(i, op, or) {
					m.Finish(finished(Operation(op), Origin(or), 2))
				}
			}
		}
	}
	s := scrapeOf(t, r)
	for i, m := range models {
		for op := range NumOperations {
			for or := range NumOrigins {
				b := base(Operation(op), m.Name(), Origin(or))
				n := float64(count(i, op, or))
				s.want(t, "gen_ai_server_request_duration_seconds_count{"+b+"}", n)
				s.want(t, "paddock_request_success_total{"+b+`,finish_reason="stop"}`, n)
				s.want(t, "paddock_request_prompt_tokens_sum{"+b+"}", 100*n)
			}
		}
	}
}

// Two scrapers don't take each other's numbers: reading resets nothing.
func TestLlamaCpp5937_ReadingResetsNothing(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", busySnapshot(), Chat)
	for n := range 4 {
		m.Finish(finished(Chat, Live, 5))
		first, second := scrapeOf(t, r), scrapeOf(t, r)
		first.want(t, "gen_ai_server_request_duration_seconds_count{"+base(Chat, "m", Live)+"}", float64(n+1))
		for name, v := range first {
			if second[name] != v {
				t.Errorf("%s is %v on one page and %v on the next", name, v, second[name])
			}
		}
	}
}

// No value is NaN, also before the first request and for an engine without pages.
func TestLlamaCpp11915_NoNaN(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	mustOpen(t, r, "m", &fixedSource{}, Chat)
	s := scrapeOf(t, r)
	for name, v := range s {
		if math.IsNaN(v) {
			t.Errorf("%s is NaN", name)
		}
	}
	s.want(t, `paddock_kv_cache_usage_perc{model="m"}`, 0)
}

// Time per output token is over the tokens after the first, in nanoseconds and not in whole milliseconds.
func TestUpstreamTPOT_AfterTheFirstToken(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	rec := finished(Chat, Live, 1)
	m.Finish(rec) // one token: no time between two
	rec = finished(Chat, Live, 0)
	for i := range 5 {
		rec.Token(0, time.Second+100*ms+time.Duration(i)*300*time.Microsecond, 1)
	}
	rec.Finished = rec.Last
	m.Finish(rec)
	s, b := scrapeOf(t, r), base(Chat, "m", Live)
	s.want(t, "gen_ai_server_time_per_output_token_seconds_count{"+b+"}", 1)
	s.want(t, "gen_ai_server_time_per_output_token_seconds_sum{"+b+"}", 0.0003)
	s.want(t, "gen_ai_server_time_to_first_token_seconds_count{"+b+"}", 2)
}

// Latencies of tokens are of successes alone: requests less errors less disconnects, so that quantiles have one meaning.
func TestUpstreamQuantiles_SuccessesOnly(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	for f := range FailReason(NumFailReasons) {
		rec := finished(Chat, Live, 4)
		rec.Fail = f
		m.Finish(rec)
	}
	s, b := scrapeOf(t, r), base(Chat, "m", Live)
	requests, failures := 0.0, 0.0
	for name, v := range s {
		switch {
		case strings.HasPrefix(name, "gen_ai_server_request_duration_seconds_count"):
			requests += v
		case strings.HasPrefix(name, "paddock_request_failure_total"):
			failures += v
		}
	}
	if requests != float64(NumFailReasons) || failures != requests-1 {
		t.Errorf("%v requests, %v failures; want %d, one of them no failure", requests, failures, NumFailReasons)
	}
	s.want(t, "gen_ai_server_time_to_first_token_seconds_count{"+b+"}", requests-failures)
	s.want(t, "gen_ai_server_time_per_output_token_seconds_count{"+b+"}", requests-failures)
}

// The start time is the process's, not that of the recorder.
func TestUpstreamStart_IsTheProcess(t *testing.T) {
	time.Sleep(30 * ms)
	first := NewRecorder(RecorderOptions{})
	time.Sleep(30 * ms)
	second := NewRecorder(RecorderOptions{})
	a, b := scrapeOf(t, first)["process_start_time_seconds"], scrapeOf(t, second)["process_start_time_seconds"]
	latest := float64(started.UnixNano()) / 1e9
	if runtime.GOOS == "linux" {
		latest += 0.02 // the system counts in ticks of 10 ms
	}
	if a != b || a > latest || a < latest-3600 {
		t.Errorf("the process started at %v and %v, this package was up at %v", a, b, latest)
	}
}

// A record that two parties finish, an edge and whoever is further out, is one request.
func TestLaw2_FinishedOnce(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	rec := finished(Chat, Live, 2)
	m.Begin(t.Context(), rec)
	m.Finish(rec)
	m.Finish(rec)
	s, b := scrapeOf(t, r), base(Chat, "m", Live)
	s.want(t, "gen_ai_server_request_duration_seconds_count{"+b+"}", 1)
	s.want(t, "paddock_request_success_total{"+b+`,finish_reason="stop"}`, 1)
	s.want(t, "paddock_num_requests_in_flight", 0)
}
