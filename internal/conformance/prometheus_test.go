package conformance

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// seen is what the clients of a load have seen.
type seen struct {
	mu     sync.Mutex
	tokens int
	first  []time.Duration // from the request to the first text
}

// ask sends one streamed question.
func (s *seen) ask(ctx context.Context, client *openai.Client, text string) error {
	p := chat(text)
	p.MaxTokens = openai.Int(64)
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	begin := time.Now()
	stream := client.Chat.Completions.NewStreaming(ctx, p, option.WithJSONSet("ignore_eos", true))
	first, tokens := time.Duration(0), int64(0)
	for stream.Next() {
		chunk := stream.Current()
		if first == 0 && len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			first = time.Since(begin)
		}
		tokens += chunk.Usage.CompletionTokens
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens += int(tokens)
	s.first = append(s.first, first)
	return stream.Err()
}

// bucket is the index of the bucket of the ladder that a time in seconds falls in.
func bucket(seconds float64) int {
	return max(0, int(math.Ceil(math.Log2(seconds/0.01))))
}

// TestPrometheus lets a real Prometheus scrape the server while it is under load:
// what it knows afterwards is what the clients saw.
func TestPrometheus(t *testing.T) {
	tool(t, "prometheus")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	target := startServer(t, "--max-batch", "16")
	p := startPrometheus(t, ctx, target)
	p.waitFor(t, ctx, `count_over_time(up{job="paddock"}[1m]) >= 3`) // scraped before anything happens

	client := openai.NewClient(option.WithBaseURL("http://"+target+"/v1/"), option.WithAPIKey("none"), option.WithMaxRetries(0))
	begin, s := time.Now(), &seen{}
	var wg sync.WaitGroup
	for i := range 48 { // three times what the batch takes: the waiting makes the times long beside a client's own
		wg.Go(func() {
			for k := 0; k < 2 || time.Since(begin) < 8*time.Second; k++ {
				if err := s.ask(ctx, &client, fmt.Sprintf("%s (%d, %d)", question, i, k)); err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	p.waitFor(t, ctx, fmt.Sprintf(`sum(paddock_request_success_total) >= %d`, len(s.first)))
	p.waitFor(t, ctx, `paddock_num_requests_running == 0`)
	time.Sleep(3 * scrapeInterval) // so that the window ends after the last change
	window := int(math.Ceil(time.Since(begin).Seconds())) + 2

	rate := p.must(t, ctx, fmt.Sprintf(`sum(rate(paddock_generation_tokens_total[%ds])) * %d`, window, window))
	if off := math.Abs(rate-float64(s.tokens)) / float64(s.tokens); off > 0.02 {
		t.Errorf("rate × window is %.1f, the clients got %d tokens: %.1f %% off", rate, s.tokens, 100*off)
	}
	if v := p.must(t, ctx, `sum(paddock_generation_tokens_total)`); int(v) != s.tokens {
		t.Errorf("the counter is %v, the clients got %d tokens", v, s.tokens)
	}
	if v := p.must(t, ctx, `sum(gen_ai_server_time_to_first_token_seconds_count)`); int(v) != len(s.first) {
		t.Errorf("%v times to the first token, of %d requests", v, len(s.first))
	}

	// The clients' clock has their own waking up in it, so a value that is just over a
	// bound for them may be just below it for the server.
	slices.Sort(s.first)
	quantile := p.must(t, ctx, fmt.Sprintf(`histogram_quantile(0.95, sum by (le) (rate(gen_ai_server_time_to_first_token_seconds_bucket[%ds])))`, window))
	clients := s.first[(len(s.first)*95+99)/100-1].Seconds()
	if b := bucket(quantile); b != bucket(clients) && b != bucket(clients*0.9-0.005) {
		t.Errorf("the p95 of the time to the first token is %.4f s in Prometheus and %.4f s for the clients: other buckets", quantile, clients)
	}
	t.Logf("p95 of the time to the first token: %.4f s in Prometheus, %.4f s for the clients", quantile, clients)

	if v := p.must(t, ctx, fmt.Sprintf(`max_over_time(paddock_kv_cache_usage_perc[%ds])`, window)); v <= 0 || v > 1 {
		t.Errorf("KV use rose to %v", v)
	}
	if v := p.must(t, ctx, `paddock_kv_cache_usage_perc`); v != 0 {
		t.Errorf("KV use ends at %v", v)
	}
	if v := p.must(t, ctx, fmt.Sprintf(`max_over_time(paddock_num_requests_running[%ds])`, window)); v <= 1 {
		t.Errorf("at most %v ran at once", v)
	}
	if v := p.must(t, ctx, fmt.Sprintf(`min_over_time(up{job="paddock"}[%ds])`, window)); v != 1 {
		t.Error("a scrape failed under load")
	}
	if advice := lint(t, target); advice != "" {
		t.Errorf("promtool check metrics: %s", advice)
	}
}
