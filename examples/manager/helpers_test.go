package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// running is a manager that run serves.
type running struct {
	url, dcgm string
	stop      func()
	done      chan error
}

// start runs a manager with the flags given, without looking for runners and with a history of its own, until the test ends.
func start(t *testing.T, flags ...string) *running {
	t.Helper()
	dir := t.TempDir()
	c, err := parseFlags(append([]string{"--addr", "127.0.0.1:0", "--log-level", "error", "--probe", "off", "--data", dir,
		"--nvml-library", filepath.Join(dir, "no-library.so"), "--nvml-lock", filepath.Join(dir, "lock")}, flags...))
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
	printed := make(chan *running, 1)
	go func() {
		var got running
		for lines := bufio.NewScanner(read); lines.Scan(); {
			if _, at, ok := strings.Cut(lines.Text(), "dcgm names on "); ok {
				got.dcgm = at
			}
			if _, at, ok := strings.Cut(lines.Text(), "manages this machine on "); ok {
				got.url = at
				printed <- &got
			}
		}
	}()
	select {
	case got := <-printed:
		r.url, r.dcgm = got.url, got.dcgm
	case err := <-r.done:
		t.Fatalf("the manager ended: %v", err)
	}
	t.Cleanup(func() {
		stop()
		if err := <-r.done; err != nil {
			t.Errorf("run: %v", err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return r
}

// get asks as a program of this machine does.
func get(t *testing.T, url string, header ...string) (status int, body string) {
	t.Helper()
	res := do(t, http.MethodGet, url, "", header...)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// do sends a request with headers, name and value in turn.
func do(t *testing.T, method, url, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func into[T any](t *testing.T, body string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	return v
}

// eventually asks until ok says yes, and fails after two minutes.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// served is a fake runner that listens, and others below its /v1/.
type served struct {
	*httptest.Server
	mu   sync.Mutex
	fake *fakeRunner
}

// serveRunner makes a fake runner listen; v1 answers what isn't its own.
func serveRunner(t *testing.T, v1 http.HandlerFunc) *served {
	t.Helper()
	s := &served{fake: newFakeRunner(&fakeClock{now: time.Now().Unix()}, 100)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case req.URL.Path == "/healthz" || req.URL.Path == "/readyz":
			io.WriteString(w, "{}")
		case strings.HasPrefix(req.URL.Path, "/api/"):
			s.mu.Lock()
			res, err := s.fake.RoundTrip(req)
			s.mu.Unlock()
			if err != nil {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			w.WriteHeader(res.StatusCode)
			io.Copy(w, res.Body)
		case v1 != nil:
			v1(w, req)
		default:
			http.NotFound(w, req)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// do changes the fake.
func (s *served) do(f func(*fakeRunner)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.fake)
}

func (s *served) id() string {
	return strings.ReplaceAll(strings.TrimPrefix(s.URL, "http://"), ":", "-")
}
