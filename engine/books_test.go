package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
	"pgregory.net/rapid"
)

// life is what happens to one request of the property test.
type life struct {
	r      Request
	edge   bool          // the test keeps and finishes its record
	after  time.Duration // it is submitted
	read   int           // tokens that are read before the reader closes; -1: all
	cancel time.Duration // its context ends; 0: never
	idle   time.Duration // the reader does nothing so long before it reads
}

// lives draws requests that end in every way there is: stop, length, an error of
// their own, cancelled while queued, prefilling or decoding, preempted, refused,
// given up by their reader, never read.
//
// In a crowd all come at once and want much, so that pages run out.
func lives(t *rapid.T, context int, crowd bool) []life {
	shared, late, most, kinds := prompt(64, 77), 1000, 40, []string{"length", "stop", "cancel", "leave", "stall", "error", "context", "pages", "invalid"}
	if crowd {
		late, most, kinds = 0, 100, []string{"length", "length", "cancel"}
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) life {
		seed := rapid.Uint64Range(0, 1<<20).Draw(t, "seed")
		l := life{read: -1, after: time.Duration(rapid.IntRange(0, late).Draw(t, "after")) * time.Microsecond}
		tokens := prompt(rapid.IntRange(1, 60).Draw(t, "prompt"), seed)
		if rapid.Bool().Draw(t, "shares a prefix") {
			tokens = append(append([]int32{}, shared[:rapid.IntRange(0, 64).Draw(t, "shared")]...), tokens...)
		}
		l.r = Request{Tokens: tokens, MaxTokens: rapid.IntRange(max(1, most-30), most).Draw(t, "max"), N: rapid.IntRange(0, 3).Draw(t, "n"),
			Priority: rapid.IntRange(0, 2).Draw(t, "priority"), Origin: metrics.Origin(rapid.IntRange(0, metrics.NumOrigins-1).Draw(t, "origin")),
			Sampling: Sampling{Temperature: 1, Seed: new(int64(seed)), LogitBias: map[int32]float32{31: -100}}}
		l.edge = rapid.Bool().Draw(t, "edge")
		switch rapid.SampledFrom(kinds).Draw(t, "life") {
		case "stop":
			l.r.StopTokens = []int32{1, 2, 3, 4, 5}
		case "cancel":
			l.cancel = time.Duration(rapid.IntRange(1, 4000).Draw(t, "cancel")) * time.Microsecond
		case "leave":
			l.read = rapid.IntRange(0, 10).Draw(t, "read")
		case "stall":
			l.r.MaxTokens, l.idle = 400, 12*time.Millisecond
		case "error":
			l.r.LogitBias = map[int32]float32{31: 2} // the fake's logits are no numbers behind it
		case "context":
			l.r.MaxTokens = context
		case "pages":
			l.r.Tokens, l.r.MaxTokens, l.r.N = prompt(300, seed), 600, 3
		case "invalid":
			l.r.TopP = 7
		}
		return l
	}), 8, 20).Draw(t, "lives")
}

// ended is how a request ended for its caller.
type ended struct {
	err     error // of Submit, or of the stream
	refused bool  // by Submit
	usage   Usage
	record  *metrics.Record // of an edge
}

// live lives one life through.
func (l *life) live(e *Engine, id string) (out ended) {
	time.Sleep(l.after)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if l.cancel > 0 {
		defer time.AfterFunc(l.cancel, cancel).Stop()
	}
	if l.edge {
		out.record = &metrics.Record{Edge: true, Operation: metrics.Chat, Origin: l.r.Origin, ID: id, Tenant: id}
		ctx = e.MetricsModel().Begin(ctx, out.record)
		defer func() { e.MetricsModel().Finish(out.record) }()
	}
	l.r.Tenant = id
	s, err := e.Submit(ctx, l.r)
	if err != nil {
		out.err, out.refused = err, true
		return out
	}
	defer func() {
		s.Close()
		out.usage = s.Usage()
	}()
	time.Sleep(l.idle)
	for n := 0; n != l.read; n++ {
		_, ok, err := s.Next()
		if !ok {
			out.err = err
			return out
		}
	}
	out.err = ErrAborted
	return out
}

// TestBooksBalanceAtEveryScrape is law 2 under random lives, while two scrapers read
// pages with both views on them at moments of their own.
func TestBooksBalanceAtEveryScrape(t *testing.T) {
	met := map[string]float64{} // over all runs: how much of it all happened
	rapid.Check(t, func(rt *rapid.T) {
		const context = 1024
		rec := metrics.NewRecorder(metrics.RecorderOptions{})
		page := metrics.HandlerFor(metrics.HandlerOptions{Recorder: rec, VLLM: true, Auth: metrics.AuthOff})
		o := Options{Metrics: rec, MaxContext: context, StallTimeout: 5 * time.Millisecond,
			KVPages: rapid.IntRange(36, 50).Draw(rt, "pages"), Spec: Spec{NGram: rapid.IntRange(0, 3).Draw(rt, "draft")},
			Limits: sched.Limits{MaxSequences: rapid.IntRange(4, 8).Draw(rt, "batch"), MaxTokens: rapid.IntRange(8, 64).Draw(rt, "rows"),
				MaxQueue: rapid.IntRange(4, 30).Draw(rt, "queue")}}
		m := &fakeModel{nan: 31, delay: rapid.SampledFrom([]time.Duration{0, 0, 50 * time.Microsecond}).Draw(rt, "step")}
		crowd := rapid.Bool().Draw(rt, "crowd")
		if crowd {
			o.Limits.MaxSequences, o.Limits.MaxTokens = 8, 64
		}
		all := lives(rt, context, crowd)
		drain := rapid.IntRange(0, 9).Draw(rt, "drain") == 0
		broken := rapid.IntRange(0, 19).Draw(rt, "broken") == 0

		e := openFake(t, m, o)
		results := make([]ended, len(all))
		b := &bookkeeper{pages: o.KVPages}
		stop := make(chan struct{})
		var living, reading sync.WaitGroup
		for range 2 {
			reading.Go(func() { b.scrapes(page, stop) })
		}
		for i := range all {
			living.Go(func() { results[i] = all[i].live(e, fmt.Sprint("request ", i)) })
		}
		time.Sleep(2 * time.Millisecond)
		if broken {
			err := errors.New("broken")
			m.fail.Store(&err)
		}
		if drain {
			now, cancel := withTimeout(time.Millisecond)
			e.Drain(now)
			cancel()
		}
		living.Wait()
		close(stop)
		reading.Wait()
		b.atRest(e, page, results)
		b.tally(met)
		if err := e.Close(); err != nil && !broken {
			b.failf("Close: %v", err)
		}
		if err := errors.Join(b.faults...); err != nil {
			rt.Fatal(err)
		}
	})
	t.Logf("%v", met)
	for _, what := range []string{"finished by stop", "finished by length", "finished by abort", "finished by error", "preemptions", "cached prompt tokens",
		"refused for queue_full", "refused for context_length", "refused for out_of_pages"} {
		if met[what] == 0 && !testing.Short() {
			t.Errorf("none %s in all runs", what)
		}
	}
}

// tally adds up what the last page tells of.
func (b *bookkeeper) tally(met map[string]float64) {
	met["scrapes"] += float64(b.scraped.Load())
	met["preemptions"] += b.last.sum("paddock_num_preemptions_total")
	met["accepted drafts"] += b.last.sum("paddock_spec_decode_accepted_tokens_total")
	met["cached prompt tokens"] += b.last.sum("paddock_prompt_cached_tokens_total")
	met["requests"] += b.last.sum("gen_ai_server_request_duration_seconds_count")
	for r := range metrics.EndReason(metrics.NumEndReasons) {
		met["finished by "+r.String()] += b.last.sum("paddock_requests_finished_total", `reason="`+r.String()+`"`)
	}
	for r := range metrics.RejectReason(metrics.NumRejectReasons) {
		met["refused for "+r.String()] += b.last.sum("paddock_admission_rejections_total", `reason="`+r.String()+`"`)
	}
}

func withTimeout(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

// bookkeeper checks pages and collects what doesn't add up.
type bookkeeper struct {
	pages   int
	scraped atomic.Int64
	last    scraped // the page at rest

	mu     sync.Mutex
	faults []error
}

func (b *bookkeeper) failf(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.faults) < 10 {
		b.faults = append(b.faults, fmt.Errorf(format, args...))
	}
}

// scrapes reads pages until stop is closed, as one scraper does.
func (b *bookkeeper) scrapes(h *metrics.MetricsHandler, stop chan struct{}) {
	before := scraped{}
	for n := 0; ; n++ {
		p, err := fetch(h)
		if err != nil {
			b.failf("scrape %d: %v", n, err)
			return
		}
		b.scraped.Add(1)
		b.page(p)
		b.forward(before, p)
		before = p
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(n*n%11) * 300 * time.Microsecond): // at moments of its own
		}
	}
}

// fetch reads a page off the test's goroutine.
func fetch(h *metrics.MetricsHandler) (scraped, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		return nil, fmt.Errorf("status %d: %s", w.Code, w.Body)
	}
	return parsePage(w.Body)
}

// forward: no counter of a scraper goes down, and no series goes away.
func (b *bookkeeper) forward(before, now scraped) {
	for name, samples := range before {
		if len(now[name]) < len(samples) {
			b.failf("of %d series of %s %d are left", len(samples), name, len(now[name]))
			continue
		}
		if !strings.HasSuffix(name, "_total") && !strings.HasSuffix(name, "_count") && !strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_bucket") {
			continue
		}
		at := 0 // the order of a page is fixed, and series come in between
		for _, old := range samples {
			for at < len(now[name]) && now[name][at].labels != old.labels {
				at++
			}
			if at == len(now[name]) {
				b.failf("%s%s has gone, or is elsewhere", name, old.labels)
				break
			}
			if v := now[name][at].value; v < old.value {
				b.failf("%s%s went down from %v to %v", name, old.labels, old.value, v)
			}
		}
	}
}

// page checks every identity that holds at any moment.
func (b *bookkeeper) page(p scraped) {
	sum := p.sum
	equal := func(what string, got, want float64) {
		if got != want {
			b.failf("%s: %v and %v", what, got, want)
		}
	}
	atMost := func(what string, got, most float64) {
		if got > most {
			b.failf("%s: %v exceeds %v", what, got, most)
		}
	}
	running, waiting, finished := sum("paddock_num_requests_running"), sum("paddock_num_requests_waiting"), sum("paddock_requests_finished_total")
	equal("admitted = running + waiting + finished", sum("paddock_requests_admitted_total"), running+waiting+finished)
	equal("waiting = its reasons", waiting, sum("paddock_num_requests_waiting_by_reason"))
	prompts, cached := sum("paddock_prompt_tokens_total"), sum("paddock_prompt_cached_tokens_total")
	hits := sum("paddock_prefix_cache_hits_total")
	equal("prompt tokens = their sources", prompts, sum("paddock_prompt_tokens_by_source_total"))
	equal("prompt tokens = computed + cached", prompts, sum("paddock_prompt_tokens_by_source_total", `source="computed"`)+cached)
	equal("hits = prompt tokens from the prefix index", hits, sum("paddock_prompt_tokens_by_source_total", `source="prefix"`))
	equal("looked up = prompt tokens", sum("paddock_prefix_cache_queries_total"), prompts)
	used, free := sum("paddock_kv_pages_used"), sum("paddock_kv_pages_free")
	equal("used + free = all pages", used+free, float64(b.pages))
	equal("usage = used / all pages", sum("paddock_kv_cache_usage_perc"), used/float64(b.pages))
	atMost("cached pages, free ones", sum("paddock_kv_pages_cached"), free)
	if running+waiting == 0 {
		equal("pages used by nobody", used, 0)
	}
	equal("accepted drafts = their positions", sum("paddock_spec_decode_accepted_tokens_total"), sum("paddock_spec_decode_accepted_tokens_per_pos_total"))
	atMost("accepted drafts, drafts", sum("paddock_spec_decode_accepted_tokens_total"), sum("paddock_spec_decode_draft_tokens_total"))

	const duration = "gen_ai_server_request_duration_seconds_count"
	successes, failures := sum("paddock_request_success_total"), sum("paddock_request_failure_total")
	equal("durations = successes + failures", sum(duration), successes+failures)
	byError := map[string]float64{}
	for f := metrics.NoFail + 1; int(f) < metrics.NumFailReasons; f++ {
		byError[f.ErrorType()] += sum("paddock_request_failure_total", `reason="`+f.String()+`"`)
	}
	for kind, n := range byError {
		equal("durations of "+kind, sum(duration, `error_type="`+kind+`"`), n)
	}
	first := sum("gen_ai_server_time_to_first_token_seconds_count")
	atMost("successes, first tokens", successes, first)
	atMost("times per token, first tokens", sum("gen_ai_server_time_per_output_token_seconds_count"), first)
	queued := sum("paddock_request_queue_time_seconds_count")
	atMost("queue times, durations", queued, sum(duration))
	atMost("prefill times, queue times", sum("paddock_request_prefill_time_seconds_count"), queued)
	atMost("decode times, prefill times", sum("paddock_request_decode_time_seconds_count"), sum("paddock_request_prefill_time_seconds_count"))
	equal("sizes of prompts, of answers", sum("paddock_request_prompt_tokens_count"), sum("paddock_request_generation_tokens_count"))
	equal("sizes, queue times", sum("paddock_request_prompt_tokens_count"), queued)
	atMost("ended requests, finished sequences", queued, finished)
	atMost("prompt tokens of ended requests, of started ones", sum("paddock_request_prompt_tokens_sum"), prompts)
	atMost("tokens of ended requests, of all", sum("paddock_request_generation_tokens_sum"), sum("paddock_generation_tokens_total"))
	atMost("nothing, requests in flight", 0, sum("paddock_num_requests_in_flight"))
	b.histograms(p)

	for theirs, ours := range map[string]string{
		"vllm:num_requests_running": "paddock_num_requests_running", "vllm:num_requests_waiting": "paddock_num_requests_waiting",
		"vllm:num_requests_waiting_by_reason": "paddock_num_requests_waiting_by_reason", "vllm:kv_cache_usage_perc": "paddock_kv_cache_usage_perc",
		"vllm:gpu_cache_usage_perc": "paddock_kv_cache_usage_perc", "vllm:prefix_cache_queries_total": "paddock_prefix_cache_queries_total",
		"vllm:prefix_cache_hits_total": "paddock_prefix_cache_hits_total", "vllm:num_preemptions_total": "paddock_num_preemptions_total",
		"vllm:prompt_tokens_total": "paddock_prompt_tokens_total", "vllm:prompt_tokens_by_source_total": "paddock_prompt_tokens_by_source_total",
		"vllm:prompt_tokens_cached_total": "paddock_prompt_cached_tokens_total", "vllm:generation_tokens_total": "paddock_generation_tokens_total",
		"vllm:request_success_total": "paddock_requests_finished_total", "vllm:admission_rejections_total": "paddock_admission_rejections_total",
		"vllm:e2e_request_latency_seconds_count":    "paddock_request_queue_time_seconds_count",
		"vllm:request_queue_time_seconds_count":     "paddock_request_queue_time_seconds_count",
		"vllm:request_prefill_time_seconds_count":   "paddock_request_prefill_time_seconds_count",
		"vllm:request_inference_time_seconds_count": "paddock_request_prefill_time_seconds_count",
		"vllm:request_decode_time_seconds_count":    "paddock_request_decode_time_seconds_count",
		"vllm:request_prompt_tokens_sum":            "paddock_request_prompt_tokens_sum",
		"vllm:request_generation_tokens_sum":        "paddock_request_generation_tokens_sum",
		"vllm:iteration_tokens_total_sum":           "paddock_iteration_tokens_sum", "vllm:iteration_tokens_total_count": "paddock_iteration_tokens_count",
		"vllm:inter_token_latency_seconds_count": "paddock_inter_token_latency_seconds_count",
	} {
		equal(theirs+" = "+ours, sum(theirs), sum(ours))
	}
	equal("vLLM: admitted = running + waiting + gone", sum("paddock_requests_admitted_total"),
		sum("vllm:num_requests_running")+sum("vllm:num_requests_waiting")+sum("vllm:request_success_total"))
	equal("vLLM: prompt tokens = computed + cached", sum("vllm:prompt_tokens_total"),
		sum("vllm:prompt_tokens_by_source_total", `source="local_compute"`)+sum("vllm:prompt_tokens_cached_total"))
	for _, reason := range []string{"stop", "length", "abort", "error"} {
		equal("vLLM: gone by "+reason, sum("vllm:request_success_total", `finished_reason="`+reason+`"`), sum("paddock_requests_finished_total", `reason="`+reason+`"`))
	}
}

// histograms: the bucket without bound holds all, and no bucket more.
func (b *bookkeeper) histograms(p scraped) {
	for bare, counts := range p {
		name, ok := strings.CutSuffix(bare, "_count")
		if !ok {
			continue
		}
		var whole []scrapedSample
		for _, s := range p[name+"_bucket"] {
			if rest, ok := strings.CutSuffix(s.labels, `le="+Inf"}`); ok {
				whole = append(whole, scrapedSample{strings.TrimRight(rest, ",{"), s.value})
			}
		}
		if len(whole) != len(counts) {
			b.failf("%s has %d series, %d of them with a bucket without bound", bare, len(counts), len(whole))
			continue
		}
		for i, s := range counts {
			if strings.TrimSuffix(s.labels, "}") != whole[i].labels || s.value != whole[i].value {
				b.failf("%s%s is %v, its bucket without bound %s is %v", bare, s.labels, s.value, whole[i].labels, whole[i].value)
			}
		}
	}
}

// atRest checks what holds once all have ended: the gauges are zero, and the books
// agree with what every caller saw and with the events.
func (b *bookkeeper) atRest(e *Engine, h *metrics.MetricsHandler, results []ended) {
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(100 * time.Microsecond) {
		if s := e.Stats(); s.Running+s.WaitingTotal() == 0 {
			break
		}
	}
	p, err := fetch(h)
	if err != nil {
		b.failf("at rest: %v", err)
		return
	}
	b.page(p)
	b.last = p
	equal := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-9 {
			b.failf("at rest: %s: %v and %v", what, got, want)
		}
	}
	for _, gauge := range []string{"paddock_num_requests_running", "paddock_num_requests_waiting", "paddock_num_requests_in_flight", "paddock_kv_pages_used",
		"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"} {
		equal(gauge, p.sum(gauge), 0)
	}
	prompts, tokens := p.sum("paddock_prompt_tokens_total"), p.sum("paddock_generation_tokens_total")
	equal("prompt tokens of all requests", p.sum("paddock_request_prompt_tokens_sum"), prompts)
	equal("computed prompt tokens in vLLM's sizes", p.sum("vllm:request_prefill_kv_computed_tokens_sum"), p.sum("vllm:prompt_tokens_by_source_total", `source="local_compute"`))
	equal("generated tokens of all requests", p.sum("paddock_request_generation_tokens_sum"), tokens)
	equal("durations, requests", p.sum("gen_ai_server_request_duration_seconds_count"), float64(len(results)))

	events, err := e.Metrics().Events(context.Background(), metrics.OldestEvent, 2048, 0)
	if err != nil || len(events.Events) != len(results) {
		b.failf("at rest: %d events of %d requests, %v", len(events.Events), len(results), err)
	}
	byTenant := map[string]metrics.Event{}
	inEvents := map[string]float64{}
	for _, ev := range events.Events {
		byTenant[ev.Tenant] = ev
		for what, n := range map[string]*int{"prompt": ev.InputTokens, "cached": ev.CachedTokens, "generated": ev.OutputTokens} {
			if n != nil {
				inEvents[what] += float64(*n)
			}
		}
	}
	equal("prompt tokens of events", inEvents["prompt"], prompts)
	equal("cached tokens of events", inEvents["cached"], p.sum("paddock_prompt_cached_tokens_total"))
	equal("generated tokens of events", inEvents["generated"], tokens)

	seen, refused := map[string]float64{}, map[metrics.RejectReason]float64{}
	for i, r := range results {
		ev, ok := byTenant[fmt.Sprint("request ", i)]
		if !ok {
			b.failf("at rest: request %d has no event", i)
			continue
		}
		seen["generated"] += float64(r.usage.GeneratedTokens)
		seen["cached"] += float64(r.usage.CachedTokens)
		b.agrees(i, r, ev)
		countRefusal(refused, r)
	}
	equal("generated tokens of usage", seen["generated"], tokens)
	equal("cached tokens of usage", seen["cached"], p.sum("paddock_prompt_cached_tokens_total"))
	for reason := range maps.Keys(refused) {
		equal("refused: "+reason.String(), p.sum("paddock_admission_rejections_total", `reason="`+reason.String()+`"`), refused[reason])
	}
}

// agrees holds a caller's view of a request against its event.
func (b *bookkeeper) agrees(i int, r ended, ev metrics.Event) {
	// A reader that left doesn't know how it would have ended, or has.
	if fail := failReason(r.err); r.err != ErrAborted && ev.FailureReason != fail.String() {
		b.failf("at rest: request %d ended with %v for its caller, with %q in its event", i, r.err, ev.FailureReason)
	}
	if got := ev.OutputTokens; r.refused && got != nil || !r.refused && (got == nil || *got != r.usage.GeneratedTokens) {
		b.failf("at rest: request %d has usage %+v (refused: %v), its event %v", i, r.usage, r.refused, got)
	}
}

func countRefusal(refused map[metrics.RejectReason]float64, r ended) {
	var (
		queue   *QueueFullError
		context *ContextError
		pages   *PagesError
	)
	switch {
	case !r.refused:
	case errors.As(r.err, &queue):
		refused[metrics.RejectQueueFull]++
	case errors.As(r.err, &context):
		refused[metrics.RejectContextLength]++
	case errors.As(r.err, &pages):
		refused[metrics.RejectOutOfPages]++
	}
}
