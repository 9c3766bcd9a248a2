package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// The tests of this file and of its siblings in metrics and internal/api are named
// after reports of wrong values in vLLM, by their number there. internal/faults
// puts each fault in and sees them fail; metrics/FAULTS.md lists them all.

// observed submits a request whose record the test keeps, as an edge does.
func observed(t testing.TB, e *Engine, r Request) (*Stream, *metrics.Record) {
	t.Helper()
	rec := &metrics.Record{Edge: true, Operation: metrics.TextCompletion}
	s, err := e.Submit(metrics.NewContext(context.Background(), rec), r)
	if err != nil {
		t.Fatal(err)
	}
	return s, rec
}

// toEnd reads a stream to its end and finishes the record of an edge.
func toEnd(t testing.TB, e *Engine, s *Stream, rec *metrics.Record) Usage {
	t.Helper()
	if _, _, err := drainStream(s); err != nil {
		t.Error(err)
	}
	e.MetricsModel().Finish(rec)
	return s.Usage()
}

// inOrder checks the stamps of a record that got its tokens.
func inOrder(t testing.TB, rec *metrics.Record) {
	t.Helper()
	stamps := []time.Duration{1, rec.Arrival, rec.Queued, rec.Scheduled, rec.First, rec.Last, rec.Finished}
	for i, name := range []string{"arrival", "queued", "scheduled", "first", "last", "finished"} {
		if stamps[i+1] < stamps[i] {
			t.Errorf("%s at %v, before what comes ahead of it at %v", name, stamps[i+1], stamps[i])
		}
	}
	for i, c := range rec.Choices {
		if c.First < rec.First || c.Last < c.First || c.Last > rec.Last {
			t.Errorf("choice %d has its tokens from %v to %v, the request from %v to %v", i, c.First, c.Last, rec.First, rec.Last)
		}
	}
}

// crowd runs requests until sequences were preempted: two that grow beyond the
// pages that there are. No two prompts have a page in common.
func crowd(t *testing.T, e *Engine) (records []*metrics.Record, usage []Usage) {
	t.Helper()
	records, usage = make([]*metrics.Record, 4), make([]Usage, 4)
	var wg sync.WaitGroup
	for i := range records {
		s, rec := observed(t, e, Request{Tokens: prompt(40, uint64(i)+1), MaxTokens: 100})
		records[i] = rec
		wg.Go(func() { usage[i] = toEnd(t, e, s, rec) })
	}
	wg.Wait()
	if s := settle(t, e); s.Preemptions == 0 {
		t.Fatal("no preemption happened")
	}
	return records, usage
}

// crowded is an engine with too few pages for a crowd.
func crowded(t *testing.T) *Engine {
	return openFake(t, &fakeModel{delay: 50 * time.Microsecond}, Options{KVPages: 14})
}

// All requests are aborted at once, and no step follows: the gauges must not keep
// the old load, or routers avoid an idle server for good.
func TestVLLM29928_GaugesAfterAllAborted(t *testing.T) {
	e := openFake(t, &fakeModel{delay: time.Millisecond}, Options{KVPages: 200, Limits: sched.Limits{MaxSequences: 3}})
	ctx, abort := context.WithCancel(context.Background())
	defer abort()
	var streams []*Stream
	for i := range 8 {
		s, err := e.Submit(ctx, Request{Tokens: prompt(40, uint64(i)), MaxTokens: 2000})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	streams[0].Next()
	before := scrapeOf(t, e)
	before.want(t, 8, "paddock_num_requests_in_flight")
	before.want(t, 8, "paddock_requests_admitted_total")
	if before.sum("paddock_num_requests_running") == 0 || before.sum("paddock_num_requests_waiting") == 0 || before.sum("paddock_kv_pages_used") == 0 {
		t.Errorf("nothing runs or waits: %v", before)
	}
	abort()
	for _, s := range streams {
		if _, _, err := drainStream(s); err == nil {
			t.Error("a request ended well")
		}
	}
	after := scrapeOf(t, e)
	for _, gauge := range []string{"paddock_num_requests_running", "paddock_num_requests_waiting", "paddock_num_requests_waiting_by_reason",
		"paddock_num_requests_in_flight", "paddock_kv_pages_used", "paddock_kv_cache_usage_perc"} {
		after.want(t, 0, gauge)
	}
	after.want(t, 200, "paddock_kv_pages_free")
}

// aborts ends three requests: one in the queue, one that decodes, one whose prompt
// is being computed.
func aborts(t *testing.T, e *Engine) {
	t.Helper()
	submit := func(seed uint64, n int) *Stream {
		s, err := e.Submit(context.Background(), Request{Tokens: prompt(n, seed), MaxTokens: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	decoding := submit(1, 20)
	decoding.Next()
	queued := submit(2, 30)
	queued.Close()
	decoding.Close()
	prefilling := submit(3, 3000)
	for e.Stats().Running == 0 {
		time.Sleep(100 * time.Microsecond)
	}
	prefilling.Close()
	if s := settle(t, e); s.Prompt.Sum() != 3020 {
		t.Errorf("%d prompt tokens of started requests, want 3020", s.Prompt.Sum())
	}
}

func abortable(t *testing.T, name string, rec *metrics.Recorder) *Engine {
	return openFake(t, &fakeModel{delay: 200 * time.Microsecond}, Options{
		Name: name, KVPages: 400, Metrics: rec, Limits: sched.Limits{MaxSequences: 1, MaxTokens: 8},
	})
}

// Each abort is counted once, by the engine that it happened in, wherever the
// request was.
func TestVLLM31503_AbortsCounted(t *testing.T) {
	rec := metrics.NewRecorder(metrics.RecorderOptions{})
	e, idle := abortable(t, "busy", rec), abortable(t, "idle", rec)
	aborts(t, e)
	page := scrape(t, metrics.HandlerOptions{Recorder: rec})
	page.want(t, 3, "paddock_requests_finished_total", `model="busy"`, `reason="abort"`)
	page.want(t, 3, "paddock_requests_admitted_total", `model="busy"`)
	page.want(t, 3, "paddock_request_failure_total", `gen_ai_request_model="busy"`, `reason="disconnect"`)
	page.want(t, 3, "paddock_requests_finished_total")
	page.want(t, 0, "paddock_requests_finished_total", `model="`+idle.Name()+`"`)
}

// Aborted requests are in the per-request histograms as they are in the counters:
// the sums reconcile.
func TestVLLM55634_AbortedInHistograms(t *testing.T) {
	e := abortable(t, "", nil)
	aborts(t, e)
	collect(t, e, Request{Tokens: prompt(10, 9), MaxTokens: 7, N: 2})
	page := scrapeOf(t, e)
	page.want(t, 4, "paddock_request_prompt_tokens_count")
	page.want(t, page.sum("paddock_prompt_tokens_total"), "paddock_request_prompt_tokens_sum")
	page.want(t, page.sum("paddock_generation_tokens_total"), "paddock_request_generation_tokens_sum")
	page.want(t, 4, "paddock_request_queue_time_seconds_count")
	page.want(t, 3, "paddock_request_prefill_time_seconds_count")
	page.want(t, 2, "paddock_request_decode_time_seconds_count")
}

// A preempted sequence finds its own pages again when it comes back: no hit.
func TestVLLM25780_OwnPagesAreNoHit(t *testing.T) {
	e := crowded(t)
	crowd(t, e)
	page := scrapeOf(t, e)
	page.want(t, 160, "paddock_prefix_cache_queries_total")
	page.want(t, 0, "paddock_prefix_cache_hits_total")
	page.want(t, 160, "paddock_prompt_tokens_by_source_total", `source="computed"`)
	if page.sum("paddock_recomputed_tokens_total") == 0 {
		t.Error("nothing was recomputed")
	}
}

// A request that can't be admitted is looked up at each step; it counts once.
func TestVLLM43736_OneQueryPerRequest(t *testing.T) {
	e := openFake(t, &fakeModel{}, Options{KVPages: 200, Limits: sched.Limits{MaxSequences: 1}})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { collect(t, e, Request{Tokens: prompt(40, 7), MaxTokens: 30}) })
	}
	wg.Wait()
	settle(t, e)
	page := scrapeOf(t, e)
	page.want(t, 160, "paddock_prefix_cache_queries_total")
	page.want(t, 3*32, "paddock_prefix_cache_hits_total")
}

// Where the prompt's tokens came from is fixed at first admission: what a
// preempted request finds later must not move it.
func TestVLLM36755_SplitIsFrozen(t *testing.T) {
	e := crowded(t)
	records, usage := crowd(t, e)
	cached := 0
	for i, rec := range records {
		cached += rec.CachedTokens
		if rec.PromptTokens != 40 || rec.CachedTokens != 0 {
			t.Errorf("request %d: %d prompt tokens, %d of them cached; want 40, 0", i, rec.PromptTokens, rec.CachedTokens)
		}
		if u := usage[i]; u.CachedTokens != rec.CachedTokens || u.GeneratedTokens != rec.GeneratedTokens || u.PromptTokens != rec.PromptTokens {
			t.Errorf("request %d: usage %+v, the record says %d of %d, %d", i, u, rec.CachedTokens, rec.PromptTokens, rec.GeneratedTokens)
		}
	}
	page := scrapeOf(t, e)
	page.want(t, float64(cached), "paddock_prompt_cached_tokens_total")
	page.want(t, 160-float64(cached), "paddock_prompt_tokens_by_source_total", `source="computed"`)
}

// brokenLogger is metrics code that fails whenever it is called.
type brokenLogger struct{}

func (brokenLogger) OpenEngine(metrics.EngineInfo) metrics.Observer { return brokenLogger{} }
func (brokenLogger) Log([]metrics.EngineStats)                      { panic("log") }
func (brokenLogger) Step(*metrics.StepStats)                        { panic("step") }
func (brokenLogger) Finish(*metrics.Record)                         { panic("finish") }

// An exception in metrics code ended the output loop. Here it is counted, and
// every request is answered as without it.
func TestVLLM36755_MetricsCantStopServing(t *testing.T) {
	r := Request{Tokens: prompt(20, 3), MaxTokens: 30, N: 2, Sampling: Sampling{Temperature: 1, Seed: new(int64(4))}}
	want := alone(t, r)
	rec := metrics.NewRecorder(metrics.RecorderOptions{
		StatLoggers: []metrics.StatLogger{brokenLogger{}}, Logger: slog.New(slog.DiscardHandler),
	})
	e := openFake(t, &fakeModel{}, Options{KVPages: 64, Metrics: rec})
	for range 3 {
		res, err := e.Complete(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		if got := ids(res); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if rec.Faults() == 0 {
		t.Error("no fault was counted")
	}
	page := scrapeOf(t, e)
	page.want(t, 3, "paddock_request_success_total")
	page.want(t, 0, "paddock_num_requests_in_flight")
}

// Tokens that a step didn't compute, since they came from a cache, are in no step.
func TestVLLM43346_StepsCountWhatTheyComputed(t *testing.T) {
	m := &fakeModel{}
	e := openFake(t, m, Options{KVPages: 200})
	for range 3 {
		collect(t, e, Request{Tokens: prompt(500, 3), MaxTokens: 5})
	}
	page := scrapeOf(t, e)
	page.want(t, 2*496, "paddock_prompt_cached_tokens_total")
	page.want(t, float64(m.rows.Load()), "paddock_iteration_tokens_sum")
	page.want(t, float64(m.steps.Load()), "paddock_iteration_tokens_count")
}

// A prompt that is computed in chunks is as many steps, and none is larger than a
// step may be.
func TestVLLM51261_OneSamplePerStep(t *testing.T) {
	m := &fakeModel{}
	e := openFake(t, m, Options{KVPages: 200, Limits: sched.Limits{MaxTokens: 32}})
	collect(t, e, Request{Tokens: prompt(500, 3), MaxTokens: 5})
	page := scrapeOf(t, e)
	page.want(t, float64(m.steps.Load()), "paddock_iteration_tokens_count")
	page.want(t, float64(m.steps.Load()), "paddock_iteration_seconds_count")
	page.want(t, float64(m.steps.Load()), "paddock_iteration_tokens_bucket", `le="32"`)
	page.want(t, 504, "paddock_iteration_tokens_sum")
	if m.steps.Load() < 20 {
		t.Errorf("%d steps, want at least 20", m.steps.Load())
	}
}

// A preempted request goes back to the queue; its time in it ended when it was
// first scheduled.
func TestVLLM56238_QueueTimeIsTheFirst(t *testing.T) {
	e := crowded(t)
	records, _ := crowd(t, e)
	for _, rec := range records {
		inOrder(t, rec)
	}
	scrapeOf(t, e).want(t, 4, "paddock_request_queue_time_seconds_count")
}

// One first token per sequence that answered, whatever was chunked or preempted.
func TestVLLM8115_OneFirstTokenPerSequence(t *testing.T) {
	e := openFake(t, &fakeModel{delay: 50 * time.Microsecond}, Options{KVPages: 14, Limits: sched.Limits{MaxTokens: 16}})
	crowd(t, e)
	collect(t, e, Request{Tokens: prompt(40, 20), MaxTokens: 4, N: 3, Sampling: Sampling{Temperature: 1}})
	page := scrapeOf(t, e)
	page.want(t, 4+3, "gen_ai_server_time_to_first_token_seconds_count")
	page.want(t, 4+3, "gen_ai_server_time_per_output_token_seconds_count")
	page.want(t, 4+1, "paddock_request_success_total")
}

// A token's stamp is taken after the step that made it.
func TestVLLM6337_StampAfterStep(t *testing.T) {
	m := &fakeModel{}
	e := openFake(t, m, Options{KVPages: 20})
	var during time.Duration
	m.first = func() { time.Sleep(time.Millisecond); during = e.Metrics().Now() }
	s, rec := observed(t, e, Request{Tokens: prompt(5, 1), MaxTokens: 1})
	toEnd(t, e, s, rec)
	if rec.First < during {
		t.Errorf("the first token is stamped %v, but its step ran at %v", rec.First, during)
	}
	inOrder(t, rec)
}

// queued ≤ scheduled ≤ first ≤ last, also for a request of one token.
func TestVLLM9998_StampsInOrder(t *testing.T) {
	e := openFake(t, &fakeModel{}, Options{KVPages: 64, Limits: sched.Limits{MaxSequences: 2}})
	var wg sync.WaitGroup
	for i := range 12 {
		s, rec := observed(t, e, Request{Tokens: prompt(5, 1), MaxTokens: 1 + i/2, N: 1 + i%2})
		wg.Go(func() {
			toEnd(t, e, s, rec)
			inOrder(t, rec)
		})
	}
	wg.Wait()
}

// A step that yields k tokens, thanks to drafts, is k gaps and not one.
func TestVLLM52853_GapsArePerToken(t *testing.T) {
	e := openFake(t, &fakeModel{}, Options{KVPages: 64, Spec: Spec{NGram: 4}})
	// One token over and over: every draft is right.
	r := Request{Tokens: []int32{5, 5, 5, 5, 5}, MaxTokens: 60, Sampling: Sampling{LogitBias: map[int32]float32{5: 100}}}
	s, rec := observed(t, e, r)
	toEnd(t, e, s, rec)
	if e.Stats().Spec.AcceptedTokens == 0 {
		t.Fatal("no draft was accepted")
	}
	page := scrapeOf(t, e)
	page.want(t, 59, "paddock_inter_token_latency_seconds_count")
	if got, want := page.sum("paddock_inter_token_latency_seconds_sum"), (rec.Last - rec.First).Seconds(); got < want-1e-9 || got > want+1e-9 {
		t.Errorf("the gaps add up to %v s, the tokens came over %v s", got, want)
	}
}

// The prompt of a request with several choices is one prompt, and HELP says so.
func TestVLLM56923_PromptOncePerRequest(t *testing.T) {
	e := openFake(t, &fakeModel{}, Options{KVPages: 64})
	collect(t, e, Request{Tokens: prompt(20, 1), MaxTokens: 4, N: 3, Sampling: Sampling{Temperature: 1}})
	page := scrapeOf(t, e)
	page.want(t, 20, "paddock_prompt_tokens_total")
	page.want(t, 20, "paddock_request_prompt_tokens_sum")
	page.want(t, 20, "paddock_prompt_tokens_by_source_total")
	page.want(t, 12, "paddock_generation_tokens_total")
	page.want(t, 3, "paddock_requests_admitted_total")
	families, err := e.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "paddock_prompt_tokens_total" && !strings.Contains(f.GetHelp(), "once per request") {
			t.Errorf("HELP of %s does not say that a request counts once: %q", f.GetName(), f.GetHelp())
		}
	}
}

// What waits is not counted as running: the gauges are the scheduler's own lists.
func TestVLLMOmni6547_WaitingIsNotRunning(t *testing.T) {
	e := openFake(t, &fakeModel{delay: time.Millisecond}, Options{KVPages: 200, Limits: sched.Limits{MaxSequences: 1}})
	var streams []*Stream
	for i := range 4 {
		s, err := e.Submit(context.Background(), Request{Tokens: prompt(9, uint64(i)), MaxTokens: 50})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	streams[0].Next()
	page := scrapeOf(t, e)
	page.want(t, 1, "paddock_num_requests_running")
	page.want(t, 3, "paddock_num_requests_waiting")
	page.want(t, 3, "paddock_num_requests_waiting_by_reason", `reason="capacity"`)
	for _, s := range streams {
		s.Close()
	}
}

// The throughput of prompts on the log line is what was computed, not what a cache
// gave.
func TestVLLM27569_ThroughputIsComputed(t *testing.T) {
	e := openFake(t, &fakeModel{}, Options{KVPages: 200})
	var text bytes.Buffer
	line := metrics.LogStats(slog.New(slog.NewJSONHandler(&text, nil)))
	at := time.Unix(1e9, 0)
	log := func() float64 {
		s := e.Stats()
		text.Reset()
		line.Log([]metrics.EngineStats{{EngineInfo: metrics.EngineInfo{Model: "fake", Opened: time.Unix(1e9, 0)}, At: at, Snapshot: &s}})
		var fields struct {
			PerSecond float64 `json:"prompt_tokens_per_s"`
		}
		if err := json.Unmarshal(text.Bytes(), &fields); err != nil {
			t.Fatalf("%v in %q", err, text.String())
		}
		return fields.PerSecond
	}
	for i, want := range []float64{50, 0.4} { // of 500 tokens, 496 are cached the second time
		collect(t, e, Request{Tokens: prompt(500, 3), MaxTokens: 4})
		at = at.Add(10 * time.Second)
		if got := log(); got != want {
			t.Errorf("after request %d: %v prompt tokens a second, want %v", i, got, want)
		}
	}
}

// Estimates against what is counted on paper: the unembedding is for rows that want
// logits alone, and a row attends to the prefix before it, cached or not. The model
// is tiny's: 80 flops for the head, 32 for each key that a row sees.
func TestVLLM33045_EstimatesByHand(t *testing.T) {
	e := tinyCosts(0)
	flops := func(from, count, logits int) float64 {
		return e.step(plan(sched.Span{From: from, Count: count, Logits: logits})).flops
	}
	const row, key, logit = 304, 32, 256 // of a token; of a key seen; of a row with logits, the head's 80 among them
	for _, c := range []struct {
		name string
		got  float64
		want float64
	}{
		{"a prompt of 40 wants logits once", flops(0, 40, 1), 40*row + key*40*41/2 + logit},
		{"a chunk that wants none", flops(0, 40, 0), 40*row + key*40*41/2},
		{"8 rows behind a prefix of 96", flops(96, 8, 1), 8*row + key*(8*96+8*9/2) + logit},
		{"one row behind 1000", flops(1000, 1, 1), row + key*1001 + logit},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v flops, want %v", c.name, c.got, c.want)
		}
	}
}
