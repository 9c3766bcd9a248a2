package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/metrics"
)

// usage is what a reply says that it took.
type usage struct {
	Prompt  int `json:"prompt_tokens"`
	Tokens  int `json:"completion_tokens"`
	Total   int `json:"total_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// usageOf finds the usage in a reply, streamed or not; there must be one.
func usageOf(reply string) (u usage, err error) {
	found := 0
	for line := range strings.Lines(reply) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		if line == "" || line == "[DONE]" {
			continue
		}
		var chunk struct{ Usage *usage }
		if err := json.Unmarshal([]byte(line), &chunk); err != nil {
			return u, err
		}
		if chunk.Usage != nil {
			found, u = found+1, *chunk.Usage
		}
	}
	if found != 1 {
		err = fmt.Errorf("%d usages in %.300s", found, reply)
	}
	return u, err
}

// finished keeps what a StatLogger is told of each ended request.
type finished struct {
	mu   sync.Mutex
	byID map[string]usage
	fail map[string]metrics.FailReason
}

func (f *finished) OpenEngine(metrics.EngineInfo) metrics.Observer { return f }
func (f *finished) Log([]metrics.EngineStats)                      {}
func (f *finished) Step(*metrics.StepStats)                        {}

func (f *finished) Finish(r *metrics.Record) {
	u := usage{Prompt: r.PromptTokens, Tokens: r.GeneratedTokens, Total: r.PromptTokens + r.GeneratedTokens}
	u.Details.Cached = r.CachedTokens
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byID[r.ID], f.fail[r.ID] = u, r.Fail
}

// billed is the i-th of a mixture of requests that end in every way a success can:
// streamed and not, one choice and several, at a stop string, a stop token and a
// limit, with and without a shared prefix; with speculation.
func billed(i int) call {
	fields := []string{`"model":"demo"`, fmt.Sprintf(`"n":%d`, 1+i%3), fmt.Sprintf(`"seed":%d`, i)}
	if i%2 == 0 {
		fields = append(fields, `"stream":true`, `"stream_options":{"include_usage":true}`)
	}
	switch i % 4 {
	case 0:
		fields = append(fields, `"ignore_eos":true`, fmt.Sprintf(`"max_tokens":%d`, 1+i))
	case 1:
		fields = append(fields, `"temperature":0`, `"max_tokens":64`)
	case 2:
		fields = append(fields, `"stop":["e","o "]`, `"max_tokens":64`)
	case 3:
		fields = append(fields, `"temperature":1.3`, `"max_tokens":40`)
	}
	c := call{path: "/v1/completions", id: fmt.Sprintf("billed-%d", i)}
	if i%3 == 0 {
		c.path = "/v1/chat/completions"
		fields = append(fields, fmt.Sprintf(`"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"%s"}]`, question))
	} else {
		fields = append(fields, fmt.Sprintf(`"prompt":"one two one two one two %s(%d)"`, strings.Repeat("and three ", i%7*6), i%5))
	}
	c.body = "{" + strings.Join(fields, ",") + "}"
	return c
}

// TestUsage: what a reply says that it took is, to the token, what its event says,
// what an observer is told of its end, and what the counters grow by.
func TestUsage(t *testing.T) {
	ended := &finished{byID: map[string]usage{}, fail: map[string]metrics.FailReason{}}
	r := newRig(t, paddock.Options{Spec: paddock.Spec{NGram: 4}, Limits: paddock.Limits{MaxSequences: 8}}, paddock.HandlerOptions{},
		metrics.RecorderOptions{StatLoggers: []metrics.StatLogger{ended}})
	const n = 120
	replies := make([]usage, n)
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			for i := worker; i < n; i += 6 {
				c := billed(i)
				status, reply, err := c.do(t.Context(), r.target)
				if err == nil && status == 200 {
					replies[i], err = usageOf(reply)
				}
				if err != nil || status != 200 {
					t.Errorf("request %d: status %d, %v: %.300s", i, status, err, reply)
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	known, sum := byRequest(t, events(t, r.target)), usage{}
	ended.mu.Lock()
	defer ended.mu.Unlock()
	for i, u := range replies {
		id := billed(i).id
		e := known[id]
		if e.Input == nil || e.Output == nil || e.Cached == nil || *e.Input != u.Prompt || *e.Output != u.Tokens || *e.Cached != u.Details.Cached || len(e.FinishReasons) != 1+i%3 {
			t.Errorf("%s: the reply says %+v, the event %+v", id, u, e)
		}
		if ended.byID[id] != u || ended.fail[id] != metrics.NoFail {
			t.Errorf("%s: the reply says %+v, the observer was told %+v, %v", id, u, ended.byID[id], ended.fail[id])
		}
		if u.Total != u.Prompt+u.Tokens {
			t.Errorf("%s: %+v", id, u)
		}
		sum.Prompt, sum.Tokens, sum.Details.Cached = sum.Prompt+u.Prompt, sum.Tokens+u.Tokens, sum.Details.Cached+u.Details.Cached
	}
	if len(ended.byID) != n || len(known) != n || sum.Details.Cached == 0 || !slices.ContainsFunc(replies, func(u usage) bool { return u.Tokens > 3*40 }) {
		t.Errorf("%d records, %d events, %+v in all", len(ended.byID), len(known), sum)
	}
	page := scrape(t, r.target)
	for name, want := range map[string]int{
		"paddock_prompt_tokens_total": sum.Prompt, "paddock_prompt_cached_tokens_total": sum.Details.Cached, "paddock_generation_tokens_total": sum.Tokens,
		"paddock_request_prompt_tokens_sum": sum.Prompt, "paddock_request_generation_tokens_sum": sum.Tokens, "paddock_request_success_total": n,
		"vllm:prompt_tokens_total": sum.Prompt, "vllm:generation_tokens_total": sum.Tokens,
		"paddock_prefix_cache_queries_total": sum.Prompt, "paddock_prefix_cache_hits_total": sum.Details.Cached,
	} {
		if page.sum(name) != float64(want) {
			t.Errorf("%s is %v, the replies say %d", name, page.sum(name), want)
		}
	}
	if page.sum("paddock_spec_decode_accepted_tokens_total") == 0 {
		t.Error("no draft was accepted")
	}
}
