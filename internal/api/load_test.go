package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
	"go.uber.org/goleak"
)

// call is one client's request, as it goes over HTTP and as the engine has it.
type call struct {
	path, body string
	stream     bool
	hangUp     int // events after which the client hangs up; -1: it stays
	req        engine.Request
}

// topics are what clients of the load test ask about.
var topics = []string{
	"paddock_kv_pages_used", "paddock_generation_tokens", "gen_ai_server_time_to_first_token_seconds", "paddock_num_requests_running",
	"paddock_prompt_cached_tokens", "paddock_num_preemptions", "hello", "Count to nine.", "paddock_request_failure", "the prefix cache",
}

// calls makes n requests of mixed kinds and lengths: chat and completions, streamed
// and whole, greedy and drawn, one choice and three, short and long, with shared
// beginnings and without. A third of them hang up at a random moment.
func calls(n int, repetitive bool) []call {
	rng := rand.New(rand.NewPCG(7, 7))
	system := strings.Repeat("You answer questions about the metrics of a serving engine. ", 6)
	longest := 48
	if raceOn {
		longest = 16
	}
	var out []call
	for i := range n {
		c := call{hangUp: -1, stream: i%5 != 0}
		c.req.MaxTokens = 4 + rng.IntN(longest)
		if i%3 == 0 {
			c.stream, c.hangUp = true, rng.IntN(c.req.MaxTokens/2+1)
		}
		fields := fmt.Sprintf(`"max_tokens":%d,"stream":%v`, c.req.MaxTokens, c.stream)
		if c.stream {
			fields += `,"stream_options":{"include_usage":true}`
		}
		if i%4 == 1 {
			seed := int64(i)
			c.req.Temperature, c.req.Seed, c.req.TopP = 0.8, &seed, 0.9
			fields += fmt.Sprintf(`,"temperature":0.8,"seed":%d,"top_p":0.9`, seed)
		} else {
			fields += `,"temperature":0`
		}
		if i%8 == 2 {
			c.req.N = 3
			fields += `,"n":3`
		}
		topic := topics[rng.IntN(len(topics))]
		switch {
		case repetitive:
			c.req.Prompt = strings.Repeat("1, 2, 3, 4, 5, 6, 7. ", 2+rng.IntN(10))
			c.req.IgnoreEOS = true
			c.path, c.body = "/v1/completions", promptBody(c.req.Prompt, fields, `"ignore_eos":true`)
		case i%2 == 0:
			c.req.Prompt = strings.Repeat(topic+" counts tokens. ", 1+rng.IntN(12))
			c.req.IgnoreEOS = true
			c.path, c.body = "/v1/completions", promptBody(c.req.Prompt, fields, `"ignore_eos":true`)
		default:
			turns := []engine.Message{{Role: "system", Content: system[:rng.IntN(len(system))]}, {Role: "user", Content: "What does " + topic + " tell?"}}
			c.req.Messages = turns
			list, _ := json.Marshal([]map[string]string{{"role": "system", "content": turns[0].Content}, {"role": "user", "content": turns[1].Content}})
			c.path, c.body = "/v1/chat/completions", fmt.Sprintf(`{"model":"demo","messages":%s,%s}`, list, fields)
		}
		out = append(out, c)
	}
	return out
}

// said is what a client has of its answer.
type said struct {
	texts    []string
	finish   []string
	usage    *usage
	complete bool
}

// anyChoice reads choices of both routes, whole and streamed.
type anyChoice struct {
	Index   int
	Text    string
	Delta   struct{ Content string }
	Message struct{ Content string }
	Finish  *string `json:"finish_reason"`
}

func (s *said) take(data []byte) error {
	var c struct {
		Choices []anyChoice
		Usage   *usage
		Error   *json.RawMessage
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("%w in %s", err, data)
	}
	if c.Error != nil {
		return fmt.Errorf("an error: %s", *c.Error)
	}
	for _, ch := range c.Choices {
		s.texts[ch.Index] += ch.Text + ch.Delta.Content + ch.Message.Content
		if ch.Finish != nil {
			s.finish[ch.Index] += *ch.Finish
		}
	}
	if c.Usage != nil {
		s.usage = c.Usage
	}
	return nil
}

// run is the client.
func (c *call) run(client *http.Client, url string) (*said, error) {
	n := max(c.req.N, 1)
	s := &said{texts: make([]string, n), finish: make([]string, n)}
	ctx, hangUp := context.WithCancel(context.Background())
	defer hangUp()
	r, err := http.NewRequestWithContext(ctx, "POST", url+c.path, strings.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	if c.hangUp >= 0 {
		r.Header.Set(edgeHeader, "1")
	}
	res, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != 200 {
		text, _ := io.ReadAll(res.Body)
		return nil, fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	if !c.stream {
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		s.complete = true
		return s, s.take(text)
	}
	lines := bufio.NewScanner(res.Body)
	for events := 0; lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			s.complete = true
			break
		}
		if err := s.take([]byte(data)); err != nil {
			return s, err
		}
		if events++; events == c.hangUp {
			return s, nil
		}
	}
	return s, lines.Err()
}

// edgeHeader marks requests whose record the test keeps itself.
const edgeHeader = "X-Test-Edge"

// edge is a frontend around the API that keeps the records of some requests: how
// the test knows what the abandoned ones had cost when they ended.
type edge struct {
	next    http.Handler
	e       *engine.Engine
	mu      sync.Mutex
	records []*metrics.Record
}

func (g *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(edgeHeader) == "" {
		g.next.ServeHTTP(w, r)
		return
	}
	rec := &metrics.Record{Arrival: g.e.Metrics().Now(), Edge: true}
	g.e.Metrics().InFlight(1)
	g.next.ServeHTTP(w, r.WithContext(metrics.NewContext(r.Context(), rec)))
	g.e.MetricsModel().Finish(rec)
	g.mu.Lock()
	g.records = append(g.records, rec)
	g.mu.Unlock()
	g.e.Metrics().InFlight(-1) // the last word: none in flight means that all records are there
}

// smallBuffers makes the kernel keep little of what a client does not read.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(1 << 14)
	}
	return c, err
}

// neverRead sends a request and leaves its answer unread until stop is called.
func neverRead(t testing.TB, url, body string) (stop func()) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).SetReadBuffer(1 << 12); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "%s%s: 1\r\nContent-Length: %d\r\n\r\n%s", head, edgeHeader, len(body), body)
	return func() { c.Close() }
}

// answersAlone runs each request on an engine that serves nothing else.
func answersAlone(t *testing.T, list []call) []engine.Result {
	t.Helper()
	e := open(t, engine.Options{Limits: sched.Limits{NoPrefixCache: true}})
	defer e.Close()
	var out []engine.Result
	for _, c := range list {
		out = append(out, direct(t, e, c.req))
	}
	return out
}

// TestManyClients: clients at once, mixed lengths, a third of them hanging up at
// random moments, one that never reads. Everyone else gets the text that they get
// alone, a real batch forms, and at the end the books are even: nothing is held,
// nothing runs, and the counters say what the clients saw plus what was abandoned.
func TestManyClients(t *testing.T) {
	n := 64
	if raceOn {
		n = 16
	}
	mixed, repetitive := calls(n, false), calls(n, true)
	mixedAlone, repetitiveAlone := answersAlone(t, mixed), answersAlone(t, repetitive)
	for _, c := range []struct {
		name string
		o    engine.Options
		list []call
		want []engine.Result
	}{
		{"roomy", engine.Options{}, mixed, mixedAlone},
		{"few pages", engine.Options{KVPages: 56}, mixed, mixedAlone},
		{"speculating", engine.Options{Spec: engine.Spec{NGram: 8}}, repetitive, repetitiveAlone},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			load(t, c.o, c.list, c.want)
			goleak.VerifyNone(t, before)
		})
	}
}

func load(t *testing.T, o engine.Options, list []call, want []engine.Result) {
	o.StallTimeout = 3 * time.Second
	e := open(t, o)
	defer e.Close()
	edge := &edge{next: New(e, Options{WriteTimeout: 5 * time.Second}), e: e}
	server := httptest.NewUnstartedServer(edge)
	server.Listener = smallBuffers{server.Listener}
	server.Start()
	client := &http.Client{Transport: &http.Transport{}}

	// The unread stream is parked first, so that it holds pages while the others want them.
	stop := neverRead(t, server.URL, promptBody("never read", `"ignore_eos":true,"stream":true,"max_tokens":600`))
	waitFor(t, "the unread request", func() bool { return e.Stats().Admitted == 1 })

	start := stepsOf(t, e)
	watch, watched := make(chan struct{}), make(chan int)
	go func() { watched <- watchBooks(t, e, watch) }()
	var wg sync.WaitGroup
	got := make([]*said, len(list))
	for i := range list {
		wg.Go(func() {
			var err error
			if got[i], err = list[i].run(client, server.URL); err != nil {
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	close(watch)
	running, crowd := <-watched, stepsOf(t, e)
	waitFor(t, "the end of the unread request", func() bool {
		return sum(page(t, e.Metrics()), "paddock_num_requests_in_flight") == 0
	})
	stop()
	if t.Failed() {
		return
	}
	s := settle(t, e)

	complete, abandoned := audit{}, audit{}
	for i, g := range got {
		if !g.complete {
			continue // hung up; in the edge's records
		}
		for k, a := range want[i].Choices {
			if g.texts[k] != a.Text || g.finish[k] != a.Finish.String() {
				t.Errorf("client %d, choice %d: %q (%s), alone %q (%v)", i, k, g.texts[k], g.finish[k], a.Text, a.Finish)
			}
		}
		if g.usage == nil || g.usage.PromptTokens != want[i].Usage.PromptTokens || g.usage.CompletionTokens != want[i].Usage.GeneratedTokens {
			t.Errorf("client %d: usage %+v, alone %+v", i, g.usage, want[i].Usage)
			continue
		}
		if list[i].hangUp < 0 {
			complete.add(len(g.texts), g.usage.PromptTokens, g.usage.PromptDetails.CachedTokens, g.usage.CompletionTokens)
		}
	}
	for i, g := range got { // what a client had seen when it hung up is a beginning of what it gets alone
		for k, a := range want[i].Choices {
			if !strings.HasPrefix(a.Text, g.texts[k]) {
				t.Errorf("client %d, choice %d: %q is no beginning of %q", i, k, g.texts[k], a.Text)
			}
		}
	}
	failed, succeeded := 0, 0
	for _, rec := range edge.records {
		abandoned.add(len(rec.Choices), rec.PromptTokens, rec.CachedTokens, rec.GeneratedTokens)
		switch rec.Fail {
		case metrics.Disconnect:
			failed++
		case metrics.NoFail: // it was over before the client hung up
			succeeded++
		default:
			t.Errorf("an abandoned request failed as %v", rec.Fail)
		}
	}
	if failed < 4 { // how many are in time depends on the machine
		t.Errorf("only %d of %d requests were really abandoned", failed, len(list))
	}

	samples := page(t, e.Metrics())
	check := func(what string, got, want float64) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	total := complete
	total.add(abandoned.sequences, abandoned.prompt, abandoned.cached, abandoned.generated)
	check("prompt tokens", sum(samples, "paddock_prompt_tokens_total"), float64(total.prompt))
	check("cached tokens", sum(samples, "paddock_prompt_cached_tokens_total"), float64(total.cached))
	check("generated tokens", sum(samples, "paddock_generation_tokens_total"), float64(total.generated))
	check("admitted", sum(samples, "paddock_requests_admitted_total"), float64(total.sequences))
	check("finished", sum(samples, "paddock_requests_finished_total"), float64(total.sequences))
	check("successes", sum(samples, "paddock_request_success_total"), float64(len(list)+1-failed))
	check("failures", sum(samples, "paddock_request_failure_total"), float64(failed))
	check("hang-ups", sum(samples, "paddock_request_failure_total", "reason", "disconnect"), float64(failed))
	check("durations", sum(samples, "gen_ai_server_request_duration_seconds_count"), float64(len(list)+1))
	check("first tokens", sum(samples, "gen_ai_server_time_to_first_token_seconds_count"), float64(choicesOf(list, edge.records)))
	for _, name := range []string{"paddock_kv_pages_used", "paddock_num_requests_running", "paddock_num_requests_waiting", "paddock_kv_cache_usage_perc", "paddock_num_requests_in_flight"} {
		check(name, sum(samples, name), 0)
	}

	perStep := (crowd.tokens - start.tokens) / (crowd.steps - start.steps)
	t.Logf("%d running at most, %.1f tokens generated a step, %d preemptions, %d of %d prompt tokens cached, %d drafts accepted of %d, %d abandoned, %d hung up too late",
		running, perStep, s.Preemptions, total.cached, total.prompt, s.Spec.AcceptedTokens, s.Spec.DraftTokens, failed, succeeded)
	if !raceOn { // which makes the load too small for these
		if running <= 8 {
			t.Errorf("at most %d sequences ran at once", running)
		}
		if o.KVPages == 0 && perStep <= 4 {
			t.Errorf("%.2f tokens a step", perStep)
		}
		if o.KVPages > 0 && s.Preemptions == 0 {
			t.Error("no preemption happened")
		}
	}
	if o.Spec.NGram > 0 && s.Spec.AcceptedTokens == 0 {
		t.Error("no draft was accepted")
	}
	client.CloseIdleConnections()
	server.Close()
}

// work is how many steps were run and how many tokens generated so far.
type work struct{ steps, tokens float64 }

func stepsOf(t *testing.T, e *engine.Engine) work {
	samples := page(t, e.Metrics())
	return work{sum(samples, "paddock_iteration_tokens_count"), sum(samples, "paddock_generation_tokens_total")}
}

// audit counts what requests cost.
type audit struct{ sequences, prompt, cached, generated int }

func (a *audit) add(sequences, prompt, cached, generated int) {
	a.sequences += sequences
	a.prompt += prompt
	a.cached += cached
	a.generated += generated
}

// choicesOf counts the choices of all successful requests.
func choicesOf(list []call, kept []*metrics.Record) int {
	n := 0
	for _, c := range list {
		if c.hangUp < 0 {
			n += max(c.req.N, 1)
		}
	}
	for _, rec := range kept {
		if rec.Fail == metrics.NoFail {
			n += len(rec.Choices)
		}
	}
	return n
}

// watchBooks looks at the engine again and again until stop: its books are even
// and its counters go up only. It returns the most sequences that ran at once.
func watchBooks(t *testing.T, e *engine.Engine, stop chan struct{}) (running int) {
	before := e.Stats()
	for {
		s := e.Stats()
		if err := metrics.CheckBooks(&s); err != nil {
			t.Error(err)
		}
		if err := metrics.CheckForward(&before, &s); err != nil {
			t.Error(err)
		}
		before, running = s, max(running, s.Running)
		select {
		case <-stop:
			return running
		case <-time.After(time.Millisecond):
		}
	}
}

// TestSpeculationTakesFewerSteps: one repetitive request, alone, in fewer steps
// than it has tokens, and with the same text.
func TestSpeculationTakesFewerSteps(t *testing.T) {
	const tokens = 200
	r := engine.Request{Prompt: strings.Repeat("1, 2, 3, 4, 5, 6, 7. ", 6), MaxTokens: tokens, IgnoreEOS: true}
	want := direct(t, open(t, engine.Options{}), r)
	e := open(t, engine.Options{Spec: engine.Spec{NGram: 8}})
	if got := direct(t, e, r); got.Text != want.Text {
		t.Errorf("%q, without speculation %q", got.Text, want.Text)
	}
	s, w := e.Stats(), stepsOf(t, e)
	t.Logf("%v steps for %d tokens, %d drafts accepted", w.steps, tokens, s.Spec.AcceptedTokens)
	if w.steps >= tokens || s.Spec.AcceptedTokens == 0 || w.tokens != tokens {
		t.Errorf("%v tokens in %v steps, %d drafts accepted", w.tokens, w.steps, s.Spec.AcceptedTokens)
	}
}
