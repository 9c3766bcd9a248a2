package metrics

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

// claim is what a family of the view must be equal to: a counter or gauge to a value read off the native families, whole or for each
// value of a label; a histogram to what the engine's records and steps say it must have seen and, where same is set, to the native
// histogram of that name.
type claim struct {
	value func(probe) float64
	label string
	by    map[string]func(probe) float64
	seen  func(probe) []float64
	same  string
}

func of(sample string, labels ...string) func(probe) float64 {
	return func(p probe) float64 { return p.native(sample, labels...) }
}

func zero(probe) float64 { return 0 }

func every(_ *Record, v float64) (float64, bool) { return v, true }

// until is from a to b, or to the request's end where it never got to b.
func until(rec *Record, a, b time.Duration) float64 {
	if b == 0 {
		b = rec.Finished
	}
	return (b - a).Seconds()
}

// claims has an entry for every family of vllmTable.
var claims = map[string]claim{
	"vllm:num_requests_running": {value: of("paddock_num_requests_running")},
	"vllm:num_requests_waiting": {value: of("paddock_num_requests_waiting")},
	"vllm:num_requests_waiting_by_reason": {label: "reason", by: map[string]func(probe) float64{
		"capacity": func(p probe) float64 {
			return p.native("paddock_num_requests_waiting_by_reason", `reason="capacity"`) +
				p.native("paddock_num_requests_waiting_by_reason", `reason="preempted"`)
		},
		"deferred": func(p probe) (n float64) {
			for _, reason := range []string{"prefix", "restoring", "grammar", "parked"} {
				n += p.native("paddock_num_requests_waiting_by_reason", `reason="`+reason+`"`)
			}
			return n
		},
	}},
	"vllm:kv_cache_usage_perc":      {value: of("paddock_kv_cache_usage_perc")},
	"vllm:gpu_cache_usage_perc":     {value: of("paddock_kv_cache_usage_perc")},
	"vllm:cache_config_info":        {value: of("paddock_cache_config_info")},
	"vllm:prefix_cache_queries":     {value: of("paddock_prefix_cache_queries_total")},
	"vllm:prefix_cache_hits":        {value: of("paddock_prefix_cache_hits_total")},
	"vllm:gpu_prefix_cache_queries": {value: of("paddock_prefix_cache_queries_total")},
	"vllm:gpu_prefix_cache_hits":    {value: of("paddock_prefix_cache_hits_total")},
	"vllm:gpu_prefix_cache_hit_rate": {value: func(p probe) float64 {
		if q := p.native("paddock_prefix_cache_queries_total"); q > 0 {
			return p.native("paddock_prefix_cache_hits_total") / q
		}
		return 0
	}},
	"vllm:num_preemptions": {value: of("paddock_num_preemptions_total")},
	"vllm:prompt_tokens":   {value: of("paddock_prompt_tokens_total")},
	"vllm:prompt_tokens_by_source": {label: "source", by: map[string]func(probe) float64{
		"local_compute":        of("paddock_prompt_tokens_by_source_total", `source="computed"`),
		"local_cache_hit":      of("paddock_prompt_tokens_by_source_total", `source="prefix"`),
		"external_kv_transfer": of("paddock_prompt_tokens_by_source_total", `source="tier"`),
	}},
	"vllm:prompt_tokens_cached": {value: of("paddock_prompt_cached_tokens_total")},
	"vllm:generation_tokens":    {value: of("paddock_generation_tokens_total")},
	"vllm:request_success": {label: "finished_reason", by: map[string]func(probe) float64{
		"stop":       of("paddock_requests_finished_total", `reason="stop"`),
		"length":     of("paddock_requests_finished_total", `reason="length"`),
		"abort":      of("paddock_requests_finished_total", `reason="abort"`),
		"error":      of("paddock_requests_finished_total", `reason="error"`),
		"repetition": zero,
	}},
	"vllm:estimated_flops_per_gpu":       {value: of("paddock_estimated_flops_total")},
	"vllm:estimated_read_bytes_per_gpu":  {value: of("paddock_estimated_read_bytes_total")},
	"vllm:estimated_write_bytes_per_gpu": {value: of("paddock_estimated_write_bytes_total")},
	"vllm:spec_decode_num_drafts":        {value: of("paddock_spec_decode_drafts_total")},
	"vllm:spec_decode_num_draft_tokens":  {value: of("paddock_spec_decode_draft_tokens_total")},
	"vllm:spec_decode_num_accepted_tokens": {
		value: of("paddock_spec_decode_accepted_tokens_total")},
	"vllm:spec_decode_num_accepted_tokens_per_pos": {label: "position", by: map[string]func(probe) float64{
		"0": of("paddock_spec_decode_accepted_tokens_per_pos_total", `position="0"`),
		"1": of("paddock_spec_decode_accepted_tokens_per_pos_total", `position="1"`),
		"2": of("paddock_spec_decode_accepted_tokens_per_pos_total", `position="2"`),
		"3": of("paddock_spec_decode_accepted_tokens_per_pos_total", `position="3"`),
	}},

	"vllm:request_prompt_tokens": {same: "paddock_request_prompt_tokens",
		seen: perRequest(func(r *Record) (float64, bool) { return every(r, float64(r.PromptTokens)) })},
	"vllm:request_prefill_kv_computed_tokens": {
		seen: perRequest(func(r *Record) (float64, bool) { return every(r, float64(r.PromptTokens-r.CachedTokens)) })},
	"vllm:request_generation_tokens": {
		seen: perChoice(func(r *Record, c *Choice) (float64, bool) { return every(r, float64(c.Tokens)) })},
	"vllm:request_max_num_generation_tokens": {seen: perRequest(func(r *Record) (most float64, _ bool) {
		for _, c := range r.Choices {
			most = max(most, float64(c.Tokens))
		}
		return most, true
	})},
	"vllm:request_params_n": {
		seen: perRequest(func(r *Record) (float64, bool) { return every(r, float64(len(r.Choices))) })},
	"vllm:request_params_max_tokens": {
		seen: perRequest(func(r *Record) (float64, bool) { return float64(r.MaxTokens), r.MaxTokens > 0 })},
	"vllm:request_num_preemptions": {
		seen: perRequest(func(r *Record) (float64, bool) { return every(r, float64(r.Preemptions)) })},
	"vllm:iteration_tokens_total": {same: "paddock_iteration_tokens",
		seen: func(p probe) []float64 { return p.e.steps }},

	"vllm:time_to_first_token_seconds": {
		seen: perChoice(func(r *Record, c *Choice) (float64, bool) { return (c.First - r.Arrival).Seconds(), c.Tokens > 0 })},
	"vllm:request_time_per_output_token_seconds": {seen: perChoice(func(r *Record, c *Choice) (float64, bool) {
		return (c.Last - c.First).Seconds() / float64(max(1, c.Tokens-1)), c.Tokens > 0
	})},
	"vllm:inter_token_latency_seconds":   {same: "paddock_inter_token_latency_seconds", seen: gapsOf},
	"vllm:time_per_output_token_seconds": {same: "paddock_inter_token_latency_seconds", seen: gapsOf},
	"vllm:e2e_request_latency_seconds": {
		seen: perRequest(func(r *Record) (float64, bool) { return every(r, (r.Finished - r.Arrival).Seconds()) })},
	"vllm:request_queue_time_seconds": {same: "paddock_request_queue_time_seconds",
		seen: perRequest(func(r *Record) (float64, bool) { return every(r, until(r, r.Queued, r.Scheduled)) })},
	"vllm:request_prefill_time_seconds": {same: "paddock_request_prefill_time_seconds",
		seen: perRequest(func(r *Record) (float64, bool) { return until(r, r.Scheduled, r.First), r.Scheduled != 0 })},
	"vllm:request_decode_time_seconds": {same: "paddock_request_decode_time_seconds",
		seen: perRequest(func(r *Record) (float64, bool) { return (r.Last - r.First).Seconds(), r.First != 0 })},
	"vllm:request_inference_time_seconds": {
		seen: perRequest(func(r *Record) (float64, bool) { return until(r, r.Scheduled, r.Last), r.Scheduled != 0 })},

	"vllm:kv_block_lifetime_seconds": {same: "paddock_kv_block_lifetime_seconds",
		seen: residencies(func(r PageResidency) []time.Duration { return []time.Duration{r.Lifetime} })},
	"vllm:kv_block_idle_before_evict_seconds": {same: "paddock_kv_block_idle_seconds",
		seen: residencies(func(r PageResidency) []time.Duration { return []time.Duration{r.Idle} })},
	"vllm:kv_block_reuse_gap_seconds": {same: "paddock_kv_block_reuse_gap_seconds",
		seen: residencies(func(r PageResidency) []time.Duration { return r.Gaps[:r.NGaps] })},
}

func gapsOf(p probe) []float64 { return p.e.gaps }

func residencies(f func(PageResidency) []time.Duration) func(probe) []float64 {
	return func(p probe) (seen []float64) {
		for _, s := range p.e.stepped {
			for _, r := range s.Residency {
				for _, d := range f(r) {
					seen = append(seen, d.Seconds())
				}
			}
		}
		return seen
	}
}

// check holds every family of the view against its claim.
func (p probe) check(when string) {
	t := p.e.t
	t.Helper()
	for i := range vllmTable {
		f := &vllmTable[i]
		if f.name == "vllm:admission_rejections" { // of all engines: see TestVLLMRejectionsAreOfAllEngines
			continue
		}
		c, ok := claims[f.name]
		switch {
		case !ok:
			t.Errorf("%s has no claim", f.name)
		case c.value != nil:
			if got, want := p.view(f.sampleName()), c.value(p); got != want {
				t.Errorf("%s: %s is %v, want %v", when, f.name, got, want)
			}
		case c.by != nil:
			for value, want := range c.by {
				label := c.label + `="` + value + `"`
				if got, want := p.view(f.sampleName(), label), want(p); got != want {
					t.Errorf("%s: %s with %s is %v, want %v", when, f.name, label, got, want)
				}
			}
		default:
			p.checkHistogram(when, f, &c)
		}
	}
}

func (p probe) checkHistogram(when string, f *vllmFamily, c *claim) {
	t := p.e.t
	t.Helper()
	seen, sum := c.seen(p), 0.0
	for _, v := range seen {
		sum += v
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }
	if got := p.view(f.name + "_count"); got != float64(len(seen)) {
		t.Errorf("%s: %s saw %v, want %d", when, f.name, got, len(seen))
	}
	if got := p.view(f.name + "_sum"); !near(got, sum) {
		t.Errorf("%s: %s sums to %v, want %v", when, f.name, got, sum)
	}
	for block, got := range p.page[f.name+"_bucket"] {
		if !has(block, []string{`engine="` + p.index + `"`}) {
			continue
		}
		_, le, _ := strings.Cut(block, `le="`)
		bound, err := strconv.ParseFloat(strings.TrimSuffix(le, `"}`), 64)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, v := range seen {
			if v <= bound+1e-12 {
				want++
			}
		}
		if got != float64(want) {
			t.Errorf("%s: %s_bucket with le %v is %v, want %d", when, f.name, bound, got, want)
		}
	}
	if c.same != "" {
		for _, part := range []string{"_count", "_sum"} {
			if got, want := p.view(f.name+part), p.native(c.same+part); !near(got, want) {
				t.Errorf("%s: %s%s is %v, %s has %v", when, f.name, part, got, c.same, want)
			}
		}
	}
}

// lives are one of each kind of request.
var lives = []struct {
	name string
	life life
}{
	{"one choice", life{prompt: 100, prefix: 32, tokens: []int{5}, maxTokens: 16}},
	{"one token", life{prompt: 7, tokens: []int{1}, op: TextCompletion, origin: Batch}},
	{"three choices", life{prompt: 64, prefix: 16, tier: 16, tokens: []int{2, 9, 4}, maxTokens: 9}},
	{"speculation", life{prompt: 20, tokens: []int{11, 8}, width: 4, maxTokens: 11}},
	{"preemption", life{prompt: 33, tokens: []int{6}, preemptions: 2}},
	{"cancelled in the queue", life{prompt: 50, tokens: []int{0, 0}, until: inQueue, fail: Disconnect, maxTokens: 5}},
	{"cancelled in prefill", life{prompt: 50, prefix: 16, tokens: []int{0}, until: inPrefill, fail: Deadline}},
	{"cancelled in decode", life{prompt: 40, tokens: []int{3, 0}, fail: Disconnect}},
	{"failed after tokens", life{prompt: 40, tokens: []int{4}, fail: EngineError, origin: Studio}},
	{"refused", life{until: atEdge, fail: QueueFull}},
	{"unauthorized", life{until: atEdge, fail: Unauthorized}},
}

// One request moves each counter and histogram of the view by what the native ones moved, and idle sums agree.
func TestVLLMViewIsAlive(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	h := HandlerFor(HandlerOptions{Recorder: r, VLLM: true})
	a, b := newSim(t, r, "a"), newSim(t, r, "b")
	look := func(when string) {
		page := familiesOf(parse(t, get(t, h)))
		probe{page, a, "0"}.check(when + ", engine a")
		probe{page, b, "1"}.check(when + ", engine b")
	}
	look("at first")
	for _, l := range lives {
		for i, e := range []*sim{a, b, a} {
			e.live(l.life)
			look(fmt.Sprintf("%s, %d", l.name, i))
		}
	}
	page := familiesOf(parse(t, get(t, h)))
	for _, p := range []probe{{page, a, "0"}, {page, b, "1"}} {
		for sum, want := range map[string]float64{
			"vllm:request_prompt_tokens_sum":              p.view("vllm:prompt_tokens_total"),
			"vllm:request_prefill_kv_computed_tokens_sum": p.view("vllm:prompt_tokens_by_source_total", `source="local_compute"`),
			"vllm:request_generation_tokens_sum":          p.view("vllm:generation_tokens_total"),
			"vllm:request_generation_tokens_count":        p.view("vllm:request_success_total"),
			"vllm:request_params_n_sum":                   p.view("vllm:request_success_total"),
			"vllm:request_num_preemptions_sum":            p.view("vllm:num_preemptions_total"),
		} {
			if got := p.view(sum); got != want || want == 0 {
				t.Errorf("engine %s: idle, %s is %v, its counter %v", p.index, sum, got, want)
			}
		}
		prefill, decode := p.view("vllm:request_prefill_time_seconds_sum"), p.view("vllm:request_decode_time_seconds_sum")
		if got := p.view("vllm:request_inference_time_seconds_sum"); math.Abs(got-prefill-decode) > 1e-9 {
			t.Errorf("engine %s: inference took %v, prefill %v and decode %v", p.index, got, prefill, decode)
		}
	}
	if r.Faults() != 0 {
		t.Errorf("%d faults", r.Faults())
	}
}

// While a request is on its way the gauges of both views say the same.
func TestVLLMGaugesFollow(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	h := HandlerFor(HandlerOptions{Recorder: r, VLLM: true})
	e := newSim(t, r, "m")
	e.s.Waiting = [NumWaitReasons]int{1, 2, 4, 8, 16, 32}
	e.s.Running, e.s.Admitted = 5, 68
	e.s.PagesUsed, e.s.PagesFree = 48, 16
	e.publish()
	page := parse(t, get(t, h))
	page.want(t, `vllm:num_requests_running{model_name="m",engine="0"}`, 5)
	page.want(t, `vllm:num_requests_waiting{model_name="m",engine="0"}`, 63)
	page.want(t, `vllm:num_requests_waiting_by_reason{model_name="m",engine="0",reason="capacity"}`, 3)
	page.want(t, `vllm:num_requests_waiting_by_reason{model_name="m",engine="0",reason="deferred"}`, 60)
	page.want(t, `vllm:kv_cache_usage_perc{model_name="m",engine="0"}`, 0.75)
	page.want(t, `vllm:gpu_cache_usage_perc{model_name="m",engine="0"}`, 0.75)
	probe{familiesOf(page), e, "0"}.check("loaded")
}
