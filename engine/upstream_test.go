package engine

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// The tests named TestUpstream… hold paddock against the faults of the product
// whose metrics contract it took over; metrics/FAULTS.md lists them.

// Tokens of an abandoned request stay in every count, and so does the request.
func TestUpstreamAbandoned_TokensStay(t *testing.T) {
	e := openFake(t, &fakeModel{delay: 100 * time.Microsecond}, Options{KVPages: 200})
	s, rec := observed(t, e, Request{Tokens: prompt(20, 1), MaxTokens: 2000})
	for range 10 {
		s.Next()
	}
	s.Close()
	e.MetricsModel().Finish(rec)
	settle(t, e)
	if rec.GeneratedTokens < 10 || rec.GeneratedTokens == 2000 || rec.Fail != metrics.Disconnect {
		t.Errorf("%d tokens, %v; want some and disconnect", rec.GeneratedTokens, rec.Fail)
	}
	page := scrapeOf(t, e)
	got := float64(rec.GeneratedTokens)
	page.want(t, got, "paddock_generation_tokens_total")
	page.want(t, got, "paddock_request_generation_tokens_sum")
	page.want(t, float64(s.Usage().GeneratedTokens), "paddock_generation_tokens_total")
	page.want(t, 20, "paddock_prompt_tokens_total")
	page.want(t, 1, "gen_ai_server_request_duration_seconds_count", `error_type="disconnect"`)
	page.want(t, 1, "paddock_request_failure_total", `class="disconnect"`, `reason="disconnect"`)
	page.want(t, 0, "gen_ai_server_time_to_first_token_seconds_count")
}

// A sampled stop token is a generated token in usage, counters, sizes and time per
// token alike.
func TestUpstreamStopToken_CountsTheSameEverywhere(t *testing.T) {
	free := alone(t, Request{Tokens: []int32{1, 2}, MaxTokens: 50})[0]
	e := openFake(t, &fakeModel{}, Options{KVPages: 64})
	s, rec := observed(t, e, Request{Tokens: []int32{1, 2}, MaxTokens: 50, StopTokens: []int32{free[5]}})
	n, last, err := drainStream(s)
	if err != nil || last.Finish != FinishStop || last.ID != free[5] {
		t.Fatalf("ended with %v, %v", last, err)
	}
	e.MetricsModel().Finish(rec)
	want := float64(n)
	if u := s.Usage(); u.GeneratedTokens != n || rec.GeneratedTokens != n || rec.Choices[0].Tokens != n {
		t.Errorf("%d tokens were read; usage has %d, the record %d, its choice %d", n, u.GeneratedTokens, rec.GeneratedTokens, rec.Choices[0].Tokens)
	}
	page := scrapeOf(t, e)
	page.want(t, want, "paddock_generation_tokens_total")
	page.want(t, want, "paddock_request_generation_tokens_sum")
	page.want(t, want-1, "paddock_inter_token_latency_seconds_count")
	if got, all := page.sum("gen_ai_server_time_per_output_token_seconds_sum")*(want-1), (rec.Last - rec.First).Seconds(); got < all-1e-6 || got > all+1e-9 {
		t.Errorf("the time per token makes %v s for all, they came over %v s", got, all)
	}
}

// The number of pages is the pool's, and used pages are those of live sequences;
// neither is guessed from what was free.
func TestUpstreamKVTotal_IsThePool(t *testing.T) {
	const pages = 40
	e := openFake(t, &fakeModel{delay: time.Millisecond}, Options{KVPages: pages})
	check := func(used float64) {
		t.Helper()
		page := scrapeOf(t, e)
		page.want(t, used, "paddock_kv_pages_used")
		page.want(t, pages-used, "paddock_kv_pages_free")
		page.want(t, used/pages, "paddock_kv_cache_usage_perc")
		page.want(t, 1, "paddock_cache_config_info", `num_gpu_blocks="40"`)
	}
	check(0)
	s, err := e.Submit(context.Background(), Request{Tokens: prompt(100, 1), MaxTokens: 300})
	if err != nil {
		t.Fatal(err)
	}
	s.Next()
	check(7)
	s.Close()
	check(0)
	page := scrapeOf(t, e)
	page.want(t, 6, "paddock_kv_pages_cached") // what a prefix hit could revive is free
}

// What an engine does before its first request is in no counter.
func TestUpstreamWarmUp_CountsNothing(t *testing.T) {
	e := openFake(t, &fakeModel{}, Options{KVPages: 40})
	families, err := e.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := 0
	for _, f := range families {
		for _, m := range f.Metric {
			if v := m.GetCounter().GetValue(); v != 0 {
				t.Errorf("%s is %v before any request", f.GetName(), v)
			}
			if n := m.GetHistogram().GetSampleCount(); n != 0 {
				t.Errorf("%s has %d observations before any request", f.GetName(), n)
			}
			counted++
		}
	}
	if counted < 50 {
		t.Errorf("only %d series", counted)
	}
}

// A long prompt is computed beside the tokens of others, not instead of them.
func TestUpstreamLongPrompt_OthersGoOn(t *testing.T) {
	m := &fakeModel{gate: make(chan struct{})}
	e := openFake(t, m, Options{KVPages: 400, Limits: sched.Limits{MaxTokens: 16}})
	defer close(m.gate)
	other, err := e.Submit(context.Background(), Request{Tokens: prompt(5, 1), MaxTokens: 3900})
	if err != nil {
		t.Fatal(err)
	}
	long := make(chan *Stream)
	go func() {
		s, err := e.Submit(context.Background(), Request{Tokens: prompt(1500, 2), MaxTokens: 1})
		if err != nil {
			t.Error(err)
		}
		long <- s
	}()
	waitTaken(e, 2)
	const steps = 60
	for range steps {
		m.gate <- struct{}{} // the step before has ended when this one is let through
		for other.Buffered() {
			other.Next()
		}
	}
	s := <-long
	if got := s.Usage().GeneratedTokens; got != 0 {
		t.Errorf("the long prompt was computed in %d steps", steps)
	}
	if st := e.Stats(); st.Running != 2 || other.Usage().GeneratedTokens < steps-2 {
		t.Errorf("%d are running; the other request got %d tokens in %d steps", st.Running, other.Usage().GeneratedTokens, steps)
	}
}

// A seed gives the same answer with and without speculation.
func TestUpstreamSeed_SameUnderSpeculation(t *testing.T) {
	r := Request{Tokens: prompt(30, 4), MaxTokens: 80, Sampling: Sampling{Temperature: 0.4, Seed: new(int64(11)), LogitBias: map[int32]float32{3: 7, 4: 7}}}
	want := alone(t, r)
	e := openFake(t, &fakeModel{}, Options{KVPages: 64, Spec: Spec{NGram: 4}})
	if got := collect(t, e, r); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if s := e.Stats(); s.Spec.AcceptedTokens == 0 || s.Spec.AcceptedTokens == s.Spec.DraftTokens {
		t.Errorf("%d of %d drafts were accepted, want some", s.Spec.AcceptedTokens, s.Spec.DraftTokens)
	}
}

// A caller of the engine without HTTP is observed as one over HTTP is.
func TestUpstreamLibrary_IsObserved(t *testing.T) {
	e := openFake(t, &fakeModel{}, Options{KVPages: 64})
	collect(t, e, Request{Tokens: prompt(20, 4), MaxTokens: 3, Origin: metrics.Batch})
	for range e.Generate(context.Background(), Request{Tokens: prompt(20, 5), MaxTokens: 3, Origin: metrics.Batch}) {
	}
	if _, err := e.Complete(context.Background(), Request{}); err == nil {
		t.Error("a request without a prompt was served")
	}
	page := scrapeOf(t, e)
	const of = `origin="batch"`
	for _, name := range []string{"gen_ai_server_request_duration_seconds_count", "gen_ai_server_time_to_first_token_seconds_count",
		"gen_ai_server_time_per_output_token_seconds_count", "paddock_request_success_total", "paddock_request_queue_time_seconds_count",
		"paddock_request_prefill_time_seconds_count", "paddock_request_decode_time_seconds_count"} {
		page.want(t, 2, name, of, `gen_ai_operation_name="text_completion"`)
	}
	page.want(t, 40, "paddock_prompt_tokens_total", of)
	page.want(t, 6, "paddock_generation_tokens_total", of)
	page.want(t, 1, "paddock_request_failure_total", `reason="invalid_request"`, `class="4xx"`)
	page.want(t, 0, "paddock_num_requests_in_flight")
}

// Whoever sees a token finds it counted, and whoever sees the last one finds the
// request ended in every count.
func TestLaw4_CountedBeforeSeen(t *testing.T) {
	m := &fakeModel{gate: make(chan struct{})}
	e := openFake(t, m, Options{KVPages: 64})
	defer close(m.gate)
	s, err := e.Submit(context.Background(), Request{Tokens: prompt(20, 4), MaxTokens: 20})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1.0; n <= 20; n++ {
		m.gate <- struct{}{} // one step, and none after it while this looks
		s.Next()
		page := scrapeOf(t, e)
		page.want(t, n, "paddock_generation_tokens_total")
		page.want(t, n, "paddock_iteration_tokens_count")
		page.want(t, n-1, "paddock_inter_token_latency_seconds_count")
		if n < 20 {
			page.want(t, 1, "paddock_num_requests_running")
			page.want(t, 1, "paddock_num_requests_in_flight")
			page.want(t, 0, "paddock_request_success_total")
			continue
		}
		page.want(t, 0, "paddock_num_requests_running")
		page.want(t, 0, "paddock_num_requests_in_flight")
		page.want(t, 0, "paddock_kv_pages_used")
		page.want(t, 1, "paddock_request_success_total")
		page.want(t, 1, "paddock_requests_finished_total")
		page.want(t, 1, "gen_ai_server_request_duration_seconds_count")
	}
}
