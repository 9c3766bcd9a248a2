package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a server that run serves.
type running struct {
	url, line string // its address, and the command that it prints
	stop      func() // asks it to stop, as a signal does
	done      chan error
}

// start runs the server with the flags given and waits until it prints.
func start(t *testing.T, flags ...string) *running {
	t.Helper()
	c, err := parseFlags(append([]string{"--addr", "127.0.0.1:0", "--log-level", "error"}, flags...))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	read, write := io.Pipe()
	r := &running{stop: stop, done: make(chan error, 1)}
	go func() {
		r.done <- run(ctx, c, write)
		write.Close()
	}()
	printed := make(chan [2]string, 1)
	go func() {
		var got [2]string
		for lines := bufio.NewScanner(read); lines.Scan(); {
			if _, url, ok := strings.Cut(lines.Text(), " on http://"); ok {
				got[0] = "http://" + url
			}
			if strings.HasPrefix(lines.Text(), "  curl ") {
				got[1] = lines.Text()
				printed <- got
			}
		}
	}()
	select {
	case got := <-printed:
		r.url, r.line = got[0], got[1]
	case err := <-r.done:
		t.Fatalf("the server ended: %v", err)
	}
	t.Cleanup(func() {
		stop()
		<-r.done
		http.DefaultClient.CloseIdleConnections()
	})
	return r
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func post(t *testing.T, url, body string) *http.Response {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestServer: with no flags but an address it serves the embedded model: health, the
// command that it prints, the page.
func TestServer(t *testing.T) {
	r := start(t, "--served-model-name", "first", "--served-model-name", "second", "--spec", "ngram", "--kv-pages", "200", "--max-ctx", "1024")
	for path, want := range map[string]string{
		"/healthz": `"ok"`, "/readyz": `"ready"`, "/": "paddock studio", "/v1/models": `"id":"second"`, "/v1/models/first": `"max_model_len":1024`,
		"/metrics": `paddock_kv_pages_free{model="first"} 200`, "/metrics/": "go_goroutines", "/v1/metrics": "process_start_time_seconds",
	} {
		if status, body := get(t, r.url+path); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: status %d without %s: %.200s", path, status, want, body)
		}
	}
	for _, path := range []string{"/nothing", "/studio/", "/studio", "/index.html", "//metrics", "/v1//models", "/v1/../metrics"} {
		if status, body := get(t, r.url+path); status != 404 || !json.Valid([]byte(body)) {
			t.Errorf("%s: status %d, %.100s", path, status, body)
		}
	}
	// The printed command, without a shell.
	m := regexp.MustCompile(`^ +curl -N (http://\S+) -H 'Content-Type: application/json' -d '(.*)'$`).FindStringSubmatch(r.line)
	if m == nil {
		t.Fatalf("the command is %s", r.line)
	}
	res := post(t, m[1], m[2])
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || !bytes.HasSuffix(text, []byte("data: [DONE]\n\n")) || !bytes.Contains(text, []byte("chat.completion.chunk")) {
		t.Errorf("%v; the answer is %s", err, text)
	}
	if _, body := get(t, r.url+"/metrics"); !strings.Contains(body, "\npaddock_request_success_total{") {
		t.Error("the answer is not on the page")
	}
}

// TestServerDrains: a signal lets running requests end, takes no new ones, and then
// ends the program.
func TestServerDrains(t *testing.T) {
	// A machine that does other work may come to ask only when a short answer is over.
	for _, tokens := range []int{300, 600, 1200, 1900} {
		if drains(t, tokens) {
			return
		}
	}
	t.Error("each answer had ended before anything else was asked")
}

// drains stops a server while it gives an answer of so many tokens; false: that was
// over too soon.
func drains(t *testing.T, tokens int) bool {
	r := start(t)
	res := post(t, r.url+"/v1/completions", fmt.Sprintf(`{"model":"demo","prompt":"a","ignore_eos":true,"stream":true,"max_tokens":%d}`, tokens))
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	if _, err := lines.ReadString('\n'); err != nil { // it has begun
		t.Fatal(err)
	}
	r.stop()
	intime := true
	for ready := true; ready && intime; time.Sleep(time.Millisecond) {
		res, err := http.Get(r.url + "/readyz")
		if intime = err == nil; intime {
			ready = res.StatusCode == 200
			res.Body.Close()
		}
	}
	if intime {
		late, err := http.Post(r.url+"/v1/completions", "application/json", strings.NewReader(`{"model":"demo","prompt":"b"}`))
		health, err2 := http.Get(r.url + "/healthz")
		if intime = err == nil && err2 == nil; intime && (late.StatusCode != 503 || late.Header.Get("Retry-After") == "" || health.StatusCode != 200) {
			t.Errorf("while draining a late request is answered %d, and healthz %d", late.StatusCode, health.StatusCode)
		}
		for _, res := range []*http.Response{late, health} {
			if res != nil {
				res.Body.Close()
			}
		}
	}
	rest, err := io.ReadAll(lines)
	if err != nil || !bytes.HasSuffix(rest, []byte("data: [DONE]\n\n")) {
		t.Errorf("the running request ended with %v and %s", err, rest[max(0, len(rest)-200):])
	}
	if err := <-r.done; err != nil {
		t.Errorf("run: %v", err)
	}
	r.done <- nil // for the cleanup
	if res, err := http.Get(r.url + "/healthz"); err == nil {
		res.Body.Close()
		t.Error("it still answers")
	}
	return intime
}

// TestAccessOfPageAndAPI: what comes from elsewhere needs the key, for both.
func TestAccessOfPageAndAPI(t *testing.T) {
	for _, flags := range [][]string{nil, {"--api-key", "sesame"}} {
		r := start(t, flags...)
		for _, path := range []string{"/metrics", "/v1/models", "/v1/metrics", "/healthz"} {
			for _, key := range []string{"", "sesame"} {
				q, err := http.NewRequest("GET", r.url+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				q.Header.Set("X-Forwarded-For", "10.0.0.1")
				q.Header.Set("Authorization", "Bearer "+key)
				res, err := http.DefaultClient.Do(q)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				want := 401
				if path == "/healthz" || flags != nil && key != "" {
					want = 200
				}
				if res.StatusCode != want {
					t.Errorf("%v: %s with key %q: %d, want %d", flags, path, key, res.StatusCode, want)
				}
			}
		}
		r.stop()
		if err := <-r.done; err != nil {
			t.Error(err)
		}
		r.done <- nil
	}
}

func TestWhileLoading(t *testing.T) {
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/v1/models": 503, "/v1/chat/completions": 503} {
		w := httptest.NewRecorder()
		whileLoading(w, httptest.NewRequest("GET", path, nil))
		if w.Code != want || !json.Valid(w.Body.Bytes()) || want == 503 && w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: status %d, %s", path, w.Code, w.Body)
		}
	}
}

func TestRunErrors(t *testing.T) {
	for _, flags := range [][]string{
		{"--model", "no such file.gguf"},
		{"--addr", "256.0.0.1:1"},
		{"--threads", "5000"},
	} {
		c, err := parseFlags(append([]string{"--addr", "127.0.0.1:0", "--log-level", "error"}, flags...))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := run(t.Context(), c, &out); err == nil || out.Len() != 0 {
			t.Errorf("%v: no error, printed %q", flags, out.String())
		}
	}
}

// TestBodiesThatDoNotEnd: what nothing reads holds nothing for good, and the bound
// on it is none on an answer.
func TestBodiesThatDoNotEnd(t *testing.T) {
	s := server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet { // the answer takes longer than a request may
			select {
			case <-r.Context().Done():
				t.Error("the bound on a request ended its answer")
			case <-time.After(200 * time.Millisecond):
			}
		}
		io.WriteString(w, "answered")
	}), slog.New(slog.DiscardHandler))
	if s.ReadTimeout <= 0 || s.ReadTimeout > time.Minute {
		t.Fatalf("a request may take %v", s.ReadTimeout)
	}
	s.ReadTimeout = 50 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	defer s.Close()
	for _, head := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"} {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(time.Minute)) // ends a hang
		io.WriteString(conn, head)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%q: %v", head, err)
		}
		if text, err := io.ReadAll(res.Body); string(text) != "answered" || err != nil {
			t.Errorf("%q: %q, %v", head, text, err)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"--device tpu", "--device"},
		{"--device cuda --panel-cache x", "--panel-cache"},
		{"--spec eagle", "--spec"},
		{"--kv-cache-dtype f8", "one of: f32, f16, bf16, q8_0"},
		{"--log-level loud", "--log-level"},
		{"--served-model-name=", "empty"},
		{"--metrics-auth on", "--api-key"},
		{"--metrics-auth yes --api-key k", "metrics-auth"},
		{"--metrics-auth= --api-key k", "metrics-auth"},
		{"--metrics-auth true", "metrics-auth"},
		{"--trusted-proxy 10.0.0.1", "trusted-proxy"},
		{"--trusted-proxy 10.0.0.0/33", "trusted-proxy"},
		{"--trusted-proxy 10.0.0.0/8 --trusted-proxy proxy", "trusted-proxy"},
		{"--no-metrics=maybe", "no-metrics"},
		{"--threads x", "threads"},
		{"--kv-pages -1", "--kv-pages"},
		{"--max-batch 0", "--max-batch"},
		{"--max-queue 0", "--max-queue"},
		{"--max-ctx 1", "--max-ctx"},
		{"--served-model-name a'b", "quotes"},
		{"--manager-url javascript:x", "--manager-url"},
		{"stray", "stray"},
	} {
		if _, err := parseFlags(strings.Fields(c.args)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
	c, err := parseFlags(nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.addr != "127.0.0.1:11540" || c.maxBatch != 64 || c.maxQueue != 1024 || c.ngram != 0 || c.key != "" || c.model != "" {
		t.Errorf("defaults %+v", c)
	}
}

// TestPagesOfOthers: a page of another site reaches nothing that is open to this machine, whatever name it gives itself; programs do.
func TestPagesOfOthers(t *testing.T) {
	r := start(t, "--max-ctx", "64")
	off := start(t, "--max-ctx", "64", "--metrics-auth", "off", "--api-key", "sesame")
	const body = `{"model":"demo","prompt":"a","max_tokens":1}`
	port := r.url[strings.LastIndex(r.url, ":"):]
	for _, c := range []struct {
		url, method, path string
		header            []string
		want              int
	}{
		{r.url, "GET", "/v1/models", []string{"Host", "evil.example" + port}, 401},
		{r.url, "GET", "/metrics", []string{"Host", "evil.example"}, 401},
		{r.url, "GET", "/api/stats", []string{"Host", "evil.example"}, 401},
		{r.url, "POST", "/v1/completions", []string{"Host", "evil.example"}, 401},
		{r.url, "POST", "/v1/completions", []string{"Content-Type", "text/plain", "Sec-Fetch-Site", "cross-site"}, 403},
		{r.url, "POST", "/v1/completions", []string{"Content-Type", "text/plain", "Origin", "http://evil.example"}, 403},
		{r.url, "GET", "/api/events", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{r.url, "POST", "/v1/completions", []string{"Sec-Fetch-Site", "same-origin", "Origin", r.url}, 200},
		{r.url, "POST", "/v1/completions", nil, 200},
		{r.url, "POST", "/v1/completions", []string{"Host", "localhost" + port}, 200},
		{r.url, "POST", "/v1/completions", []string{"Host", "[::1]" + port}, 200},
		{r.url, "GET", "/v1/models", []string{"Host", "10.1.2.3:80"}, 200},
		{r.url, "GET", "/healthz", []string{"Host", "pod.example"}, 200},
		{r.url, "GET", "/readyz", []string{"Host", "pod.example"}, 200},
		{off.url, "GET", "/metrics", []string{"Host", "gpu.example.com"}, 200},
		{off.url, "GET", "/v1/models", []string{"Host", "gpu.example.com", "Authorization", "Bearer sesame"}, 200},
	} {
		req, err := http.NewRequest(c.method, c.url+c.path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(c.header); i += 2 {
			if req.Header.Set(c.header[i], c.header[i+1]); c.header[i] == "Host" {
				req.Host = c.header[i+1]
			}
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s %s %v: %d, want %d", c.method, c.path, c.header, res.StatusCode, c.want)
		}
	}
	for _, head := range []string{"GET /v1/models HTTP/1.0\r\n\r\n", "GET /v1/models HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, head)
		if text, err := io.ReadAll(conn); !strings.Contains(string(text), " 200 OK") || err != nil {
			t.Errorf("%q: %q, %v", head, text, err)
		}
	}
}
