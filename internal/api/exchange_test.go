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

// TestRefusalsAreObserved goes through every way to be refused before a token is
// made: its status, its error, and that the metrics have it, once, with a duration.
func TestRefusalsAreObserved(t *testing.T) {
	e := open(t, engine.Options{MaxContext: 256, KVPages: 8})
	closed := New(e, Options{Key: "sesame", Names: []string{"demo", "other"}})
	far := []string{"X-Forwarded-For", "10.1.2.3"}
	const chat, completions = "/v1/chat/completions", "/v1/completions"
	long := strings.Repeat("one two three ", 200)
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		reason                   string // in the metrics; "": not observed
		code, param              string
		says                     string
	}{
		{"not JSON", "POST", chat, "{", nil, 400, "invalid_request", "", "", "not JSON"},
		{"unknown field", "POST", chat, chatBody("x", `"foo":1`), nil, 400, "invalid_request", "", "foo", "foo"},
		{"out of range", "POST", completions, promptBody("x", `"n":129`), nil, 400, "invalid_request", "", "n", "between 1 and 128"},
		{"a token outside", "POST", completions, promptBody("x", `"stop_token_ids":[5,999999]`), nil, 400, "invalid_request", "", "stop_token_ids[1]", "999999"},
		{"a bias outside", "POST", completions, promptBody("x", `"logit_bias":{"999999":1}`), nil, 400, "invalid_request", "", "logit_bias", "999999"},
		{"prompt token outside", "POST", completions, `{"model":"demo","prompt":[1,999999]}`, nil, 400, "invalid_request", "", "prompt[1]", "999999"},
		{"empty stop", "POST", completions, promptBody("x", `"stop":["a",""]`), nil, 400, "invalid_request", "", "stop[1]", "bytes"},
		{"min above max", "POST", completions, promptBody("x", `"min_tokens":9,"max_tokens":8`), nil, 400, "invalid_request", "", "min_tokens", "9"},
		{"two limits", "POST", chat, chatBody("x", `"max_tokens":8,"max_completion_tokens":9`), nil, 400, "invalid_request", "", "max_tokens", "max_completion_tokens"},
		{"best_of", "POST", completions, promptBody("x", `"best_of":2`), nil, 400, "invalid_request", "", "best_of", "n (1)"},
		{"no messages", "POST", chat, `{"model":"demo","messages":[]}`, nil, 400, "invalid_request", "", "messages", "at least one"},
		{"no prompt", "POST", completions, `{"model":"demo"}`, nil, 400, "invalid_request", "", "prompt", "missing"},
		{"no tokens", "POST", completions, `{"model":"demo","prompt":[[]]}`, nil, 400, "invalid_request", "", "prompt", "no tokens"},
		{"no model", "POST", completions, `{"prompt":"x"}`, nil, 400, "invalid_request", "", "model", "demo, other"},
		{"alternatives alone", "POST", chat, chatBody("x", `"top_logprobs":1`), nil, 400, "invalid_request", "", "top_logprobs", "logprobs"},
		{"stream options alone", "POST", chat, chatBody("x", `"stream_options":{}`), nil, 400, "invalid_request", "", "stream_options", "stream"},
		{"too long", "POST", chat, chatBody(long), nil, 400, "context_length", "context_length_exceeded", "messages", "256"},
		{"too long a prompt", "POST", completions, promptBody(long), nil, 400, "context_length", "context_length_exceeded", "prompt", "256"},
		{"too many asked for", "POST", completions, promptBody("x", `"max_tokens":256`), nil, 400, "context_length", "context_length_exceeded", "prompt", "256"},
		{"too many pages", "POST", completions, promptBody("x", `"max_tokens":200`), nil, 400, "invalid_request", "", "", "8"},
		{"unknown model", "POST", completions, `{"model":"gpt","prompt":"x"}`, nil, 404, "not_found", "model_not_found", "model", `"gpt"`},
		{"wrong method", "GET", chat, "", nil, 405, "method_not_allowed", "method_not_allowed", "", "POST"},
		{"HEAD", "HEAD", completions, "", nil, 405, "method_not_allowed", "", "", ""},
		{"no key", "POST", chat, chatBody("x"), far, 401, "unauthorized", "invalid_api_key", "", "Bearer"},
		{"wrong key", "POST", chat, chatBody("x"), append(far, "Authorization", "Bearer sesamee"), 401, "unauthorized", "invalid_api_key", "", "Bearer"},
		{"body too large", "POST", chat, `{"user":"` + strings.Repeat("x", maxBody) + `"}`, nil, 413, "too_large", "body_too_large", "", "8 MiB"},
		{"no such path", "POST", "/v1/embeddings", "{}", nil, 404, "", "unknown_url", "", "/v1/embeddings"},
		{"no such model card", "GET", "/v1/models/gpt", "", nil, 404, "", "model_not_found", "model", "gpt"},
		{"models without key", "GET", "/v1/models", "", far, 401, "", "invalid_api_key", "", "Bearer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := page(t, e.Metrics())
			headers := append([]string{"X-Request-Id", "id 1"}, c.headers...)
			if len(c.headers) == 0 {
				headers = nil
			}
			r := do(local(closed), c.method, c.path, c.body, headers...)
			if r.Code != c.status {
				t.Fatalf("status %d, want %d: %s", r.Code, c.status, r.Body)
			}
			if id := r.Header().Get("X-Request-Id"); !strings.HasPrefix(id, "req-") {
				t.Errorf("x-request-id %q", id)
			}
			if c.method == "HEAD" {
				if r.Body.Len() != 0 {
					t.Error("HEAD has a body")
				}
			} else {
				message, _, code, param := errorOf(t, r)
				if code != c.code || param != c.param || !strings.Contains(message, c.says) {
					t.Errorf("code %q, param %q, %q; want %q, %q, …%s…", code, param, message, c.code, c.param, c.says)
				}
			}
			switch c.status {
			case 405:
				if r.Header().Get("Allow") == "" {
					t.Error("no Allow")
				}
			case 401:
				if r.Header().Get("Www-Authenticate") != "Bearer" {
					t.Error("no WWW-Authenticate")
				}
			case 413:
				if r.Header().Get("Connection") != "close" {
					t.Error("the connection stays")
				}
			}
			after := page(t, e.Metrics())
			op := map[string]string{chat: "chat", completions: "text_completion"}[c.path]
			grew := func(name string, labels ...string) float64 {
				return sum(after, name, labels...) - sum(before, name, labels...)
			}
			want := 0.0
			if c.reason != "" {
				want = 1
				if grew("paddock_request_failure_total", "reason", c.reason, "class", "4xx", "gen_ai_operation_name", op, "origin", "live") != 1 {
					t.Errorf("no failure %s of %s was counted", c.reason, op)
				}
				if grew("gen_ai_server_request_duration_seconds_count", "error_type", fmt.Sprint(c.status), "gen_ai_operation_name", op) != 1 {
					t.Errorf("no duration with error_type %d", c.status)
				}
			}
			for _, name := range []string{"paddock_request_failure_total", "gen_ai_server_request_duration_seconds_count"} {
				if n := grew(name); n != want {
					t.Errorf("%s grew by %v, want %v", name, n, want)
				}
			}
			if n := grew("paddock_request_success_total") + sum(after, "paddock_num_requests_in_flight"); n != 0 {
				t.Errorf("%v successes or requests in flight", n)
			}
		})
	}
	settle(t, e)
}

// local makes requests look as if they came from this machine.
func local(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = "127.0.0.1:9"
		h.ServeHTTP(w, r)
	})
}

// TestAccess is the API's row of the access table, for each way to call.
func TestAccess(t *testing.T) {
	e := open(t, engine.Options{})
	const far, near = "10.0.0.9:5", "127.0.0.1:5"
	for _, c := range []struct {
		o      Options
		peer   string
		header [2]string
		want   int
	}{
		{Options{}, far, [2]string{}, 200},
		{Options{RequireKey: true}, near, [2]string{}, 200},
		{Options{RequireKey: true}, far, [2]string{}, 401},
		{Options{RequireKey: true}, far, [2]string{"Authorization", "Bearer "}, 401},
		{Options{Key: "k"}, near, [2]string{}, 200},
		{Options{Key: "k"}, near, [2]string{"Authorization", "Bearer wrong"}, 200},
		{Options{Key: "k"}, near, [2]string{"X-Forwarded-For", "127.0.0.1"}, 401},
		{Options{Key: "k"}, far, [2]string{}, 401},
		{Options{Key: "k"}, far, [2]string{"Authorization", "Bearer k"}, 200},
		{Options{Key: "k"}, far, [2]string{"Authorization", "bearer k"}, 200},
		{Options{Key: "k"}, far, [2]string{"Authorization", "k"}, 401},
		{Options{Key: "k", BehindProxy: true}, near, [2]string{}, 401},
		{Options{Key: "k", BehindProxy: true}, near, [2]string{"Authorization", "Bearer k"}, 200},
	} {
		h := New(e, c.o)
		for path, want := range map[string]int{"/v1/models": c.want, "/healthz": 200, "/readyz": 200} {
			set := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { r.RemoteAddr = c.peer; h.ServeHTTP(w, r) })
			if got := do(set, "GET", path, "", c.header[0], c.header[1]); got.Code != want {
				t.Errorf("%+v from %s with %v: %s gives %d, want %d", c.o.Key, c.peer, c.header, path, got.Code, want)
			}
		}
		guarded := Guard(c.o, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "in") }))
		set := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { r.RemoteAddr = c.peer; guarded.ServeHTTP(w, r) })
		w := do(set, "GET", "/metrics", "", c.header[0], c.header[1])
		if w.Code != c.want || w.Code == 401 && w.Header().Get("Www-Authenticate") != "Bearer" {
			t.Errorf("Guard: %d, want %d", w.Code, c.want)
		}
	}
}

func TestModels(t *testing.T) {
	h := New(open(t, engine.Options{MaxContext: 512}), Options{Names: []string{"a/b", "second"}})
	list := parsed[struct {
		Object string
		Data   []modelCard
	}](t, do(h, "GET", "/v1/models", "").Body.String())
	if list.Object != "list" || len(list.Data) != 2 || list.Data[0].ID != "a/b" || list.Data[1].ID != "second" || list.Data[0].MaxModelLen != 512 || list.Data[0].Object != "model" {
		t.Errorf("%+v", list)
	}
	for _, path := range []string{"/v1/models/a/b", "/v1/models/second"} {
		w := do(h, "GET", path, "")
		if card := parsed[modelCard](t, w.Body.String()); w.Code != 200 || "/v1/models/"+card.ID != path {
			t.Errorf("%s: %d %+v", path, w.Code, card)
		}
		if w := do(h, "HEAD", path, ""); w.Code != 200 || w.Body.Len() != 0 {
			t.Errorf("HEAD %s: %d with %d bytes", path, w.Code, w.Body.Len())
		}
	}
	for _, path := range []string{"/v1/models/", "/v1", "/v1/", "/", "/v1/models/a"} {
		if w := do(h, "GET", path, ""); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := do(h, "POST", "/v1/models", "{}"); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}

func TestRequestIDs(t *testing.T) {
	h := New(open(t, engine.Options{}), Options{})
	seen := map[string]bool{}
	for _, c := range []struct {
		id   string
		echo bool
	}{
		{"abc-DEF_123.~", true},
		{strings.Repeat("x", 128), true},
		{"", false},
		{strings.Repeat("x", 129), false},
		{"two words", false},
		{"é", false},
		{"tab\there", false},
	} {
		got := do(h, "GET", "/healthz", "", "X-Request-Id", c.id).Header().Get("X-Request-Id")
		if (got == c.id) != c.echo || !c.echo && (!strings.HasPrefix(got, "req-") || seen[got]) {
			t.Errorf("%q gives %q", c.id, got)
		}
		seen[got] = true
	}
}

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
	r, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/completions", strings.NewReader(body))
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

// TestPanicIsCounted: a panic on the way reaches the HTTP server, which logs it,
// and the books have the request as the engine's fault.
func TestPanicIsCounted(t *testing.T) {
	e := open(t, engine.Options{})
	h := New(e, Options{Tenant: func(*http.Request) string { panic("the caller's tenant function") }})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		do(h, "POST", "/v1/completions", promptBody("a"))
	}()
	samples := page(t, e.Metrics())
	if n := sum(samples, "paddock_request_failure_total", "reason", "engine_error", "class", "5xx"); n != 1 {
		t.Errorf("%v failures", n)
	}
	if n := sum(samples, "paddock_num_requests_in_flight"); n != 0 {
		t.Errorf("%v in flight", n)
	}
}

// TestTenantScopeAndOrigin reach the engine and the metrics.
func TestTenantScopeAndOrigin(t *testing.T) {
	e := open(t, engine.Options{})
	h := New(e, Options{CacheScope: func(r *http.Request) string { return r.Header.Get("Team") }})
	cached := func(team, salt, origin string) int {
		t.Helper()
		w := do(h, "POST", "/v1/chat/completions", chatBody(question, `"max_tokens":1,"cache_salt":"`+salt+`"`), "Team", team, "X-Paddock-Origin", origin)
		return parsed[chatReply](t, w.Body.String()).Usage.PromptDetails.CachedTokens
	}
	if a, b, c, d := cached("a", "", "batch"), cached("a", "", "studio"), cached("b", "", "nonsense"), cached("a", "x", ""); a != 0 || b == 0 || c != 0 || d != 0 {
		t.Errorf("cached tokens %d %d %d %d: only the second may have any", a, b, c, d)
	}
	samples := page(t, e.Metrics())
	for origin, want := range map[string]float64{"batch": 1, "studio": 1, "live": 2} {
		if n := sum(samples, "paddock_request_success_total", "origin", origin, "gen_ai_operation_name", "chat"); n != want {
			t.Errorf("origin %s: %v successes, want %v", origin, n, want)
		}
	}
}
