package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/examples/demo"
	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/metrics"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open serves the embedded model, with a recorder of its own unless o has one.
func open(t testing.TB, o engine.Options) *engine.Engine {
	t.Helper()
	o.Name = "demo"
	if o.Metrics == nil {
		o.Metrics = metrics.NewRecorder(metrics.RecorderOptions{})
	}
	e, err := engine.OpenFS(demo.Files, demo.Name, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// openGolden serves one of the tiny models that come without a chat template.
func openGolden(t testing.TB, file string, o engine.Options) *engine.Engine {
	t.Helper()
	o.Metrics = metrics.NewRecorder(metrics.RecorderOptions{})
	e, err := engine.Open(filepath.Join(golden.Dir(t), "models", file), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// listen serves a handler on a loopback address.
func listen(t testing.TB, h http.Handler) (url string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() { http.DefaultClient.CloseIdleConnections(); s.Close() })
	return s.URL
}

// do sends a request without a network and returns the reply.
func do(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// errorOf reads an error reply.
func errorOf(t testing.TB, w *httptest.ResponseRecorder) (message, kind, code, param string) {
	t.Helper()
	var b errorBody
	d := json.NewDecoder(w.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		t.Fatalf("status %d with a body that is no error: %v", w.Code, err)
	}
	if ct := w.Header().Get("Content-Type"); ct != "application/json" {
		t.Errorf("an error of type %q", ct)
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return b.Error.Message, b.Error.Type, text(b.Error.Code), text(b.Error.Param)
}

// chatBody is a chat request for a question, with further fields.
func chatBody(question string, fields ...string) string {
	return fmt.Sprintf(`{"model":"demo","messages":[{"role":"user","content":%q}]%s}`, question, joined(fields))
}

// promptBody is a completion request, with further fields.
func promptBody(prompt string, fields ...string) string {
	return fmt.Sprintf(`{"model":"demo","prompt":%q%s}`, prompt, joined(fields))
}

func joined(fields []string) string {
	out := ""
	for _, f := range fields {
		out += "," + f
	}
	return out
}

// events reads a streamed reply to its end: the data of each event, [DONE] last.
func events(t testing.TB, r io.Reader) []string {
	t.Helper()
	var out []string
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if s.Text() == "" {
			continue
		}
		data, ok := strings.CutPrefix(s.Text(), "data: ")
		if !ok {
			t.Fatalf("%q is no event", s.Text())
		}
		out = append(out, data)
	}
	return out
}

func parsed[T any](t testing.TB, data string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

// series is one line of the metrics page.
type series struct {
	name   string
	labels map[string]string
	value  float64
}

// page scrapes a recorder.
func page(t testing.TB, rec *metrics.Recorder) []series {
	t.Helper()
	w := do(metrics.HandlerFor(metrics.HandlerOptions{Recorder: rec, Auth: metrics.AuthOff}), "GET", "/metrics", "")
	if w.Code != 200 {
		t.Fatalf("the page has status %d", w.Code)
	}
	var out []series
	for line := range bytes.Lines(w.Body.Bytes()) {
		if line[0] == '#' {
			continue
		}
		at := bytes.LastIndexByte(bytes.TrimSpace(line), ' ')
		v, err := strconv.ParseFloat(string(bytes.TrimSpace(line[at:])), 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		s := series{labels: map[string]string{}, value: v}
		name, text, _ := strings.Cut(string(line[:at]), "{")
		s.name = name
		for pair := range strings.SplitSeq(strings.TrimSuffix(text, "}"), ",") { // no label's value has a comma
			if label, value, ok := strings.Cut(pair, "="); ok {
				s.labels[label] = strings.Trim(value, `"`)
			}
		}
		out = append(out, s)
	}
	return out
}

// sum adds the samples of a name that have the labels given: name, value, ….
func sum(samples []series, name string, labels ...string) float64 {
	total := 0.0
next:
	for _, s := range samples {
		if s.name != name {
			continue
		}
		for i := 0; i < len(labels); i += 2 {
			if s.labels[labels[i]] != labels[i+1] {
				continue next
			}
		}
		total += s.value
	}
	return total
}

// settle waits until an engine is idle with its pages free, and checks its books.
func settle(t testing.TB, e *engine.Engine) engine.Stats {
	t.Helper()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		s := e.Stats()
		if err := metrics.CheckBooks(&s); err != nil {
			t.Fatal(err)
		}
		if s.Running == 0 && s.WaitingTotal() == 0 {
			if s.PagesUsed != 0 {
				t.Fatalf("idle with %d pages used", s.PagesUsed)
			}
			return s
		}
	}
	t.Fatal("the engine did not become idle")
	return engine.Stats{}
}
