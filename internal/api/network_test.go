package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/sched"
)

// dial speaks HTTP by hand.
func dial(t *testing.T, url, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

const head = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

// TestBodiesOverTheNetwork: what is half sent, never sent or too large is answered
// and let go.
func TestBodiesOverTheNetwork(t *testing.T) {
	e := open(t, engine.Options{})
	url, patient := listen(t, New(e, Options{BodyTimeout: 100 * time.Millisecond})), listen(t, New(e, Options{}))
	for _, c := range []struct {
		name, sent string
		status     int
		reason     string
	}{
		{"half", head + "Content-Length: 50\r\n\r\n{\"model\":", 400, "invalid_request"},
		{"nothing", head + "Content-Length: 50\r\n\r\n", 400, "invalid_request"},
		{"half a chunk", head + "Transfer-Encoding: chunked\r\n\r\n20\r\n{\"model\":", 400, "invalid_request"},
		{"nothing, to be refused anyway", strings.Replace(head, "POST", "PUT", 1) + "Content-Length: 50\r\n\r\n", 405, "method_not_allowed"},
		{"broken chunk", head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "invalid_request"},
		{"announced too large", head + "Content-Length: 8388609\r\n\r\n{", 413, "too_large"},
		{"said to be enormous", head + "Content-Length: 9223372036854775807\r\n\r\n{", 413, "too_large"},
		{"too large in chunks", head + "Transfer-Encoding: chunked\r\n\r\n800001\r\n" + strings.Repeat(" ", 0x800001), 413, "too_large"},
	} {
		before := sum(page(t, e.Metrics()), "paddock_request_failure_total", "reason", c.reason)
		at := url
		if c.status == 413 {
			at = patient
		}
		_, r := dial(t, at, c.sent)
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if body, _ := io.ReadAll(res.Body); res.StatusCode != c.status {
			t.Errorf("%s: status %d: %s", c.name, res.StatusCode, body)
		}
		if n := sum(page(t, e.Metrics()), "paddock_request_failure_total", "reason", c.reason) - before; n != 1 {
			t.Errorf("%s: %v more failures", c.name, n)
		}
		if _, err := r.ReadByte(); err == nil {
			t.Errorf("%s: the connection stays open", c.name)
		}
	}
	// A client that hangs up in the middle of its body has gone; it asked nothing wrong.
	c, _ := dial(t, url, head+"Content-Length: 50\r\n\r\n{\"model\":")
	c.Close()
	waitFor(t, "the hang-up", func() bool {
		return sum(page(t, e.Metrics()), "paddock_request_failure_total", "reason", "disconnect", "class", "disconnect") == 1
	})
	// After all of that the next one is served.
	res, err := http.Post(patient+"/v1/completions", "application/json", strings.NewReader(promptBody("x")))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("status %d", res.StatusCode)
	}
}

// TestBodiesThatNobodyAskedFor: a client that sends on, whatever the reply, is not cut off before it has read that: neither one whose body is
// too large nor one that wants to be asked for its body and doesn't wait for it.
func TestBodiesThatNobodyAskedFor(t *testing.T) {
	h := New(open(t, engine.Options{}), Options{}).(*handler)
	h.linger = time.Minute // longer than a slow machine takes
	url := listen(t, h)
	const expect = "Expect: 100-continue\r\n"
	for _, c := range []struct {
		name, head string
		body       int
		status     int
	}{
		{"too large", head, maxBody + 1, 413},
		{"too large, unasked", head + expect, maxBody + 1, 413},
		{"refused, unasked", strings.Replace(head, "/v1/completions", "/v1/nothing", 1) + expect, 1 << 20, 404},
		{"wrong method, unasked", strings.Replace(head, "POST", "PUT", 1) + expect, 1 << 20, 405},
	} {
		conn, r := dial(t, url, fmt.Sprintf("%sContent-Length: %d\r\n\r\n", c.head, c.body))
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if _, err := io.ReadAll(res.Body); err != nil || res.StatusCode != c.status || !res.Close {
			t.Errorf("%s: status %d, the connection ends: %v, %v", c.name, res.StatusCode, res.Close, err)
		}
		if _, err := conn.Write(make([]byte, c.body)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("%s: the connection ends with %v", c.name, err)
		}
	}
}

// waitFor polls until ok, for a minute at most.
func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s did not come", what)
		}
	}
}

// TestSlowBodyKeepsItsConnection: the bound on a body's time does not stay on the
// connection, where a long answer or the next request would meet it.
func TestSlowBodyKeepsItsConnection(t *testing.T) {
	e := open(t, engine.Options{})
	url := listen(t, New(e, Options{BodyTimeout: 100 * time.Millisecond, WriteTimeout: 100 * time.Millisecond}))
	body := promptBody("x", `"max_tokens":2`)
	request := head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
	c, r := dial(t, url, request)
	for i := range 2 {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := io.ReadAll(res.Body); res.StatusCode != 200 {
			t.Fatalf("status %d: %s", res.StatusCode, text)
		}
		if i == 0 {
			time.Sleep(250 * time.Millisecond) // past both bounds
			if _, err := io.WriteString(c, request); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// stream opens a streamed completion and returns its reader.
func stream(t testing.TB, ctx context.Context, url, body string) *http.Response {
	t.Helper()
	return post(t, ctx, url+"/v1/completions", body)
}

const endless = `"ignore_eos":true,"max_tokens":1500,"stream":true`

func TestQueueFullAndDraining(t *testing.T) {
	e := open(t, engine.Options{Limits: sched.Limits{MaxSequences: 1, MaxQueue: 1}})
	url := listen(t, New(e, Options{}))
	ctx, hangUp := context.WithCancel(context.Background())
	defer hangUp()
	running := stream(t, ctx, url, promptBody("a", endless))
	waitFor(t, "the first in the batch", func() bool { return e.Stats().Running == 1 })
	// A reply's head comes once a request is taken, and this one waits.
	waiting := stream(t, ctx, url, promptBody("b", endless))
	refuse := func(status int, code, reason, class string) {
		t.Helper()
		w := do(New(e, Options{}), "POST", "/v1/completions", promptBody("c"))
		if w.Code != status {
			t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
		}
		after := w.Header().Get("Retry-After")
		if after == "" || after[0] < '1' || after[0] > '9' {
			t.Errorf("Retry-After %q", after)
		}
		if _, _, got, _ := errorOf(t, w); got != code {
			t.Errorf("code %q, want %q", got, code)
		}
		if n := sum(page(t, e.Metrics()), "paddock_request_failure_total", "reason", reason, "class", class); n != 1 {
			t.Errorf("%v failures %s", n, reason)
		}
	}
	refuse(429, "queue_full", "queue_full", "4xx")
	if w := do(New(e, Options{}), "GET", "/readyz", ""); w.Code != 200 {
		t.Errorf("readyz %d", w.Code)
	}
	drained := make(chan error, 1)
	limit, cancel := context.WithCancel(context.Background())
	go func() { drained <- e.Drain(limit) }()
	waitFor(t, "draining", func() bool { return !e.Ready() })
	waitFor(t, "the loop to drain", func() bool {
		w := do(New(e, Options{}), "GET", "/readyz", "")
		return w.Code == 503 && w.Header().Get("Retry-After") != ""
	})
	refuse(503, "draining", "draining", "5xx")
	if w := do(New(e, Options{}), "GET", "/healthz", ""); w.Code != 200 {
		t.Errorf("healthz %d while draining", w.Code)
	}
	// The end of the grace ends what runs and what waits, in their streams.
	cancel()
	if err := <-drained; err == nil {
		t.Error("Drain had an end that it did not tell of")
	}
	for _, res := range []*http.Response{running, waiting} {
		list := events(t, res.Body)
		last := parsed[errorBody](t, list[len(list)-1])
		if last.Error.Code == nil || *last.Error.Code != "draining" {
			t.Errorf("the stream ends with %s", list[len(list)-1])
		}
	}
	samples := page(t, e.Metrics())
	if n := sum(samples, "paddock_request_failure_total", "reason", "draining"); n != 3 {
		t.Errorf("%v failures draining, want 3", n)
	}
	if n := sum(samples, "gen_ai_server_request_duration_seconds_count", "error_type", "503"); n != 3 {
		t.Errorf("%v durations with 503, want 3", n)
	}
	if n := sum(samples, "gen_ai_server_time_to_first_token_seconds_count"); n != 0 {
		t.Errorf("%v times to the first token of failures", n)
	}
	settle(t, e)
}

// TestDeadlineOfTheCaller: a middleware's time limit is a 504, before the stream
// and in it, and its own cause changes nothing.
func TestDeadlineOfTheCaller(t *testing.T) {
	e := open(t, engine.Options{})
	h := New(e, Options{})
	limited := func(cause error, d time.Duration) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeoutCause(r.Context(), d, cause)
			defer cancel()
			h.ServeHTTP(w, r.WithContext(ctx))
		})
	}
	for i, cause := range []error{nil, fmt.Errorf("the caller's patience")} {
		w := do(limited(cause, time.Millisecond), "POST", "/v1/completions", promptBody("a", `"ignore_eos":true,"max_tokens":2000`))
		if w.Code != 504 {
			t.Errorf("cause %v: status %d: %s", cause, w.Code, w.Body)
		}
		w = do(limited(cause, 50*time.Millisecond), "POST", "/v1/completions", promptBody("a", `"ignore_eos":true,"max_tokens":2000,"stream":true`))
		list := events(t, w.Body)
		if last := parsed[errorBody](t, list[len(list)-1]); last.Error.Code == nil || *last.Error.Code != "deadline" {
			t.Errorf("the stream ends with %s", list[len(list)-1])
		}
		if n := sum(page(t, e.Metrics()), "paddock_request_failure_total", "reason", "deadline", "class", "5xx"); n != float64(2*(i+1)) {
			t.Errorf("%v failures", n)
		}
	}
	settle(t, e)
}

// TestAbandoned: clients that hang up, in either form and at any time, are
// counted as such, and their pages are free.
func TestAbandoned(t *testing.T) {
	e := open(t, engine.Options{})
	url := listen(t, New(e, Options{}))
	for i, fields := range []string{endless, `"ignore_eos":true,"max_tokens":1500`} {
		ctx, hangUp := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			r, _ := http.NewRequestWithContext(ctx, "POST", url+"/v1/completions", strings.NewReader(promptBody("a", fields)))
			if res, err := http.DefaultClient.Do(r); err == nil {
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		}()
		waitFor(t, "a token", func() bool { s := e.Stats(); return s.Running == 1 })
		hangUp()
		<-done
		waitFor(t, "the count", func() bool {
			return sum(page(t, e.Metrics()), "gen_ai_server_request_duration_seconds_count", "error_type", "disconnect") == float64(i+1)
		})
		if s := settle(t, e); s.Finished[2] != uint64(i+1) { // abort
			t.Errorf("finished %v", s.Finished)
		}
	}
}

// TestNeverRead: a client that asks and never reads holds nobody up, and is ended:
// by the bound on writes, or by the engine's on unread streams.
func TestNeverRead(t *testing.T) {
	e := open(t, engine.Options{StallTimeout: 300 * time.Millisecond})
	server := httptest.NewUnstartedServer(New(e, Options{WriteTimeout: 300 * time.Millisecond}))
	server.Listener = smallBuffers{server.Listener}
	server.Start()
	defer server.Close()
	defer neverRead(t, server.URL, promptBody("a", `"logprobs":20,"ignore_eos":true,"max_tokens":1500,"stream":true`))()
	waitFor(t, "the start", func() bool { s := e.Stats(); return s.Admitted == 1 })
	w := do(New(e, Options{}), "POST", "/v1/completions", promptBody("b", `"temperature":0`))
	if w.Code != 200 {
		t.Errorf("another request: %d", w.Code)
	}
	waitFor(t, "its end", func() bool {
		return sum(page(t, e.Metrics()), "paddock_request_failure_total", "reason", "disconnect") == 1
	})
	if n := sum(page(t, e.Metrics()), "paddock_num_requests_in_flight"); n != 0 {
		t.Errorf("%v in flight", n)
	}
	settle(t, e)
}
