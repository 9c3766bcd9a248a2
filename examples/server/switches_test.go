package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/metrics"
)

// ask sends a request as it stands, without following a redirect.
func ask(t *testing.T, method, url string, headers ...string) (*http.Response, string) {
	t.Helper()
	q, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

// complete makes one answer.
func complete(t *testing.T, r *running) {
	t.Helper()
	res := post(t, r.url+"/v1/completions", `{"model":"demo","prompt":"a","max_tokens":3,"ignore_eos":true,"user":"u-7"}`)
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != 200 {
		t.Fatalf("status %d: %s", res.StatusCode, text)
	}
}

// TestSwitches: --no-metrics and --no-events take away what they name, and leave
// the other running.
func TestSwitches(t *testing.T) {
	pages, events := []string{"/metrics", "/metrics/", "/v1/metrics", "/api/stats", "/api/rollups"}, []string{"/api/events"}
	for _, c := range []struct {
		flags           []string
		metrics, events bool
	}{
		{nil, true, true},
		{[]string{"--no-metrics"}, false, true},
		{[]string{"--no-events"}, true, false},
		{[]string{"--no-metrics", "--no-events"}, false, false},
	} {
		r := start(t, c.flags...)
		complete(t, r)
		for _, group := range []struct {
			paths []string
			there bool
			holds string // what the answer has of the request
		}{
			{pages[:3], c.metrics, `http_requests_total{handler="/v1/completions",method="POST",status="2xx"} 1`},
			{pages[3:], c.metrics, "demo"},
			{events, c.events, "u-7"},
		} {
			for _, path := range group.paths {
				for _, method := range []string{"GET", "HEAD"} {
					res, text := ask(t, method, r.url+path)
					switch {
					case group.there:
						if res.StatusCode != 200 || method == "GET" && !strings.Contains(text, group.holds) {
							t.Errorf("%v: %s %s: status %d without %s: %.300s", c.flags, method, path, res.StatusCode, group.holds, text)
						}
					case res.StatusCode != 404 || res.Header.Get("Content-Type") != "application/json" || method == "GET" && !json.Valid([]byte(text)):
						t.Errorf("%v: %s %s: status %d, %s", c.flags, method, path, res.StatusCode, text)
					}
				}
			}
		}
		if res, text := ask(t, "GET", r.url+"/api/nothing"); res.StatusCode != 404 || !json.Valid([]byte(text)) {
			t.Errorf("/api/nothing: %d, %s", res.StatusCode, text)
		}
		r.stop()
		if err := <-r.done; err != nil {
			t.Error(err)
		}
		r.done <- nil
	}
}

// TestPagesAreTheSame: the page's three addresses answer alike, without a redirect,
// and vLLM's families are on it where they were asked for.
func TestPagesAreTheSame(t *testing.T) {
	moving := regexp.MustCompile(`(?m)^(go_|process_|promhttp_).*\n`) // of the process, not of the engine
	for _, vllm := range []bool{false, true} {
		var flags []string
		if vllm {
			flags = []string{"--metrics-vllm"}
		}
		r := start(t, flags...)
		complete(t, r)
		first := ""
		for _, path := range []string{"/metrics", "/metrics/", "/v1/metrics"} {
			res, text := ask(t, "GET", r.url+path)
			text = moving.ReplaceAllString(text, "")
			if first == "" {
				first = text
			}
			if res.StatusCode != 200 || text != first {
				t.Errorf("%s: status %d, the same page: %v", path, res.StatusCode, text == first)
			}
		}
		if has := strings.Contains(first, "\nvllm:num_requests_running{"); has != vllm {
			t.Errorf("%v: vLLM's families are there: %v", flags, has)
		}
		r.stop()
		<-r.done
		r.done <- nil
	}
}

// TestAccessFlags is the access table as the flags give it, for page, API and what
// is always open; what a proxy sends on comes from the network.
func TestAccessFlags(t *testing.T) {
	const far, key = "X-Forwarded-For", "Authorization"
	for _, c := range []struct {
		flags string
		// for nobody's key and the right one: from this machine, from the network
		near, nearKey, far, farKey int
		api                        [4]int // the same, of /v1/models and /api/stats
	}{
		{"", 200, 200, 401, 401, [4]int{200, 200, 401, 401}},
		{"--api-key k", 200, 200, 401, 200, [4]int{200, 200, 401, 200}},
		{"--metrics-auth off", 200, 200, 200, 200, [4]int{200, 200, 401, 401}},
		{"--metrics-auth off --api-key k", 200, 200, 200, 200, [4]int{200, 200, 401, 200}},
		{"--metrics-auth on --api-key k", 401, 200, 401, 200, [4]int{200, 200, 401, 200}},
		{"--trusted-proxy 10.0.0.0/8 --trusted-proxy fd00::/8", 401, 401, 401, 401, [4]int{401, 401, 401, 401}},
		{"--trusted-proxy 10.0.0.0/8 --api-key k", 401, 200, 401, 200, [4]int{401, 200, 401, 200}},
		{"--trusted-proxy 10.0.0.0/8 --metrics-auth off", 200, 200, 200, 200, [4]int{401, 401, 401, 401}},
	} {
		r := start(t, strings.Fields(c.flags)...)
		callers := [4][]string{{}, {key, "bearer k"}, {far, "192.0.2.1"}, {far, "192.0.2.1", key, "bearer k"}}
		for path, want := range map[string][4]int{
			"/metrics": {c.near, c.nearKey, c.far, c.farKey}, "/v1/metrics": {c.near, c.nearKey, c.far, c.farKey},
			"/v1/models": c.api, "/api/stats": c.api, "/api/events": c.api, "/api/rollups": c.api,
			"/healthz": {200, 200, 200, 200}, "/readyz": {200, 200, 200, 200},
		} {
			for i, headers := range callers {
				res, text := ask(t, "GET", r.url+path, headers...)
				if res.StatusCode != want[i] {
					t.Errorf("%q: %s with %q: %d, want %d", c.flags, path, headers, res.StatusCode, want[i])
				}
				if res.StatusCode == 401 && (res.Header.Get("WWW-Authenticate") != "Bearer" || !json.Valid([]byte(text))) {
					t.Errorf("%q: %s refuses with %v and %s", c.flags, path, res.Header, text)
				}
			}
		}
		r.stop()
		<-r.done
		r.done <- nil
	}
}

// TestBeforeTheModel: while the model loads, scrapers find their page, and what is
// turned away is counted, under no model.
func TestBeforeTheModel(t *testing.T) {
	rec := metrics.NewRecorder(metrics.RecorderOptions{})
	var api latest
	api.set(http.HandlerFunc(whileLoading))
	h := routes(rec, &config{}, &api)
	for path, want := range map[string]int{"/v1/chat/completions": 503, "/readyz": 503, "/healthz": 200, "/api/events": 200, "/": 200} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "http://127.0.0.1"+path, nil)
		r.RemoteAddr = "127.0.0.1:5"
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "http://127.0.0.1/metrics", nil)
	r.RemoteAddr = "127.0.0.1:5"
	h.ServeHTTP(w, r)
	if page := w.Body.String(); w.Code != 200 || !strings.Contains(page, `http_requests_total{handler="/",method="GET",status="5xx"} 1`) ||
		strings.Contains(page, "paddock_request_failure_total") {
		t.Errorf("status %d: %s", w.Code, page)
	}
}
