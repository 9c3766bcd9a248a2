package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/metrics"
)

// ended waits for a recorder's events from a number on, as many as wanted.
func ended(t testing.TB, rec *metrics.Recorder, since uint64, want int) []metrics.Event {
	t.Helper()
	var p metrics.EventPage
	for limit := time.Now().Add(time.Minute); len(p.Events) < want && time.Now().Before(limit); {
		var err error
		if p, err = rec.Events(context.Background(), since, 0, 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if len(p.Events) > 0 && len(p.Events) < want {
			time.Sleep(time.Millisecond)
		}
	}
	if len(p.Events) != want {
		t.Fatalf("%d events, want %d: %+v", len(p.Events), want, p.Events)
	}
	return p.Events
}

// TestRoutesAreNamed: what counts requests by their pattern gets the API's own,
// wherever it is mounted, and never a path that a client chose.
func TestRoutesAreNamed(t *testing.T) {
	e := open(t, engine.Options{})
	for _, mount := range []string{"/", "/v1/", ""} {
		h := New(e, Options{})
		if mount != "" {
			mux := http.NewServeMux()
			mux.Handle(mount, h)
			h = mux
		}
		edge := metrics.InstrumentHTTP(e.Metrics(), h)
		for _, c := range []struct{ method, path, body, want string }{
			{"POST", "/v1/completions", promptBody("a", `"max_tokens":1`), "/v1/completions"},
			{"POST", "/v1/chat/completions", "{", "/v1/chat/completions"},
			{"GET", "/v1/models", "", "/v1/models"},
			{"GET", "/v1/models/demo", "", "/v1/models/{model}"},
			{"GET", "/v1/models/secret/name", "", "/v1/models/{model}"},
			{"GET", "/v1/secret", "", "none"},
			{"POST", "/v1/models/", "", "none"},
		} {
			before := page(t, e.Metrics())
			do(edge, c.method, c.path, c.body)
			after := page(t, e.Metrics())
			for _, s := range after {
				grew := s.value - sum(before, s.name, "handler", s.labels["handler"], "method", s.labels["method"], "status", s.labels["status"])
				if s.name == "http_requests_total" && (grew == 1) != (s.labels["handler"] == c.want && grew != 0) {
					t.Errorf("mounted at %q: %s %s counts under %v", mount, c.method, c.path, s.labels)
				}
			}
			if n := sum(after, "http_requests_total", "handler", c.want) - sum(before, "http_requests_total", "handler", c.want); n != 1 {
				t.Errorf("mounted at %q: %s %s: %v requests under %s", mount, c.method, c.path, n, c.want)
			}
		}
	}
	settle(t, e)
}

// TestWhatEventsSay: a request's event has what its head and body say of it, with
// an edge around the API and without one.
func TestWhatEventsSay(t *testing.T) {
	e := open(t, engine.Options{})
	h := New(e, Options{Tenant: func(r *http.Request) string { return r.Header.Get("Team") }})
	edges := []http.Handler{h, metrics.InstrumentHTTP(e.Metrics(), h)}
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	head := []string{"Traceparent", "00-" + trace + "-" + span + "-01", "X-Session-Id", "session 1", "X-Request-Id", "id-1", "Team", "red", "X-Paddock-Origin", "batch"}
	for i, edge := range edges {
		since := uint64(5 * i)
		do(edge, "POST", "/v1/completions", promptBody("a", `"max_tokens":2,"stream":true,"user":"u-1"`), head...)
		do(edge, "POST", "/v1/chat/completions", chatBody("a", `"max_tokens":2,"user":"u-1","safety_identifier":"s-1"`))
		do(edge, "POST", "/v1/chat/completions", chatBody("a", `"user":"u-2","n":0`))
		do(edge, "PUT", "/v1/completions", "")
		do(edge, "POST", "/v1/completions", promptBody("a", `"max_tokens":2,"user":"`+strings.Repeat("u", 1000)+`"`))
		all := ended(t, e.Metrics(), since, 5)
		if v := all[0]; v.TraceID != trace || v.SpanID != span || v.SessionID != "session 1" || v.RequestID != "id-1" || v.Tenant != "red" ||
			v.Origin != "batch" || v.User != "u-1" || !v.Stream || v.Status != 200 || v.Endpoint != "/v1/completions" {
			t.Errorf("edge %d: %+v", i, v)
		}
		if v := all[1]; v.User != "s-1" || v.Stream || v.Status != 200 || v.Endpoint != "/v1/chat/completions" || !strings.HasPrefix(v.RequestID, "req-") || v.TraceID != "" || v.Origin != "live" {
			t.Errorf("edge %d: %+v", i, v)
		}
		if v := all[2]; v.User != "u-2" || v.Status != 400 || v.FailureReason != "invalid_request" {
			t.Errorf("edge %d: %+v", i, v)
		}
		if v := all[3]; v.Status != 405 || v.Operation != "text_completion" {
			t.Errorf("edge %d: %+v", i, v)
		}
		if v := all[4]; v.User != "" || len(v.TooLong) != 1 || v.TooLong[0] != "user" {
			t.Errorf("edge %d: %+v", i, v)
		}
	}
	settle(t, e)
}

// TestHangUpsKeepTheirTokens: who hangs up in the middle of an answer, streamed or
// not, has had tokens made. They stay in the counters, the event says as many, and
// the failure is a disconnect.
func TestHangUpsKeepTheirTokens(t *testing.T) {
	for _, instrumented := range []bool{false, true} {
		for _, fields := range []string{endless, `"ignore_eos":true,"max_tokens":1500`} {
			t.Run(fmt.Sprintf("instrumented=%v/%.9q", instrumented, fields[len(fields)-9:]), func(t *testing.T) {
				e := open(t, engine.Options{})
				h := New(e, Options{})
				if instrumented {
					h = metrics.InstrumentHTTP(e.Metrics(), h)
				}
				url := listen(t, h)
				ctx, hangUp := context.WithCancel(context.Background())
				defer hangUp()
				done := make(chan struct{})
				go func() {
					defer close(done)
					r, _ := http.NewRequestWithContext(ctx, "POST", url+"/v1/completions", strings.NewReader(promptBody("one two three", fields)))
					if res, err := http.DefaultClient.Do(r); err == nil {
						io.Copy(io.Discard, res.Body)
						res.Body.Close()
					}
				}()
				waitFor(t, "some tokens", func() bool { s := e.Stats(); return s.Generated.Sum() >= 5 })
				hangUp()
				<-done
				v := ended(t, e.Metrics(), 0, 1)[0]
				s := settle(t, e)
				samples := page(t, e.Metrics())
				tokens, prompt := sum(samples, "paddock_generation_tokens_total"), sum(samples, "paddock_prompt_tokens_total")
				if tokens < 5 || tokens != float64(s.Generated.Sum()) || v.OutputTokens == nil || tokens != float64(*v.OutputTokens) {
					t.Errorf("%v tokens on the page, %d in the engine, event %+v", tokens, s.Generated.Sum(), v)
				}
				if prompt == 0 || v.InputTokens == nil || prompt != float64(*v.InputTokens) {
					t.Errorf("%v prompt tokens on the page, event %+v", prompt, v)
				}
				if sum(samples, "paddock_request_generation_tokens_sum") != tokens || sum(samples, "paddock_request_failure_total", "reason", "disconnect", "class", "disconnect") != 1 ||
					sum(samples, "paddock_request_success_total") != 0 || v.ErrorType != "disconnect" {
					t.Errorf("it isn't counted as a disconnect: %+v", v)
				}
				if n := sum(samples, "gen_ai_server_time_to_first_token_seconds_count") + sum(samples, "paddock_num_requests_in_flight"); n != 0 {
					t.Errorf("%v latencies of a failure, or requests in flight", n)
				}
			})
		}
	}
}

// outOfTime is a context whose deadline is when done is closed.
type outOfTime struct {
	context.Context
	done chan struct{}
}

func (o outOfTime) Done() <-chan struct{} { return o.done }

func (o outOfTime) Err() error {
	select {
	case <-o.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestFailureInAStream: an engine that fails after the head was sent is a failure,
// though its status was 200.
func TestFailureInAStream(t *testing.T) {
	e := open(t, engine.Options{})
	h := New(e, Options{})
	limited := metrics.InstrumentHTTP(e.Metrics(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := outOfTime{r.Context(), make(chan struct{})}
		go func() {
			for s := e.Stats(); s.Generated.Sum() == 0; s = e.Stats() {
				time.Sleep(time.Millisecond)
			}
			close(ctx.done)
		}()
		r2 := r.WithContext(ctx)
		h.ServeHTTP(w, r2)
		r.Pattern = r2.Pattern
	}))
	w := do(limited, "POST", "/v1/completions", promptBody("a", endless)) // longer than the first step takes
	v := ended(t, e.Metrics(), 0, 1)[0]
	if w.Code != 200 || v.Status != 200 || v.FailureReason != "deadline" || v.ErrorType != "504" {
		t.Errorf("status %d, event %+v", w.Code, v)
	}
	samples := page(t, e.Metrics())
	if sum(samples, "paddock_request_success_total") != 0 || sum(samples, "paddock_request_failure_total", "class", "5xx") != 1 ||
		sum(samples, "http_requests_total", "handler", "/v1/completions", "status", "2xx") != 1 {
		t.Error("it counts as a success")
	}
	settle(t, e)
}

// TestUnderATimeoutHandler: the standard library's time limit lets the API run on
// in a goroutine of its own after the reply was sent. Each request is counted
// once, and nobody reads a record that another one writes.
func TestUnderATimeoutHandler(t *testing.T) {
	e := open(t, engine.Options{})
	h := metrics.InstrumentHTTP(e.Metrics(), http.TimeoutHandler(New(e, Options{}), 20*time.Millisecond, "too late"))
	const n = 8
	for range n {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/completions", strings.NewReader(promptBody("a", `"ignore_eos":true,"max_tokens":1500`))))
		if w.Code != 503 {
			t.Fatalf("status %d", w.Code)
		}
	}
	for _, v := range ended(t, e.Metrics(), 0, n) {
		if v.FailureReason != "deadline" {
			t.Errorf("%+v", v)
		}
	}
	settle(t, e)
	samples := page(t, e.Metrics())
	if f, in := sum(samples, "paddock_request_failure_total"), sum(samples, "paddock_num_requests_in_flight"); f != n || in != 0 {
		t.Errorf("%v failures, %v in flight", f, in)
	}
}

// TestSeveralSubmitsUnderOneRecord: of the prompts that a route submits for one
// request, the first is that request; the others are requests of their own.
func TestSeveralSubmitsUnderOneRecord(t *testing.T) {
	e := open(t, engine.Options{})
	h := metrics.InstrumentHTTP(e.Metrics(), metrics.InferenceRoute(e.MetricsModel(), metrics.TextCompletion, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var streams []*engine.Stream
		for _, p := range []string{"one", "two", "three"} {
			s, err := e.Submit(r.Context(), engine.Request{Prompt: p, MaxTokens: 4, IgnoreEOS: true})
			if err != nil {
				t.Error(err)
				return
			}
			streams = append(streams, s)
		}
		for _, s := range streams {
			for range s.All() {
			}
		}
	})))
	do(h, "POST", "/batch", "")
	samples := page(t, e.Metrics())
	if ok, tokens := sum(samples, "paddock_request_success_total", "finish_reason", "length"), sum(samples, "paddock_request_generation_tokens_sum"); ok != 3 || tokens != 12 {
		t.Errorf("%v requests with %v tokens, want 3 with 12", ok, tokens)
	}
	if n := sum(samples, "paddock_num_requests_in_flight"); n != 0 {
		t.Errorf("%v in flight", n)
	}
	withStatus := 0
	for _, v := range ended(t, e.Metrics(), 0, 3) {
		if v.Status == 200 {
			withStatus++
		}
		if *v.OutputTokens != 4 {
			t.Errorf("%+v", v)
		}
	}
	if withStatus != 1 {
		t.Errorf("%d of the events are the HTTP request's", withStatus)
	}
	settle(t, e)
}
