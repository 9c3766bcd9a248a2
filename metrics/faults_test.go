package metrics

import (
	"math"
	"net/http/httptest"
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

// A family that got a new name stays under its old one, with the same numbers.
func TestLLMD1096_OldNamesStay(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	h := HandlerFor(HandlerOptions{Recorder: r, VLLM: true, Auth: AuthOff})
	m := mustOpen(t, r, "m", busySnapshot(), Chat)
	m.Step(&StepStats{Tokens: 3, Took: ms, Gaps: []TokenGap{{Chat, Live, 30 * ms, 2}, {Chat, Live, 7 * ms, 1}}})
	m.Finish(finished(Chat, Live, 5))
	s := parse(t, get(t, h))
	for old, now := range map[string]string{
		"vllm:gpu_cache_usage_perc":           "vllm:kv_cache_usage_perc",
		"vllm:gpu_prefix_cache_queries_total": "vllm:prefix_cache_queries_total",
		"vllm:gpu_prefix_cache_hits_total":    "vllm:prefix_cache_hits_total",
		"vllm:time_per_output_token_seconds":  "vllm:inter_token_latency_seconds",
	} {
		series := 0
		for sample, v := range s {
			rest, ok := strings.CutPrefix(sample, now)
			if !ok {
				continue
			}
			series++
			got, ok := s[old+rest]
			if !ok || got != v || v == 0 && !strings.Contains(rest, "_bucket") {
				t.Errorf("%s is %v (%v), %s is %v", old+rest, got, ok, sample, v)
			}
		}
		if series == 0 {
			t.Errorf("there is no %s", now)
		}
	}
}

// Access that is on without a key lets nobody in, and a program that asks at its start is told.
func TestUpstreamAuth_OnWithoutKey(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	o := HandlerOptions{Recorder: r, Auth: AuthOn}
	if o.Validate() == nil {
		t.Error("the options are valid")
	}
	for _, key := range []string{"", "Bearer", "Bearer ", "Bearer x"} {
		w, req := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
		req.RemoteAddr = "127.0.0.1:9"
		req.Header.Set("Authorization", key)
		HandlerFor(o).ServeHTTP(w, req)
		if w.Code != 401 {
			t.Errorf("Authorization %q: status %d, want 401", key, w.Code)
		}
	}
}

// A word that nobody knows is an error, and never opens the page.
func TestUpstreamAuth_UnknownWord(t *testing.T) {
	for _, word := range []string{"", "OFF", "false", "0", "no", "disabled", "offf", "true", "yes"} {
		a, err := ParseAuth(word)
		if err == nil || a == AuthOff {
			t.Errorf("%q: %v, %v", word, a, err)
		}
	}
}

// Accept is a list with weights, and no text to search for a word in.
func TestUpstreamAccept_ReadWithWeights(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	h := HandlerFor(HandlerOptions{Recorder: r, Auth: AuthOff})
	const text, om = "text/plain", "application/openmetrics-text"
	for accept, want := range map[string]string{
		"": text, "*/*": text, "application/json": text,
		om: om, om + ";version=1.0.0": om, om + ";version=1.0.0;q=0.5,text/plain;q=0.4": om,
		om + ";q=0": text, om + ";q=0.4, text/plain;q=0.5": text, "x-application/openmetrics-text": text,
		`text/plain;note="application/openmetrics-text"`: text, om + ";version=7.0.0": text,
	} {
		w, req := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
		req.Header.Set("Accept", accept)
		h.ServeHTTP(w, req)
		if got, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";"); got != want {
			t.Errorf("Accept %q gives %s, want %s", accept, got, want)
		}
	}
}

// In OpenMetrics a counter's family has no _total, its samples have it.
func TestUpstreamOpenMetrics_CounterNames(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{})
	h := HandlerFor(HandlerOptions{Recorder: r, VLLM: true, Auth: AuthOff})
	w, req := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
	req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	h.ServeHTTP(w, req)
	counters, family, kind := 0, "", ""
	for line := range strings.Lines(w.Body.String()) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			family, kind, _ = strings.Cut(strings.TrimSpace(rest), " ")
			if kind == "counter" {
				counters++
			}
			if kind == "counter" && strings.HasSuffix(family, "_total") {
				t.Errorf("the counter's family is named %s", family)
			}
			continue
		}
		if sample := line[:strings.IndexAny(line, "{ ")]; line[0] != '#' && kind == "counter" && sample != family+"_total" {
			t.Errorf("counter %s has the sample %s", family, line)
		}
	}
	if counters < 30 {
		t.Errorf("%d counters", counters)
	}
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
