package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// tool finds a program of Debian's package prometheus. Where it is missing the test
// is skipped and says so; in CI, which installs it, that is a failure.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is not on PATH; CI installs Debian's package prometheus: %v", name, err)
	default:
		t.Skipf("%s is not on PATH (Debian's package prometheus has it): skipped", name)
	}
	return ""
}

// startProcess runs a program until the test ends, its output in the test's log if
// the test fails.
func startProcess(t *testing.T, ctx context.Context, c *exec.Cmd) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt) // it may have ended
		ended := make(chan struct{})
		go func() { _ = c.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			_ = c.Process.Kill()
			<-ended
		}
	})
}

// startServer builds examples/server, starts it and returns its address.
func startServer(t *testing.T, ctx context.Context) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "server")
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, "./examples/server")
	build.Dir = filepath.Join("..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := exec.CommandContext(ctx, bin, "--addr", "127.0.0.1:0", "--served-model-name", "demo", "--log-level", "warn", "--max-batch", "16")
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startProcess(t, ctx, server)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), " on http://"); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return at
		}
	}
	t.Fatalf("the server printed no address: %v", lines.Err())
	return ""
}

// prometheus is a running Prometheus server.
type prometheus struct{ url string }

// scrapeInterval is short, so that the counts between the last scrape and the end
// of a window are few.
const scrapeInterval = 500 * time.Millisecond

func startPrometheus(t *testing.T, ctx context.Context, bin, target string) *prometheus {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global:\n  scrape_interval: %v\n  scrape_timeout: %v\nscrape_configs:\n- job_name: paddock\n  static_configs:\n  - targets: ['%s']\n",
		scrapeInterval, scrapeInterval, target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	c := exec.CommandContext(ctx, bin, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--log.level=warn")
	c.Stderr = os.Stderr
	startProcess(t, ctx, c)
	p := &prometheus{"http://" + addr}
	p.waitFor(t, ctx, `up{job="paddock"} == 1`)
	return p
}

// value is the answer to a query with one result; ok tells whether there was one.
func (p *prometheus) value(ctx context.Context, query string) (v float64, ok bool, err error) {
	r, err := http.NewRequestWithContext(ctx, "GET", p.url+"/api/v1/query?query="+url.QueryEscape(query), nil)
	if err != nil {
		return 0, false, err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, false, err
	}
	defer res.Body.Close()
	var reply struct {
		Status, Error string
		Data          struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&reply); err != nil {
		return 0, false, err
	}
	if reply.Status != "success" || len(reply.Data.Result) > 1 {
		return 0, false, fmt.Errorf("%s: %s, %d results: %s", query, reply.Status, len(reply.Data.Result), reply.Error)
	}
	if len(reply.Data.Result) == 0 {
		return 0, false, nil
	}
	v, err = strconv.ParseFloat(fmt.Sprint(reply.Data.Result[0].Value[1]), 64)
	return v, true, err
}

// must is value where there has to be one.
func (p *prometheus) must(t *testing.T, ctx context.Context, query string) float64 {
	t.Helper()
	v, ok, err := p.value(ctx, query)
	if err != nil || !ok {
		t.Fatalf("%s: no value: %v", query, err)
	}
	t.Logf("%s = %v", query, v)
	return v
}

// waitFor asks until a query has a result; the server may not be up at first.
func (p *prometheus) waitFor(t *testing.T, ctx context.Context, query string) {
	t.Helper()
	for {
		_, ok, err := p.value(ctx, query)
		if err == nil && ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not come: %v", query, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

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
	bin, promtool := tool(t, "prometheus"), tool(t, "promtool")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	target := startServer(t, ctx)
	p := startPrometheus(t, ctx, bin, target)
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
	checkPage(t, ctx, promtool, "http://"+target+"/metrics")
}

// checkPage holds a page to promtool: no error, and no advice either.
func checkPage(t *testing.T, ctx context.Context, promtool, url string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	c := exec.CommandContext(ctx, promtool, "check", "metrics")
	c.Stdin = res.Body
	if out, err := c.CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}
