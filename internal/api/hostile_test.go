package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/metrics"
)

// Every text that a request can bring is planted with a word of its own, all of
// which begin with planted.
const planted = "MARK"

// Those that no event may tell either: prompts and all that belongs to them, keys,
// and what is no id.
var secret = []string{"PROMPT", "SYSTEM", "STOP", "TOOL", "KEY", "MODEL", "PATH", "METHOD", "ORIGIN", "AGENT", "TRACE", "COOKIE", "FIELD", "QUERY"}

// mark is a planted word with something of its own behind it.
func mark(rng *rand.Rand, what string) string {
	return fmt.Sprintf("%s%s%x", planted, what, rng.Uint64())
}

// hostile makes request after request, none of which a server should see.
type hostile struct {
	rng    *rand.Rand
	answer int32 // the token that all answers consist of
}

// pick is one of several texts.
func (h *hostile) pick(of ...string) string { return of[h.rng.IntN(len(of))] }

// text is a marked word in a form that breaks what quotes badly.
func (h *hostile) text(what string) string {
	m := mark(h.rng, what)
	return h.pick(m, m, m+`"} 1`, m+"\n# HELP x", m+`\`, `{`+m+`="`, m+"\xff\xfe", strings.Repeat(m, 30), m+"\u2028é", m+`",le="+Inf`)
}

func (h *hostile) body(chat bool) string {
	model := h.pick("demo", "demo", "demo", h.text("MODEL"))
	fields := map[string]any{
		"model": model, "max_tokens": 1 + h.rng.IntN(6), "user": h.text("USER"), "logit_bias": map[string]int{fmt.Sprint(h.answer): 100},
	}
	messages := []map[string]string{{"role": "system", "content": h.text("SYSTEM")}, {"role": "user", "content": h.text("PROMPT")}}
	if chat != (h.rng.IntN(10) == 0) {
		fields["messages"] = messages
	} else {
		fields["prompt"] = h.text("PROMPT")
	}
	switch h.rng.IntN(15) {
	case 0:
		fields[h.text("FIELD")] = 1
	case 1:
		fields["stop"] = h.text("STOP")
	case 2:
		fields["tools"] = []any{map[string]any{"type": "function", "function": map[string]any{"name": h.text("TOOL")}}}
	case 3:
		fields["max_tokens"] = -1
	case 4:
		fields["stream"] = true
	case 5:
		fields["n"] = 3
	case 6:
		fields["prompt"] = strings.Repeat(h.text("PROMPT"), 500)
	}
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	if h.rng.IntN(20) == 0 {
		b = b[:h.rng.IntN(len(b))]
	}
	return string(b)
}

// request is made by hand: net/http would refuse to make many of them.
func (h *hostile) request(ctx context.Context) *http.Request {
	path := h.pick("/v1/chat/completions", "/v1/completions", "/v1/chat/completions", "/v1/completions",
		"/v1/models/"+h.text("PATH"), "/"+h.text("PATH"), "/v1/"+h.text("PATH"), "/v1/models", "/metrics/"+h.text("PATH"), "/api/"+h.text("PATH"), "/healthz")
	method := h.pick("POST", "POST", "POST", "POST", "POST", "POST", "POST", "POST", "GET", "PUT", "post", h.text("METHOD"))
	header := http.Header{
		"Authorization":    {"Bearer " + h.text("KEY")},
		"X-Paddock-Origin": {h.pick("live", "batch", "studio", "STUDIO ", h.text("ORIGIN"))},
		"X-Session-Id":     {h.text("SESSION")},
		"X-Request-Id":     {h.text("REQUEST")},
		"X-Tenant":         {h.text("TENANT")},
		"User-Agent":       {h.text("AGENT")},
		"Cookie":           {h.text("COOKIE")},
		"Traceparent": {h.pick(h.text("TRACE"), "00-"+h.text("TRACE")+"-0123456789abcdef-01", fmt.Sprintf("00-%032x-%016x-01", h.rng.Uint64(), h.rng.Uint64()),
			"00-"+strings.Repeat("g", 32)+"-0123456789abcdef-01")},
		"Tracestate": {h.text("TRACE")},
	}
	if h.rng.IntN(8) == 0 {
		header.Set("X-Forwarded-For", "10.0.0.1") // from the network: the key is looked at
	}
	body := h.body(strings.Contains(path, "chat"))
	r := (&http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: h.text("QUERY")}, Header: header, Host: h.text("PATH"),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RemoteAddr: "127.0.0.1:9", ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body)), RequestURI: path}).WithContext(ctx)
	return r
}

// lockedBuffer takes logs from any goroutine.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestSeriesStayInTheirSet sends 10,000 requests in which every text is hostile to
// a server's whole tree of routes. All series afterwards are in the set that was
// made up before the first of them, and no page, event, rollup, statistic or log
// line holds what it must not.
func TestSeriesStayInTheirSet(t *testing.T) {
	requests, goroutines := 10_000, 4
	if testing.Short() {
		requests = 1000
	}
	var logs lockedBuffer
	log := slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	rec := metrics.NewRecorder(metrics.RecorderOptions{NativeHistograms: true, Logger: log, LogInterval: 100 * time.Millisecond,
		StatLoggers: []metrics.StatLogger{metrics.LogStats(log)}})
	shown := metrics.HandlerOptions{Recorder: rec, VLLM: true, Auth: metrics.AuthOff}
	e := open(t, engine.Options{Metrics: rec, Logger: log, MaxContext: 512, KVPages: 100})
	tree, handlers := serverTree(e, shown)
	forced, err := e.Tokenize("Z", false) // what every answer consists of
	if err != nil || len(forced) != 1 {
		t.Fatalf("Z is the tokens %v, %v", forced, err)
	}

	probe := metrics.NewRecorder(metrics.RecorderOptions{})
	do(metrics.InstrumentHTTP(probe, http.NotFoundHandler()), "GET", "/probe", "")
	set := enumerate(t, e.Name(), handlers, pageOf(t, shown, ""), pageOf(t, metrics.HandlerOptions{Recorder: probe}, ""))

	var wg sync.WaitGroup
	for g := range goroutines {
		h := &hostile{rng: rand.New(rand.NewPCG(uint64(g), 7)), answer: forced[0]}
		wg.Go(func() {
			for range requests / goroutines {
				ctx, cancel := context.WithCancel(t.Context())
				if h.rng.IntN(20) == 0 {
					cancel() // gone before it began
				}
				tree.ServeHTTP(httptest.NewRecorder(), h.request(ctx))
				cancel()
			}
		})
	}
	wg.Wait()
	settle(t, e)

	classic := pageOf(t, shown, "")
	series := seriesOf(classic)
	for _, s := range series {
		if !set[s] {
			t.Errorf("the page has %s, which is not in the set", s)
		}
	}
	t.Logf("the set has %d series; after %d requests the page has %d of them", len(set), requests, len(series))
	samples := page(t, rec)
	if n := sum(samples, "http_requests_total"); n < float64(requests)*0.8 || len(series) < 500 {
		t.Errorf("%v requests were observed, %d series", n, len(series))
	}
	if n := sum(samples, "paddock_request_success_total"); n < float64(requests)/20 {
		t.Errorf("only %v requests were answered", n)
	}
	if rec.Faults() != 0 {
		t.Errorf("%d faults", rec.Faults())
	}

	const output = "ZZZ"
	for name, text := range map[string]string{
		"classic":     classic,
		"OpenMetrics": pageOf(t, shown, "application/openmetrics-text; version=1.0.0"),
		"protobuf":    pageOf(t, shown, "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"),
		"stats":       getJSON(t, tree, "/api/stats"),
		"rollups":     getJSON(t, tree, "/api/rollups"),
		"log":         logs.String(),
	} {
		if len(text) < 200 {
			t.Errorf("%s has %d bytes", name, len(text))
		}
		holdsNot(t, name, text, planted, output)
	}
	events := allEvents(t, tree)
	for _, s := range secret {
		holdsNot(t, "events", events, planted+s)
	}
	holdsNot(t, "events", events, output)
	for _, id := range []string{"USER", "SESSION", "TENANT", "REQUEST"} { // else the test looks at the wrong thing
		if !strings.Contains(events, planted+id) {
			t.Errorf("no event has a %s", id)
		}
	}
}

// serverTree is what a server mounts, observed at its edge, and the patterns of all
// its routes.
func serverTree(e *engine.Engine, shown metrics.HandlerOptions) (http.Handler, []string) {
	api := New(e, Options{Key: "sesame", Tenant: func(r *http.Request) string { return r.Header.Get("X-Tenant") }})
	mux := http.NewServeMux()
	patterns := []string{"/", "/metrics", "/metrics/{$}", "/v1/metrics", "/api/"}
	mux.Handle("/", api)
	for _, path := range patterns[1:4] {
		mux.Handle(path, metrics.HandlerFor(shown))
	}
	mux.Handle("/api/", metrics.APIHandler(shown))
	for path := range api.(*handler).routes {
		patterns = append(patterns, path)
	}
	return metrics.InstrumentHTTP(shown.Recorder, mux), append(patterns, "/v1/models/{model}")
}

// allEvents reads every event that there is, as JSON.
func allEvents(t *testing.T, tree http.Handler) string {
	t.Helper()
	var all strings.Builder
	for query := "?max=2048"; ; {
		text := getJSON(t, tree, "/api/events"+query)
		p := parsed[metrics.EventPage](t, text)
		if len(p.Events) == 0 {
			return all.String()
		}
		all.WriteString(text)
		query = fmt.Sprintf("?max=2048&since=%d", p.Next)
	}
}

// getJSON gets a path as this machine does.
func getJSON(t *testing.T, tree http.Handler, path string) string {
	t.Helper()
	w := do(local(tree), "GET", path, "")
	if w.Code != 200 {
		t.Fatalf("%s answers %d: %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

func holdsNot(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if at := strings.Index(text, word); at >= 0 {
			t.Errorf("%s holds %q: …%q…", what, word, text[max(0, at-100):min(len(text), at+60)])
		}
	}
}
