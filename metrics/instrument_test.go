package metrics

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

// served sends a request through h and returns the reply.
func served(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// says answers with a status and a body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// Requests are counted by the pattern that the mux chose, whatever path, method or host they came with.
func TestHTTPFamiliesByRoute(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", says(200, "12345"))
	mux.HandleFunc("POST /items", func(w http.ResponseWriter, req *http.Request) { io.Copy(io.Discard, req.Body); w.WriteHeader(201) })
	mux.HandleFunc("/teapot", says(418, ""))
	mux.HandleFunc("/odd", says(799, ""))
	mux.HandleFunc("/silent", func(http.ResponseWriter, *http.Request) {})
	inner := http.NewServeMux()
	inner.HandleFunc("/deep/{rest...}", says(302, ""))
	mux.Handle("/deep/", inner)
	h := InstrumentHTTP(r, mux)

	before := scrapeOf(t, r)
	before.want(t, "http_request_duration_highr_seconds_count", 0)
	before.absent(t, "http_requests")

	for i := range 7 {
		served(h, "GET", fmt.Sprintf("/items/%d", i), "")
	}
	served(h, "HEAD", "/items/1", "")
	served(h, "POST", "/items", "0123456789")
	unknown := httptest.NewRequest("POST", "/items", iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 300))))
	unknown.ContentLength = -1
	h.ServeHTTP(httptest.NewRecorder(), unknown)
	served(h, "BREW", "/teapot", "")
	served(h, "get", "/teapot", "")
	served(h, "GET", "/odd", "")
	served(h, "GET", "/silent", "")
	served(h, "GET", "/deep/a/b", "")
	served(h, "GET", "/nowhere/secret", "")
	served(h, "DELETE", "/items/1", "") // 405: no route has it
	for _, path := range []string{"/metrics", "/metrics/", "/v1/metrics", "/health", "/healthz", "/readyz", "/load", "/ping", "/version", "/server_info", "/server_info/"} {
		served(h, "GET", path, "")
	}

	s := scrapeOf(t, r)
	for sample, n := range map[string]float64{
		`{handler="GET /items/{id}",method="GET",status="2xx"}`:  7,
		`{handler="GET /items/{id}",method="HEAD",status="2xx"}`: 1,
		`{handler="POST /items",method="POST",status="2xx"}`:     2,
		`{handler="/teapot",method="_OTHER",status="4xx"}`:       2,
		`{handler="/odd",method="GET",status="_OTHER"}`:          1,
		`{handler="/silent",method="GET",status="2xx"}`:          1,
		`{handler="/deep/{rest...}",method="GET",status="3xx"}`:  1,
		`{handler="none",method="GET",status="4xx"}`:             1,
		`{handler="none",method="DELETE",status="4xx"}`:          1,
	} {
		s.want(t, "http_requests_total"+sample, n)
	}
	total := 0.0
	for sample, n := range s {
		if strings.HasPrefix(sample, "http_requests_total{") {
			total += n
		}
	}
	s.want(t, "http_request_duration_highr_seconds_count", total)
	if total != 17 {
		t.Errorf("%v requests in all, want 17: probes and scrapes aren't among them", total)
	}
	s.want(t, `http_request_duration_seconds_count{handler="GET /items/{id}",method="GET"}`, 7)
	s.want(t, `http_response_size_bytes_sum{handler="GET /items/{id}"}`, 7*5) // and nothing for HEAD
	s.want(t, `http_request_size_bytes_sum{handler="POST /items"}`, 310)
	s.want(t, `http_request_size_bytes_bucket{handler="POST /items",le="256"}`, 1)
	if page := get(t, HandlerFor(HandlerOptions{Recorder: r})); strings.Contains(page, "secret") {
		t.Error("a path is on the page")
	}
}

// A router that puts what it likes into the pattern can't grow the page, nor break it.
func TestHTTPPatternsAreBounded(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	h := InstrumentHTTP(r, http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { req.Pattern = req.Header.Get("Pattern") }))
	for _, pattern := range []string{strings.Repeat("x", 257), "\xff\xfe", "none", "_OTHER"} {
		served(h, "GET", "/", "", "Pattern", pattern)
	}
	for i := range 1000 {
		served(h, "GET", "/", "", "Pattern", fmt.Sprintf("/%d", i))
	}
	for i := range 256 { // those that came first stay
		served(h, "POST", "/", "", "Pattern", fmt.Sprintf("/%d", i))
	}
	s := scrapeOf(t, r)
	routes := map[string]bool{}
	for sample := range s {
		if _, rest, ok := strings.Cut(sample, `http_requests_total{handler="`); ok {
			name, _, _ := strings.Cut(rest, `"`)
			routes[name] = true
		}
	}
	if len(routes) != maxHTTPRoutes+2 || !routes["/0"] || !routes["/255"] || routes["/256"] {
		t.Errorf("%d routes", len(routes))
	}
	s.want(t, `http_requests_total{handler="_OTHER",method="GET",status="2xx"}`, 3+1000-256)
	s.want(t, `http_requests_total{handler="/255",method="POST",status="2xx"}`, 1)
}

// What the record of a request gets from its head.
func TestRecordOfARequest(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	var rec *Record
	h := InstrumentHTTP(r, http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { rec = FromContext(req.Context()) }))
	served(h, "POST", "/", "", "X-Request-Id", "id-1", "X-Session-Id", "s-1", "X-Paddock-Origin", "Batch",
		"Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if !rec.Edge || rec.Arrival != 90*time.Second || rec.ID != "id-1" || rec.Session != "s-1" || rec.Origin != Batch ||
		rec.TraceID[0] != 0x4b || rec.SpanID[7] != 0xb7 {
		t.Errorf("%+v", rec)
	}
	served(h, "POST", "/", "", "X-Request-Id", "two words", "X-Session-Id", strings.Repeat("é", 200), "X-Paddock-Origin", "nonsense",
		"Traceparent", "00-00000000000000000000000000000000-00f067aa0ba902b7-01")
	if rec.ID != "" || len(rec.Session) != maxEventText+3 || rec.Origin != Live || rec.TraceID != [16]byte{} || rec.SpanID != [8]byte{} {
		t.Errorf("%+v", rec)
	}
	twice := httptest.NewRequest("GET", "/", nil)
	twice.Header["Traceparent"] = []string{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4737-00f067aa0ba902b7-01"}
	h.ServeHTTP(httptest.NewRecorder(), twice)
	if rec.TraceID != [16]byte{} {
		t.Error("one of two parents was taken")
	}
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"a\xffb", "a\uFFFDb"}, {strings.Repeat("b", 256), strings.Repeat("b", 256)}, {strings.Repeat("b", 1<<20), strings.Repeat("b", 257)},
	} {
		if got := Clip(c.text); got != c.want {
			t.Errorf("%d bytes: %q", len(c.text), got)
		}
	}
	if own := r.NewRecord(twice); !own.Edge || own.Arrival != 90*time.Second {
		t.Errorf("%+v", own)
	}
	// A caller's own edge stays the owner; its record isn't finished here.
	m := mustOpen(t, r, "m", nil, Chat)
	own := &Record{Edge: true}
	ctx := m.Begin(context.Background(), own)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil).WithContext(ctx))
	if rec != own || own.over() {
		t.Error("another edge's record was replaced, or finished")
	}
	scrapeOf(t, r).want(t, `http_requests_total{handler="none",method="GET",status="2xx"}`, 2)
}

// An edge around an edge observes nothing again.
func TestWrappedTwiceCountsOnce(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	h := InstrumentHTTP(r, InstrumentHTTP(r, InferenceRoute(m, Chat, InferenceRoute(m, Chat, says(200, "")))))
	served(h, "GET", "/", "")
	s := scrapeOf(t, r)
	s.want(t, `http_requests_total{handler="none",method="GET",status="2xx"}`, 1)
	s.want(t, "gen_ai_server_request_duration_seconds_count{"+base(Chat, "m", Live)+"}", 1)
	s.want(t, "paddock_num_requests_in_flight", 0)
}

func TestRecorderThatIsDeaf(t *testing.T) {
	next := says(200, "x")
	deaf := NewRecorder(RecorderOptions{NoMetrics: true, Events: -1})
	m := mustOpen(t, deaf, "m", nil, Chat)
	for _, h := range []http.Handler{InstrumentHTTP(Off, next), InstrumentHTTP(deaf, next), InferenceRoute(m, Chat, next), InferenceRoute(nil, Chat, next)} {
		if _, same := h.(http.HandlerFunc); !same {
			t.Errorf("%T stands in between", h)
		}
	}
	// Without metrics but with events there are records, and no page.
	quiet := NewRecorder(RecorderOptions{NoMetrics: true})
	m = mustOpen(t, quiet, "m", nil, Chat)
	var rec *Record
	served(InstrumentHTTP(quiet, InferenceRoute(m, Chat, http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { rec = FromContext(req.Context()) }))), "GET", "/", "")
	if rec == nil || !rec.over() || quiet.http.routes.Load() != nil {
		t.Errorf("record %v", rec)
	}
}

// The writer below keeps what it can do, and gains nothing that it can't.
func TestWriterKeepsWhatItCan(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	type plain struct{ http.ResponseWriter }
	type flusher struct {
		http.ResponseWriter
		http.Flusher
	}
	type hijacker struct {
		http.ResponseWriter
		http.Hijacker
	}
	type both struct {
		http.ResponseWriter
		http.Flusher
		http.Hijacker
	}
	rr := httptest.NewRecorder()
	for _, c := range []struct {
		w             http.ResponseWriter
		flush, hijack bool
	}{
		{plain{rr}, false, false}, {flusher{rr, rr}, true, false}, {hijacker{rr, fakeHijacker{}}, false, true}, {both{rr, rr, fakeHijacker{}}, true, true},
		{unwrapping{both{rr, rr, fakeHijacker{}}}, true, true}, {unwrapping{plain{rr}}, false, false},
	} {
		InstrumentHTTP(r, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, flush := w.(http.Flusher)
			_, hijack := w.(http.Hijacker)
			_, from := w.(io.ReaderFrom)
			if flush != c.flush || hijack != c.hijack || !from {
				t.Errorf("%T: flusher %v, hijacker %v, reader %v", c.w, flush, hijack, from)
			}
			rc := http.NewResponseController(w)
			if err := rc.Flush(); (err == nil) != c.flush {
				t.Errorf("%T: Flush: %v", c.w, err)
			}
			if _, _, err := rc.Hijack(); errors.Is(err, http.ErrNotSupported) == c.hijack {
				t.Errorf("%T: Hijack: %v", c.w, err)
			}
			if n, err := io.Copy(w, strings.NewReader("abc")); n != 3 || err != nil {
				t.Errorf("%T: %d, %v", c.w, n, err)
			}
		})).ServeHTTP(c.w, httptest.NewRequest("GET", "/", nil))
	}
}

type unwrapping struct{ http.ResponseWriter }

func (u unwrapping) Unwrap() http.ResponseWriter { return u.ResponseWriter }

type fakeHijacker struct{}

func (fakeHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, errors.New("not now")
}

// Over a real server: streaming, full duplex, deadlines, a file, a hijacked connection.
func TestWriterOverANetwork(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	step := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/stream", func(w http.ResponseWriter, req *http.Request) {
		rc := http.NewResponseController(w)
		if err := errors.Join(rc.EnableFullDuplex(), rc.SetWriteDeadline(time.Now().Add(time.Minute))); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusEarlyHints) // informational: not the reply's status
		io.WriteString(w, "one\n")
		w.(http.Flusher).Flush()
		<-step
		io.WriteString(w, "two\n")
	})
	mux.HandleFunc("/raw", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		conn.Close()
	})
	var serving sync.WaitGroup // the server doesn't wait for who hijacked
	observed := InstrumentHTTP(r, mux)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		serving.Add(1)
		defer serving.Done()
		observed.ServeHTTP(w, req)
	}))
	defer server.Close()
	res, err := http.Get(server.URL + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	if line, err := lines.ReadString('\n'); line != "one\n" {
		t.Fatalf("%q, %v", line, err)
	}
	close(step)
	if rest, err := io.ReadAll(lines); string(rest) != "two\n" || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	raw, err := http.Get(server.URL + "/raw")
	if err != nil || raw.StatusCode != 200 {
		t.Fatal(raw, err)
	}
	raw.Body.Close()
	serving.Wait()
	s := scrapeOf(t, r)
	s.want(t, `http_requests_total{handler="/stream",method="GET",status="2xx"}`, 1)
	s.want(t, `http_response_size_bytes_sum{handler="/stream"}`, 8)
	s.want(t, `http_requests_total{handler="/raw",method="GET",status="_OTHER"}`, 1)
}
