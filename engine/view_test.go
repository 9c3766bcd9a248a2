package engine

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paddock-go/paddock/metrics"
)

// viewed pairs the sums of vLLM's families with the native ones that they are
// equal to, whatever a real engine did. All families, bucket by bucket, are in
// metrics' own tests; here it is the engine that must feed both alike.
var viewed = [][2]string{
	{"vllm:num_requests_running", "paddock_num_requests_running"},
	{"vllm:num_requests_waiting", "paddock_num_requests_waiting"},
	{"vllm:num_requests_waiting_by_reason", "paddock_num_requests_waiting_by_reason"},
	{"vllm:kv_cache_usage_perc", "paddock_kv_cache_usage_perc"},
	{"vllm:gpu_cache_usage_perc", "paddock_kv_cache_usage_perc"},
	{"vllm:cache_config_info", "paddock_cache_config_info"},
	{"vllm:prefix_cache_queries_total", "paddock_prefix_cache_queries_total"},
	{"vllm:prefix_cache_hits_total", "paddock_prefix_cache_hits_total"},
	{"vllm:gpu_prefix_cache_queries_total", "paddock_prefix_cache_queries_total"},
	{"vllm:gpu_prefix_cache_hits_total", "paddock_prefix_cache_hits_total"},
	{"vllm:num_preemptions_total", "paddock_num_preemptions_total"},
	{"vllm:prompt_tokens_total", "paddock_prompt_tokens_total"},
	{"vllm:prompt_tokens_by_source_total", "paddock_prompt_tokens_by_source_total"},
	{"vllm:prompt_tokens_cached_total", "paddock_prompt_cached_tokens_total"},
	{"vllm:generation_tokens_total", "paddock_generation_tokens_total"},
	{"vllm:request_success_total", "paddock_requests_finished_total"},
	{"vllm:spec_decode_num_drafts_total", "paddock_spec_decode_drafts_total"},
	{"vllm:spec_decode_num_draft_tokens_total", "paddock_spec_decode_draft_tokens_total"},
	{"vllm:spec_decode_num_accepted_tokens_total", "paddock_spec_decode_accepted_tokens_total"},
	{"vllm:spec_decode_num_accepted_tokens_per_pos_total", "paddock_spec_decode_accepted_tokens_per_pos_total"},
	{"vllm:estimated_flops_per_gpu_total", "paddock_estimated_flops_total"},
	{"vllm:estimated_read_bytes_per_gpu_total", "paddock_estimated_read_bytes_total"},
	{"vllm:estimated_write_bytes_per_gpu_total", "paddock_estimated_write_bytes_total"},

	{"vllm:iteration_tokens_total_sum", "paddock_iteration_tokens_sum"},
	{"vllm:iteration_tokens_total_count", "paddock_iteration_tokens_count"},
	{"vllm:inter_token_latency_seconds_sum", "paddock_inter_token_latency_seconds_sum"},
	{"vllm:inter_token_latency_seconds_count", "paddock_inter_token_latency_seconds_count"},
	{"vllm:time_per_output_token_seconds_count", "paddock_inter_token_latency_seconds_count"},
	{"vllm:request_queue_time_seconds_sum", "paddock_request_queue_time_seconds_sum"},
	{"vllm:request_queue_time_seconds_count", "paddock_request_queue_time_seconds_count"},
	{"vllm:request_prefill_time_seconds_sum", "paddock_request_prefill_time_seconds_sum"},
	{"vllm:request_prefill_time_seconds_count", "paddock_request_prefill_time_seconds_count"},
	{"vllm:request_decode_time_seconds_sum", "paddock_request_decode_time_seconds_sum"},
	{"vllm:request_decode_time_seconds_count", "paddock_request_decode_time_seconds_count"},
	{"vllm:request_inference_time_seconds_count", "paddock_request_prefill_time_seconds_count"},
	{"vllm:e2e_request_latency_seconds_count", "gen_ai_server_request_duration_seconds_count"},
	{"vllm:e2e_request_latency_seconds_sum", "gen_ai_server_request_duration_seconds_sum"},
	{"vllm:request_prompt_tokens_count", "paddock_request_prompt_tokens_count"},
	{"vllm:request_prompt_tokens_sum", "paddock_request_prompt_tokens_sum"},
	{"vllm:request_generation_tokens_sum", "paddock_request_generation_tokens_sum"},
	{"vllm:request_params_n_count", "paddock_request_prompt_tokens_count"},
	{"vllm:request_max_num_generation_tokens_count", "paddock_request_prompt_tokens_count"},
	{"vllm:request_num_preemptions_count", "paddock_request_prompt_tokens_count"},
	{"vllm:kv_block_lifetime_seconds_count", "paddock_kv_block_lifetime_seconds_count"},
	{"vllm:kv_block_lifetime_seconds_sum", "paddock_kv_block_lifetime_seconds_sum"},
	{"vllm:kv_block_idle_before_evict_seconds_sum", "paddock_kv_block_idle_seconds_sum"},
	{"vllm:kv_block_reuse_gap_seconds_count", "paddock_kv_block_reuse_gap_seconds_count"},
}

// idle are equations that hold while nothing is on its way: a histogram of what
// ended is as much as the counter of what happened.
var idle = [][2]string{
	{"vllm:request_prompt_tokens_sum", "vllm:prompt_tokens_total"},
	{"vllm:request_generation_tokens_sum", "vllm:generation_tokens_total"},
	{"vllm:request_generation_tokens_count", "vllm:request_success_total"},
	{"vllm:request_params_n_sum", "vllm:request_success_total"},
	{"vllm:request_num_preemptions_sum", "vllm:num_preemptions_total"},
	{"vllm:time_to_first_token_seconds_count", "vllm:request_time_per_output_token_seconds_count"},
}

// Two real engines on one recorder, with whatever happens to requests: in vLLM's
// view each has what it has in the native one.
func TestViewOfRealEngines(t *testing.T) {
	rec := metrics.NewRecorder(metrics.RecorderOptions{})
	view := metrics.HandlerOptions{Recorder: rec, VLLM: true}
	scrape(t, view)
	busy := openFake(t, &fakeModel{delay: 50 * time.Microsecond, vocab: 4},
		Options{Name: "busy", Metrics: rec, KVPages: 14, Spec: Spec{NGram: 3}, ResidencySample: 1})
	torn := abortable(t, "torn", rec)
	crowd4(t, busy)
	collect(t, busy, Request{Tokens: prompt4(33), MaxTokens: 20, N: 3})
	collect(t, busy, Request{Tokens: prompt4(33), MaxTokens: 1})
	aborts(t, torn)
	settle(t, busy)

	page := scrape(t, view)
	for index, e := range []*Engine{busy, torn} {
		engine, model := `engine="`+strconv.Itoa(index)+`"`, `model="`+e.Name()+`"`
		native := func(name string) float64 {
			if strings.HasPrefix(name, "vllm:") {
				return page.sum(name, engine)
			}
			return page.sum(name, model) + page.sum(name, "gen_ai_request_"+model)
		}
		for _, pair := range append(viewed, idle...) {
			if got, want := page.sum(pair[0], engine), native(pair[1]); math.Abs(got-want) > 1e-9*max(1, want) {
				t.Errorf("%s: %s is %v, %s is %v", e.Name(), pair[0], got, pair[1], want)
			}
		}
		computed := page.sum("vllm:prompt_tokens_by_source_total", engine, `source="local_compute"`)
		if got := page.sum("vllm:request_prefill_kv_computed_tokens_sum", engine); got != computed {
			t.Errorf("%s: requests computed %v tokens, the engine %v", e.Name(), got, computed)
		}
	}
	for _, moved := range []string{"vllm:num_preemptions_total", "vllm:spec_decode_num_drafts_total", "vllm:spec_decode_num_accepted_tokens_total",
		"vllm:kv_block_lifetime_seconds_count", "vllm:prefix_cache_hits_total", "vllm:request_params_max_tokens_count"} {
		if page.sum(moved) == 0 {
			t.Errorf("%s has not moved: the test doesn't reach it", moved)
		}
	}
	page.want(t, 3, "vllm:request_success_total", `model_name="torn"`, `finished_reason="abort"`)
	page.want(t, 0, "vllm:request_success_total", `finished_reason="repetition"`)
	// The buckets of sizes go up to the engine's own context, 4096.
	for name, labels := range map[string]string{
		"vllm:request_prompt_tokens_bucket":     `{model_name="torn",engine="1",le="%d"}`,
		"vllm:request_params_max_tokens_bucket": `{model_name="busy",engine="0",le="%d"}`,
	} {
		for bound, want := range map[int]bool{2000: true, 5000: false} {
			labels := fmt.Sprintf(labels, bound)
			if has := slices.ContainsFunc(page[name], func(s scrapedSample) bool { return s.labels == labels }); has != want {
				t.Errorf("%s%s is there: %v, want %v", name, labels, has, want)
			}
		}
	}
}

// prompt4 is a prompt for a vocabulary of four, in which drafts are found.
func prompt4(n int) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32(i % 4)
	}
	return p
}

// crowd4 is crowd for a vocabulary of four.
func crowd4(t *testing.T, e *Engine) {
	t.Helper()
	var streams []*Stream
	for i := range 4 {
		tokens := prompt(40, uint64(i)+1)
		for k := range tokens {
			tokens[k] %= 4
		}
		s, err := e.Submit(t.Context(), Request{Tokens: tokens, MaxTokens: 100})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	for _, s := range streams {
		if _, _, err := drainStream(s); err != nil {
			t.Error(err)
		}
	}
	if s := settle(t, e); s.Preemptions == 0 {
		t.Error("no preemption happened")
	}
}
