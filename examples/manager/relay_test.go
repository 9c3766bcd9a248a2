package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRelay: what passes, what doesn't, each part of a stream as it comes, and a reader's going ends the request.
func TestRelay(t *testing.T) {
	seen := make(chan *http.Request, 10)
	went, next := make(chan struct{}), make(chan struct{})
	r := serveRunner(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		switch req.URL.Path {
		case "/v1/stream":
			for i := range 3 {
				fmt.Fprintf(w, "data: %d\n\n", i)
				w.(http.Flusher).Flush()
				select {
				case <-next:
				case <-req.Context().Done():
					close(went)
					return
				}
			}
		case "/v1/redirect":
			http.Redirect(w, req, "http://192.0.2.1/", http.StatusFound)
		case "/v1/unauthorized":
			w.WriteHeader(401)
		default:
			seen <- req
			w.Header().Set("Set-Cookie", "a=b")
			w.Header().Set("Access-Control-Allow-Origin", "*")
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(429)
			fmt.Fprintf(w, "<script>%s", body)
		}
	})
	m := start(t, "--runner", r.URL, "--runner-key", "upstream", "--api-key", "sesame")
	at := m.url + "/api/runners/" + r.id()

	res := do(t, "POST", at+"/v1/chat/completions?x=1", `{"a":1}`, "Content-Type", "application/json", "X-Paddock-Origin", "studio", "Authorization", "Bearer sesame",
		"Cookie", "c=d", "X-Forwarded-For", "10.0.0.1", "Via", "1.1 p", "Origin", m.url, "Connection", "close", "X-Other", "y", "Traceparent", "00-1-2-3")
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	got := <-seen
	if string(text) != `<script>{"a":1}` || res.StatusCode != 429 || res.Header.Get("Retry-After") != "7" || res.Header.Get("Set-Cookie")+res.Header.Get("Access-Control-Allow-Origin") != "" ||
		!strings.Contains(res.Header.Get("Content-Security-Policy"), "sandbox") || res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("answer %d %v %s", res.StatusCode, res.Header, text)
	}
	want := http.Header{"Authorization": {"Bearer upstream"}, "Content-Type": {"application/json"}, "X-Paddock-Origin": {"studio"}, "Traceparent": {"00-1-2-3"}, "Content-Length": {"7"}, "User-Agent": {"Go-http-client/1.1"}}
	for name := range got.Header {
		if got.Header.Get(name) != want.Get(name) {
			t.Errorf("the runner got %s: %s", name, got.Header.Get(name))
		}
	}
	if got.URL.String() != "/v1/chat/completions?x=1" || got.Header.Get("X-Paddock-Origin") != "studio" || got.Header.Get("Authorization") != "Bearer upstream" {
		t.Errorf("the runner got %s %v", got.URL, got.Header)
	}

	for path, want := range map[string]int{
		"/api/stats": 200, "/api/rollups?step=10s": 200, "/api/events": 200, "/api/other": 404, "/metrics": 404, "/v1/metrics": 404, "/healthz": 404, "/v1/": 404,
		"/v1/%2e%2e/metrics": 404, "/v1/..%2fmetrics": 404, "/v1/a%2f..%2f..%2fmetrics": 404, "/api/..%2fmetrics": 404, "/v1/x%3fy": 404, "/v1/a%00": 404,
		"/v1/redirect": 502, "/v1/unauthorized": 502,
	} {
		if status, body := get(t, at+path); status != want {
			t.Errorf("%s: %d, want %d: %.200s", path, status, want, body)
		}
	}
	res = do(t, "DELETE", at+"/v1/x", "")
	res.Body.Close()
	if res.StatusCode != 405 {
		t.Errorf("DELETE: %d", res.StatusCode)
	}

	res = do(t, "GET", at+"/v1/stream", "")
	lines := bufio.NewReader(res.Body)
	for i := range 2 { // the runner sends the next part once this one was read
		line, err := lines.ReadString('\n')
		if err != nil || line != fmt.Sprintf("data: %d\n", i) {
			t.Fatalf("%q %v", line, err)
		}
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			next <- struct{}{}
		}
	}
	res.Body.Close()
	<-went

	dead := start(t, "--runner", "http://127.0.0.1:1")
	if status, body := get(t, dead.url+"/api/runners/127.0.0.1-1/v1/models"); status != 502 || !strings.Contains(body, "runner_unreachable") {
		t.Errorf("a dead runner: %d %s", status, body)
	}
}

// TestRelayedAround: nothing passes before an answer, nor after it, nor after a request.
func TestRelayedAround(t *testing.T) {
	seen := make(chan http.Header, 1)
	r := serveRunner(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Link", "</x>; rel=preload")
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(103)
		io.Copy(io.Discard, req.Body)
		seen <- req.Trailer
		w.Header().Set("Trailer", "X-Told")
		io.WriteString(w, "text")
		w.(http.Flusher).Flush()
		w.Header().Set("X-Told", "1")
		w.Header().Set(http.TrailerPrefix+"X-Untold", "2")
	})
	m := start(t, "--runner", r.URL)
	early := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { early++; return nil }})
	req, err := http.NewRequestWithContext(ctx, "POST", m.url+"/api/runners/"+r.id()+"/v1/x", io.MultiReader(strings.NewReader("body")))
	if err != nil {
		t.Fatal(err)
	}
	req.Trailer = http.Header{"X-Mine": {"3"}}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || string(text) != "text" || res.StatusCode != 200 {
		t.Errorf("%d %s %v", res.StatusCode, text, err)
	}
	if got := <-seen; len(got) != 0 {
		t.Errorf("the runner got trailers %v", got)
	}
	if early != 0 || len(res.Trailer) != 0 || res.Header.Get("Link")+res.Header.Get("Set-Cookie")+res.Header.Get("Trailer") != "" {
		t.Errorf("%d early answers, header %v, trailer %v", early, res.Header, res.Trailer)
	}
}

// TestRelayedBothWays: an answer that begins before its request's end has been read is passed on whole. So it is, if barely, with any runner
// that is quick: its first words may come before the transport has seen the end of the body that it has sent.
func TestRelayedBothWays(t *testing.T) {
	r := serveRunner(t, func(w http.ResponseWriter, req *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		first := make([]byte, 5)
		if _, err := io.ReadFull(req.Body, first); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "%s, ", first)
		w.(http.Flusher).Flush()
		if _, err := io.Copy(w, req.Body); err != nil {
			t.Error(err)
		}
	})
	m := start(t, "--runner", r.URL)

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // ends a hang
	defer cancel()
	body, sent := io.Pipe()
	defer context.AfterFunc(ctx, func() { sent.CloseWithError(ctx.Err()) })() // for it the client waits
	go sent.Write([]byte("begun"))
	req, err := http.NewRequestWithContext(ctx, "POST", m.url+"/api/runners/"+r.id()+"/v1/both", body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer := bufio.NewReader(res.Body)
	if begun, err := answer.ReadString(','); begun != "begun," || err != nil {
		t.Fatalf("the answer begins with %q, %v", begun, err)
	}
	go func() {
		sent.Write([]byte("and done"))
		sent.Close()
	}()
	if rest, err := io.ReadAll(answer); string(rest) != " and done" || err != nil {
		t.Fatalf("the answer ends with %q, %v", rest, err)
	}
}

// TestRelayedBeforeTheEnd: an answer to a request whose body was not read to its end says that the connection ends, as it does; else the
// next request on it would be lost.
func TestRelayedBeforeTheEnd(t *testing.T) {
	r := serveRunner(t, func(w http.ResponseWriter, req *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		if req.URL.Path == "/v1/whole" {
			io.Copy(io.Discard, req.Body)
		}
		w.Write([]byte("answered"))
	})
	gone := httptest.NewServer(nil)
	gone.Close()
	m := start(t, "--runner", r.URL, "--runner", gone.URL)
	dead := strings.ReplaceAll(strings.TrimPrefix(gone.URL, "http://"), ":", "-")
	for _, c := range []struct {
		path   string
		sent   int
		status int
		closes bool
	}{
		{"/api/runners/" + r.id() + "/v1/part", 10, 200, true},
		{"/api/runners/" + dead + "/v1/none", 10, 502, true},
		{"/api/runners/" + r.id() + "/v1/whole", 1 << 20, 200, false},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(m.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(30 * time.Second)) // ends a hang
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", c.path, 1<<20, strings.Repeat("x", c.sent))
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != c.status || res.Close != c.closes {
			t.Errorf("%s: status %d, the connection ends: %v", c.path, res.StatusCode, res.Close)
		}
	}
}

// TestRelayedUnasked: a client that sends on, whatever the answer, is not cut off before it has read that.
func TestRelayedUnasked(t *testing.T) {
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	}))
	t.Cleanup(r.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	l, mux := relayTo(t, map[string]string{"there": r.URL, "gone": gone.URL})
	l.linger = time.Minute // longer than a slow machine takes
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	for _, c := range []struct {
		id     string
		status int
	}{{"there", 413}, {"gone", 502}, {"none", 404}} {
		for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(time.Minute)) // ends a hang
			in := bufio.NewReader(conn)
			fmt.Fprintf(conn, "POST /api/runners/%s/v1/long HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n", c.id, expect, 9<<20)
			var res *http.Response
			for res == nil || res.StatusCode == http.StatusContinue { // the body is asked for where a runner is there to ask
				if res, err = http.ReadResponse(in, nil); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := io.ReadAll(res.Body); err != nil || res.StatusCode != c.status || !res.Close {
				t.Errorf("%s %s: status %d, the connection ends: %v, %v", c.id, expect, res.StatusCode, res.Close, err)
			}
			if _, err := conn.Write(make([]byte, 9<<20)); err != nil {
				t.Errorf("%s %s: %v", c.id, expect, err)
			}
			if _, err := in.ReadByte(); err != io.EOF {
				t.Errorf("%s %s: the connection ends with %v", c.id, expect, err)
			}
		}
	}
}

// relayTo is a relay to runners at addresses, and what mounts it.
func relayTo(t *testing.T, urls map[string]string) (*relay, http.Handler) {
	f := &fleet{runners: map[string]*watched{}}
	for id, url := range urls {
		f.runners[id] = &watched{runner: &runner{to: &target{id: id, url: url}}}
	}
	l := newRelay(f, slog.New(slog.DiscardHandler))
	t.Cleanup(l.close)
	mux := http.NewServeMux()
	mux.Handle("/api/runners/{id}/v1/{path...}", l)
	return l, mux
}

// TestRelayedUnread: a client that stops reading holds neither the relay nor the runner for good.
func TestRelayedUnread(t *testing.T) {
	ended := make(chan bool)
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for part := make([]byte, 64<<10); ; {
			if _, err := w.Write(part); err != nil {
				close(ended)
				return
			}
		}
	}))
	t.Cleanup(r.Close)
	l, mux := relayTo(t, map[string]string{"there": r.URL})
	l.patience = 50 * time.Millisecond
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) // before the servers, which wait for it
	io.WriteString(conn, "GET /api/runners/there/v1/much HTTP/1.1\r\nHost: localhost\r\n\r\n")
	select {
	case <-ended:
	case <-time.After(time.Minute): // ends a hang
		t.Error("the runner still writes")
	}
}

// deadlines notes in which order an answer is written and its time extended.
type deadlines struct {
	*httptest.ResponseRecorder
	calls []string
}

func (d *deadlines) SetWriteDeadline(time.Time) error {
	d.calls = append(d.calls, "extended")
	return nil
}

func (d *deadlines) Write(p []byte) (int, error) {
	d.calls = append(d.calls, "written")
	return d.ResponseRecorder.Write(p)
}

// TestLastBytesHaveTime: what the server writes once a stream is over, the end of its chunks, has time of its own: nothing may have been
// written for long.
func TestLastBytesHaveTime(t *testing.T) {
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { io.WriteString(w, "answer") }))
	t.Cleanup(r.Close)
	_, mux := relayTo(t, map[string]string{"there": r.URL})
	quit, stop := context.WithCancel(t.Context())
	stop()
	g := &gpus{opened: make(chan struct{})}
	for path, h := range map[string]http.Handler{"/api/runners/there/v1/x": mux, "/api/gpu/stream": newStream(g, quit)} {
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		n := len(w.calls)
		if n < 3 || w.calls[n-1] != "extended" || slices.Index(w.calls, "written") < 1 {
			t.Errorf("%s: %v", path, w.calls)
		}
	}
}

// TestRelayedCut: a body that its sender breaks off isn't the runner's fault; and one that never ends holds nothing for good, read or not.
func TestRelayedCut(t *testing.T) {
	r := serveRunner(t, func(w http.ResponseWriter, req *http.Request) { io.Copy(w, req.Body) })
	m := start(t, "--runner", r.URL)
	conn, err := net.Dial("tcp", strings.TrimPrefix(m.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(30 * time.Second)) // ends a hang
	fmt.Fprintf(conn, "POST /api/runners/%s/v1/cut HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nbegun", r.id())
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if res.StatusCode != 400 || !res.Close || !strings.Contains(string(body), "did not arrive whole") || err != nil {
		t.Errorf("status %d, the connection ends: %v, %s, %v", res.StatusCode, res.Close, body, err)
	}

	if s := (&manager{log: slog.Default()}).server(nil); s.ReadTimeout <= 0 || s.ReadTimeout > time.Minute {
		t.Errorf("a request may take %v to arrive", s.ReadTimeout)
	}
}
