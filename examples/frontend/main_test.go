package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/metrics"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) *frontend {
	t.Helper()
	f, err := newFrontend(metrics.NewRecorder(metrics.RecorderOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.eng.Close() })
	return f
}

func (f *frontend) ask(tier, question string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	f.mux().ServeHTTP(w, httptest.NewRequest("POST", "/say?tier="+tier, strings.NewReader(question)))
	return w
}

func TestSay(t *testing.T) {
	f := start(t)
	const question = "What does paddock_kv_pages_used count?"
	want, err := f.eng.Complete(context.Background(), paddock.Request{Messages: []paddock.Message{{Role: "user", Content: question}}, MaxTokens: 128})
	if err != nil {
		t.Fatal(err)
	}
	for tier := range tiers {
		if w := f.ask(tier, question); w.Code != 200 || w.Body.String() != want.Text+"\n" {
			t.Errorf("%s: status %d, %q, want %q", tier, w.Code, w.Body, want.Text)
		}
	}
	if w := f.ask("silver", question); w.Code != 400 {
		t.Errorf("an unknown tier: %d", w.Code)
	}
	if w := f.ask("gold", strings.Repeat("x", 4097)); w.Code != 413 {
		t.Errorf("a long question: %d", w.Code)
	}
	w := httptest.NewRecorder()
	f.mux().ServeHTTP(w, httptest.NewRequest("GET", "/load", nil))
	if want := "running 0\nwaiting 0\npages used 0 of 1024\n"; w.Body.String() != want {
		t.Errorf("%q, want %q", w.Body, want)
	}
	w = httptest.NewRecorder()
	scrape := httptest.NewRequest("GET", "/metrics", nil)
	scrape.RemoteAddr = "127.0.0.1:7" // the page is this machine's
	f.mux().ServeHTTP(w, scrape)
	if line := `paddock_request_success_total{gen_ai_operation_name="chat",`; !strings.Contains(w.Body.String(), line) {
		t.Errorf("the page has no %s", line)
	}
}

// TestTiers fills the batch and the queue with free callers: the next one is turned
// away, and a gold one who finds room in the queue overtakes those who wait.
func TestTiers(t *testing.T) {
	f := start(t)
	var held []*paddock.Stream
	var readers sync.WaitGroup
	fill := func() {
		for i := 0; ; i++ {
			s, err := f.eng.Submit(context.Background(), paddock.Request{Prompt: fmt.Sprint("free ", i), IgnoreEOS: true, MaxTokens: 1800, Tenant: "free"})
			if full := (*paddock.QueueFullError)(nil); errors.As(err, &full) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, s)
			readers.Go(func() {
				for range s.All() {
				}
			})
		}
	}
	fill()
	w := f.ask("gold", "hello")
	for ; w.Code == 200; w = f.ask("gold", "hello") { // a place came free in between
		fill()
	}
	if after, _ := strconv.Atoi(w.Header().Get("Retry-After")); w.Code != 429 || after < 1 {
		t.Errorf("status %d, Retry-After %q: %s", w.Code, w.Header().Get("Retry-After"), w.Body)
	}
	for _, s := range held[len(held)-2:] { // two who wait give up
		s.Close()
	}
	before := f.eng.Stats().Admitted
	free, gold := make(chan struct{}), make(chan struct{})
	go func() { defer close(free); f.ask("free", "hello") }()
	go func() {
		defer close(gold)
		if w := f.ask("gold", "hello"); w.Code != 200 {
			t.Errorf("gold: status %d: %s", w.Code, w.Body)
		}
	}()
	for f.eng.Stats().Admitted < before+2 {
		time.Sleep(time.Millisecond)
	}
	held[0].Close() // one place in the batch, and many who want it
	select {
	case <-gold:
	case <-free:
		t.Error("free came before gold")
	}
	for _, s := range held {
		s.Close()
	}
	<-free
	<-gold
	readers.Wait()
}

// counts reads the samples of the page whose lines begin so.
func (f *frontend) counts(t *testing.T, prefixes ...string) (sum float64) {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
	r.RemoteAddr = "127.0.0.1:7"
	f.mux().ServeHTTP(w, r)
	for line := range strings.Lines(w.Body.String()) {
		for _, p := range prefixes {
			if strings.HasPrefix(line, p) {
				at := strings.LastIndexByte(line, ' ')
				n, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
				if err != nil {
					t.Fatal(err)
				}
				sum += n
			}
		}
	}
	return sum
}

// TestSayIsObserved: what happens on a route of one's own is in the metrics, also
// what never reached the engine, and by the time the last byte was read.
func TestSayIsObserved(t *testing.T) {
	f := start(t)
	server := httptest.NewServer(f.mux())
	defer func() { http.DefaultClient.CloseIdleConnections(); server.Close() }()
	failed := func(class, reason string) string {
		return `paddock_request_failure_total{gen_ai_operation_name="chat",gen_ai_provider_name="paddock",gen_ai_request_model="demo",origin="live",class="` +
			class + `",reason="` + reason + `"}`
	}
	for i := range 3 {
		res, err := http.Post(server.URL+"/say?tier=gold", "text/plain", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			t.Fatalf("%q, %v", text, err)
		}
		res.Body.Close()
		if n := f.counts(t, `paddock_request_success_total{gen_ai_operation_name="chat"`); n != float64(i+1) {
			t.Fatalf("%v successes after answer %d", n, i+1)
		}
	}
	for _, c := range []struct {
		method, query, body string
		status              int
		reason              string
	}{
		{"GET", "?tier=gold", "", 405, "method_not_allowed"},
		{"POST", "?tier=silver", "x", 400, "invalid_request"},
		{"POST", "?tier=gold", strings.Repeat("x", 4097), 413, "too_large"},
	} {
		w := httptest.NewRecorder()
		f.mux().ServeHTTP(w, httptest.NewRequest(c.method, "/say"+c.query, strings.NewReader(c.body)))
		if n := f.counts(t, failed("4xx", c.reason)); w.Code != c.status || n != 1 {
			t.Errorf("%s /say%s: status %d, %v failures %s", c.method, c.query, w.Code, n, c.reason)
		}
	}

	// One who hangs up has got some tokens, and they stay counted.
	ctx, hangUp := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/say?tier=free", strings.NewReader("What is a KV page?"))
	if err != nil {
		t.Fatal(err)
	}
	generated := func() float64 {
		s := f.eng.Stats()
		return float64(s.Generated.Sum())
	}
	before := generated()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	hangUp()
	res.Body.Close()
	for limit := time.Now().Add(time.Minute); f.counts(t, `http_requests_total{handler="/say"`) != 7; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) { // a request is counted there once its handler has returned
			t.Fatalf("%v requests of the route, want 7", f.counts(t, `http_requests_total{handler="/say"`))
		}
	}
	if n := f.counts(t, "paddock_num_requests_in_flight "); n != 0 {
		t.Errorf("%v in flight", n)
	}
	gone, done := f.counts(t, failed("disconnect", "disconnect")), f.counts(t, `paddock_request_success_total{gen_ai_operation_name="chat"`)
	if gone+done != 4 { // it may have had all of its answer already
		t.Errorf("%v disconnects and %v successes, want 4 together", gone, done)
	}
	if n := f.counts(t, `paddock_generation_tokens_total{`); n <= before || n != generated() {
		t.Errorf("%v tokens on the page, %v before, %v in the engine", n, before, generated())
	}
}
