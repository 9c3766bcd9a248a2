package api

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/metrics"
)

// TestRefusalsAreObserved goes through every way to be refused before a token is
// made: its status, its error, and that the metrics have it, once, with a duration;
// alone, and behind an edge, which counts it among the HTTP requests too.
func TestRefusalsAreObserved(t *testing.T) {
	t.Run("alone", func(t *testing.T) { refusals(t, false) })
	t.Run("instrumented", func(t *testing.T) { refusals(t, true) })
}

func refusals(t *testing.T, instrumented bool) {
	e := open(t, engine.Options{MaxContext: 256, KVPages: 8})
	closed := New(e, Options{Key: "sesame", Names: []string{"demo", "other"}})
	if instrumented {
		closed = metrics.InstrumentHTTP(e.Metrics(), closed)
	}
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
		{"no such path", "POST", "/v1/images", "{}", nil, 404, "", "unknown_url", "", "/v1/images"},
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
				if grew("paddock_request_failure_total", "reason", c.reason, "class", fmt.Sprintf("%dxx", c.status/100), "gen_ai_operation_name", op, "origin", "live") != 1 {
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
			if n := grew("http_requests_total", "status", fmt.Sprintf("%dxx", c.status/100)); instrumented != (n == 1) {
				t.Errorf("%v HTTP requests", n)
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
		if card := parsed[modelCard](t, w.Body.String()); w.Code != 200 || "/v1/models/"+card.ID != path || !slices.Equal(card.Operations, []string{"chat", "text_completion"}) {
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
