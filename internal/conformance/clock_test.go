package conformance

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/metrics"
)

// timing is a request by a client's own clock.
type timing struct {
	id               string
	first, last, end time.Duration // from just before it was sent: first content, finish reason, end of the stream
	prompt, tokens   int           // usage
	cached           int
	finish           string
	role             time.Duration // the chunk that has only a role
}

// perToken is the mean time between the tokens after the first.
func (t timing) perToken() time.Duration { return (t.last - t.first) / time.Duration(t.tokens-1) }

// stream sends one request as any program does and reads its clock at each chunk.
func stream(ctx context.Context, client *openai.Client, id string, p openai.ChatCompletionNewParams, opts ...option.RequestOption) (timing, error) {
	t := timing{id: id}
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	opts = append(opts, option.WithHeader("X-Request-Id", id), option.WithJSONSet("ignore_eos", true))
	begin := time.Now()
	s := client.Chat.Completions.NewStreaming(ctx, p, opts...)
	for s.Next() {
		now, chunk := time.Since(begin), s.Current()
		if chunk.JSON.Usage.Valid() {
			t.prompt, t.tokens, t.cached = int(chunk.Usage.PromptTokens), int(chunk.Usage.CompletionTokens), int(chunk.Usage.PromptTokensDetails.CachedTokens)
		}
		if len(chunk.Choices) == 0 {
			continue
		}
		c := chunk.Choices[0]
		if c.Delta.Role != "" {
			t.role = now
		}
		if t.first == 0 && c.Delta.Content != "" {
			t.first = now
		}
		if c.FinishReason != "" {
			t.last, t.finish = now, c.FinishReason
		}
	}
	t.end = time.Since(begin)
	return t, s.Err()
}

// measures are what an event and a client say of the same times, in milliseconds.
var measures = []struct {
	name   string
	client func(timing) time.Duration
	server func(event) *float64
}{
	{"time to first token", func(t timing) time.Duration { return t.first }, func(e event) *float64 { return e.TTFT }},
	{"time per output token", timing.perToken, func(e event) *float64 { return e.TPOT }},
	{"duration", func(t timing) time.Duration { return t.end }, func(e event) *float64 { return &e.Duration }},
}

func millis(d time.Duration) float64 { return float64(d) / 1e6 }

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// TestClientClock: the official client streams 200 requests, alone, 4 and 16 at
// once, and reads its own clock. Printed is how far what the server exports of each
// request is from that; asserted is only what no slow machine can change: a client
// can't see a token before the server has it, and both count the same tokens.
//
// The engine computes on one core, so that on a machine of two the client is not
// kept from looking at its clock: a core that is taken is given up after some 3 ms.
func TestClientClock(t *testing.T) {
	target := startServer(t, "--max-batch", "16", "--threads", "1")
	client := openai.NewClient(option.WithBaseURL("http://"+target+"/v1/"), option.WithAPIKey("none"), option.WithMaxRetries(0))
	var all []timing
	for _, wide := range []int{1, 4, 16} {
		all = append(all, streamMany(t, &client, wide, map[int]int{1: 40, 4: 80, 16: 80}[wide])...)
	}
	if t.Failed() {
		return
	}
	known := byRequest(t, events(t, target))
	prompt, tokens := 0, 0
	for _, c := range all {
		e, ok := known[c.id]
		if !ok || e.TTFT == nil || e.TPOT == nil || e.Input == nil || e.Output == nil || e.Cached == nil {
			t.Fatalf("%s: its event is %+v", c.id, e)
		}
		if *e.Input != c.prompt || *e.Output != c.tokens || *e.Cached != c.cached || !slices.Equal(e.FinishReasons, []string{c.finish}) {
			t.Errorf("%s: the client read %+v, the event says %d in, %d out, %d cached, %v", c.id, c, *e.Input, *e.Output, *e.Cached, e.FinishReasons)
		}
		if *e.TTFT > millis(c.first) || e.Duration > millis(c.end) || *e.TTFT > e.Duration || *e.TTFT <= 0 {
			t.Errorf("%s: the event has %v ms to the first token and %v in all; the client saw %v and %v", c.id, *e.TTFT, e.Duration, c.first, c.end)
		}
		prompt, tokens = prompt+c.prompt, tokens+c.tokens
	}
	page := scrape(t, target)
	for name, want := range map[string]int{
		"paddock_prompt_tokens_total": prompt, "paddock_generation_tokens_total": tokens, "paddock_request_success_total": len(all),
		"gen_ai_server_time_to_first_token_seconds_count": len(all), "gen_ai_server_time_per_output_token_seconds_count": len(all),
		"gen_ai_server_request_duration_seconds_count": len(all), "paddock_request_generation_tokens_sum": tokens, "paddock_request_prompt_tokens_sum": prompt,
	} {
		if page.sum(name) != float64(want) {
			t.Errorf("%s is %v, the clients count %d", name, page.sum(name), want)
		}
	}
	report(t, all, known)
}

// streamMany sends n requests, wide at a time.
func streamMany(t *testing.T, client *openai.Client, wide, n int) []timing {
	t.Helper()
	var mu sync.Mutex
	var all []timing
	var wg sync.WaitGroup
	next := make(chan int)
	for range wide {
		wg.Go(func() {
			for i := range next {
				p := chat(fmt.Sprintf("%s (%d of %d)", strings.Repeat("Tell me more. ", i%5*8), i, wide))
				p.MaxTokens = openai.Int(int64(24 + i%4*24))
				c, err := stream(t.Context(), client, fmt.Sprintf("clock-%d-%d", wide, i), p)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				all = append(all, c)
				mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return all
}

// report prints how far the two clocks are from each other.
func report(t *testing.T, all []timing, known map[string]event) {
	t.Helper()
	for _, m := range measures {
		for _, wide := range []int{1, 4, 16, 0} {
			var off, relative, values []float64
			within := 0
			for _, c := range all {
				if wide != 0 && !strings.HasPrefix(c.id, fmt.Sprintf("clock-%d-", wide)) {
					continue
				}
				mine, theirs := millis(m.client(c)), *m.server(known[c.id])
				d := math.Abs(mine - theirs)
				values, off, relative = append(values, mine), append(off, d), append(relative, 100*d/mine)
				if d <= max(2, 0.02*mine) {
					within++
				}
			}
			who := fmt.Sprintf("%2d at once", wide)
			if wide == 0 {
				who = "all       "
			}
			t.Logf("%-21s %s: %3d requests, median %8.3f ms; off by a median of %.3f ms, %.2f %%; %d within the larger of 2 ms and 2 %%",
				m.name, who, len(off), median(values), median(off), median(relative), within)
		}
	}
}

// TestFirstContentOfALongPrompt: the time to the first token of a prompt of more
// than a thousand tokens ends with its first content, and not with the chunk that
// announces a role, which the client has at once.
func TestFirstContentOfALongPrompt(t *testing.T) {
	g := newGate(t)
	r := newRig(t, paddock.Options{Devices: []paddock.Device{g}}, paddock.HandlerOptions{}, metrics.RecorderOptions{})
	p := chat(strings.Repeat("one two three four five ", 260))
	p.MaxTokens = openai.Int(4)
	p.StreamOptions.IncludeUsage = openai.Bool(true)

	before := r.rec.Now()
	s := r.client.Chat.Completions.NewStreaming(t.Context(), p, option.WithHeader("X-Request-Id", "long"), option.WithJSONSet("ignore_eos", true))
	if !s.Next() || len(s.Current().Choices) != 1 || s.Current().Choices[0].Delta.Role != "assistant" || s.Current().Choices[0].Delta.Content != "" {
		t.Fatalf("the first chunk is %s, %v", s.Current().RawJSON(), s.Err())
	}
	role := r.rec.Now()
	// The prompt isn't computed before the gate opens, and it opens after longer than
	// the role chunk took: what was measured to that chunk can't be so long.
	for r.rec.Now()-role <= role-before {
		time.Sleep(time.Millisecond)
	}
	opened := r.rec.Now()
	close(g.open)
	content, tokens := time.Duration(0), 0
	for s.Next() {
		if c := s.Current(); len(c.Choices) == 1 && c.Choices[0].Delta.Content != "" && content == 0 {
			content = r.rec.Now()
		} else if c.JSON.Usage.Valid() {
			tokens = int(c.Usage.PromptTokens)
		}
	}
	if s.Err() != nil || content == 0 || tokens < 1000 {
		t.Fatalf("content after %v, %d tokens of prompt, %v", content, tokens, s.Err())
	}
	e := byRequest(t, events(t, r.target))["long"]
	if e.TTFT == nil {
		t.Fatalf("the event is %+v", e)
	}
	if ttft := *e.TTFT; ttft < millis(opened-role) || ttft > millis(content-before) {
		t.Errorf("%v ms to the first token; the role came after %v ms, the gate opened after %v and content came after %v",
			ttft, millis(role-before), millis(opened-before), millis(content-before))
	}
	if sum := scrape(t, r.target).sum("gen_ai_server_time_to_first_token_seconds_sum"); math.Abs(sum-*e.TTFT/1000) > nanosecond {
		t.Errorf("the histogram has %v s, the event %v ms", sum, *e.TTFT)
	}
}
