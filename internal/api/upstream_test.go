package api

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/metrics"
)

// The tests named TestUpstream… hold paddock against the faults of the product
// whose metrics contract it took over; metrics/FAULTS.md lists them.

// post sends a request over the network and gives its reply, body unread.
func post(t testing.TB, ctx context.Context, url, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// waitUntil scrapes until a sum of samples is there.
func waitUntil(t *testing.T, e *engine.Engine, want float64, name string, labels ...string) []series {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		if p := page(t, e.Metrics()); sum(p, name, labels...) == want {
			return p
		}
	}
	t.Fatalf("%s %v did not become %v", name, labels, want)
	return nil
}

// The chunk that announces the assistant's role is no token: while a long prompt
// is computed the time to its first token runs on.
func TestUpstreamTTFT_RoleChunkIsNoToken(t *testing.T) {
	e, g := openGated(t, engine.Options{})
	api, records := New(e, Options{}), make(chan *metrics.Record, 1)
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // an edge that keeps the record
		rec := e.Metrics().NewRecord(r)
		api.ServeHTTP(w, r.WithContext(metrics.NewContext(r.Context(), rec)))
		records <- rec
	}))
	res := post(t, t.Context(), url+"/v1/chat/completions", chatBody(strings.Repeat("a long question ", 40), `"stream":true`, `"max_tokens":3`))
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() || !strings.Contains(lines.Text(), `"role":"assistant"`) {
		t.Fatalf("the stream begins with %q", lines.Text())
	}
	role := e.Metrics().Now() // the client has the role chunk, and no step has run
	g.pass(1000)
	for lines.Scan() {
	}
	rec := <-records
	if rec.First < role || rec.Choices[0].First != rec.First {
		t.Errorf("the first token is stamped %v, the role chunk was read by %v", rec.First, role)
	}
	samples, want := page(t, e.Metrics()), (rec.First - rec.Arrival).Seconds()
	if n := sum(samples, "gen_ai_server_time_to_first_token_seconds_count"); n != 1 {
		t.Errorf("%v first tokens, want 1", n)
	}
	if got := sum(samples, "gen_ai_server_time_to_first_token_seconds_sum"); got < want-1e-9 || got > want+1e-9 {
		t.Errorf("time to first token %v s on the page, %v s in the record", got, want)
	}
}

// A failure of the engine after the reply has begun is a failure, whatever status
// was sent.
func TestUpstreamMidStream_FailureIsFailure(t *testing.T) {
	e, g := openGated(t, engine.Options{})
	res := post(t, t.Context(), listen(t, New(e, Options{}))+"/v1/completions", promptBody("once upon a time", `"stream":true`, `"max_tokens":50`, `"ignore_eos":true`))
	if res.StatusCode != 200 {
		t.Fatalf("status %d", res.StatusCode)
	}
	lines := bufio.NewScanner(res.Body)
	g.pass(4)
	waitUntil(t, e, 4, "paddock_generation_tokens_total")
	g.broken.Store(true)
	g.pass(1)
	for lines.Scan() {
	}
	samples := waitUntil(t, e, 0, "paddock_num_requests_in_flight")
	for name, want := range map[[3]string]float64{
		{"paddock_request_failure_total", "reason", "engine_error"}:                 1,
		{"paddock_request_failure_total", "class", "5xx"}:                           1,
		{"paddock_request_success_total"}:                                           0,
		{"gen_ai_server_request_duration_seconds_count"}:                            1,
		{"gen_ai_server_request_duration_seconds_count", "error_type", "500"}:       1,
		{"gen_ai_server_time_to_first_token_seconds_count"}:                         0,
		{"paddock_requests_finished_total", "reason", "error"}:                      1,
		{"paddock_generation_tokens_total", "gen_ai_operation_name", "chat"}:        0,
		{"paddock_generation_tokens_total", "gen_ai_provider_name", "paddock"}:      4,
		{"paddock_request_generation_tokens_sum", "gen_ai_request_model", e.Name()}: 4,
	} {
		labels := name[1:]
		if labels[0] == "" {
			labels = nil
		}
		if got := sum(samples, name[0], labels...); got != want {
			t.Errorf("%v is %v, want %v", name, got, want)
		}
	}
}

// A client that waits for a whole reply and hangs up before there is one is a
// disconnect, with the tokens that were made.
func TestUpstreamAbandoned_HangUpWithoutStream(t *testing.T) {
	e, g := openGated(t, engine.Options{})
	url := listen(t, New(e, Options{}))
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/completions", strings.NewReader(promptBody("once upon a time", `"max_tokens":50`, `"ignore_eos":true`)))
		if err != nil {
			t.Error(err)
			return
		}
		if res, err := http.DefaultClient.Do(r); err == nil {
			res.Body.Close()
			t.Error("there was a reply")
		}
	}()
	g.pass(3)
	waitUntil(t, e, 3, "paddock_generation_tokens_total")
	hangUp()
	<-done
	time.Sleep(time.Millisecond)
	g.pass(1000)
	samples := waitUntil(t, e, 1, "paddock_request_failure_total", "reason", "disconnect", "class", "disconnect")
	made := sum(samples, "paddock_generation_tokens_total")
	if got := sum(samples, "paddock_request_generation_tokens_sum"); got != made || made < 3 {
		t.Errorf("%v tokens in the sizes, %v in the counter; want at least 3, alike", got, made)
	}
	if n := sum(samples, "gen_ai_server_request_duration_seconds_count", "error_type", "disconnect"); n != 1 {
		t.Errorf("%v durations, want 1", n)
	}
	if n := sum(samples, "paddock_num_requests_in_flight"); n != 0 {
		t.Errorf("%v requests in flight", n)
	}
}

// Every route that generates is observed; none is left out of the list. A path
// that isn't served has no request of its own to observe.
func TestUpstreamCompact_EveryInferenceRouteIsObserved(t *testing.T) {
	e := open(t, engine.Options{})
	api := New(e, Options{})
	routes, inference := api.(*handler).routes, 0
	for path, rt := range routes {
		before := page(t, e.Metrics())
		for _, method := range []string{"POST", "GET", "PUT"} {
			do(api, method, path, "{")
		}
		grown := sum(page(t, e.Metrics()), "gen_ai_server_request_duration_seconds_count") - sum(before, "gen_ai_server_request_duration_seconds_count")
		want := 0.0
		if strings.HasPrefix(path, "/v1/") && rt.methods[0] == "POST" { // whatever the table says of it
			want = 3
			inference++
		}
		if grown != want {
			t.Errorf("%s: %v of 3 requests were observed, want %v", path, grown, want)
		}
	}
	if inference < 2 {
		t.Errorf("%d inference routes", inference)
	}
	if w := do(api, "POST", "/v1/responses/compact", "{}"); w.Code != 404 {
		t.Errorf("/v1/responses/compact answers %d: it needs a route in the table, and to be observed", w.Code)
	}
}
