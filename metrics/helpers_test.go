package metrics

import (
	"bytes"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "rewrite METRICS.md and testdata from the code; read the diff before you commit it")

// newTestRecorder has a clock that stands still, a fixed build and start, and no log.
func newTestRecorder(o RecorderOptions) *Recorder {
	o.ServiceInstanceID = "00000000-0000-4000-8000-000000000000"
	o.test.now = func() time.Duration { return 90 * time.Second }
	o.test.build = &build{version: "v1.2.3", commit: "0123456789ab", goVersion: "go1.26.0"}
	o.test.start = 1700000000.25
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	return NewRecorder(o)
}

// fixedSource hands out one snapshot.
type fixedSource Snapshot

func (f *fixedSource) Snapshot(s *Snapshot) { *s = Snapshot(*f) }

// funcSource is a function as a Source.
type funcSource func(*Snapshot)

func (f funcSource) Snapshot(s *Snapshot) { f(s) }

// published is a Source as an engine is one: each state is stored whole.
type published struct{ p atomic.Pointer[Snapshot] }

func (p *published) publish(s Snapshot) { p.p.Store(&s) }
func (p *published) Snapshot(s *Snapshot) {
	if v := p.p.Load(); v != nil {
		*s = *v
	}
}

func mustOpen(t testing.TB, r *Recorder, name string, source Source, serves ...Operation) *Model {
	t.Helper()
	m, err := r.OpenModel(name, serves, source)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// fromHere is a request of this machine, which the page is open to.
func fromHere(method, path string) *http.Request {
	req := httptest.NewRequest(method, path, nil)
	req.RemoteAddr = "127.0.0.1:9"
	return req
}

// get fetches the page as a plain scraper does.
func get(t testing.TB, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, fromHere(http.MethodGet, "/metrics"))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// series is a page as sample → value, with the sample as it is printed: name{labels}.
type series map[string]float64

func parse(t testing.TB, page string) series {
	t.Helper()
	out := series{}
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			t.Fatalf("sample %q: %v", line, err)
		}
		if _, twice := out[line[:i]]; twice {
			t.Fatalf("sample %q is there twice", line[:i])
		}
		out[line[:i]] = v
	}
	return out
}

func scrapeOf(t testing.TB, r *Recorder) series {
	t.Helper()
	return parse(t, get(t, HandlerFor(HandlerOptions{Recorder: r})))
}

// want fails unless the sample is there with the value.
func (s series) want(t testing.TB, sample string, v float64) {
	t.Helper()
	got, ok := s[sample]
	if !ok {
		t.Errorf("%s: no such sample, want %v", sample, v)
	} else if got != v {
		t.Errorf("%s is %v, want %v", sample, got, v)
	}
}

// absent fails if any sample begins so.
func (s series) absent(t testing.TB, prefix string) {
	t.Helper()
	for name := range s {
		if strings.HasPrefix(name, prefix) {
			t.Errorf("%s: is there, want none", name)
		}
	}
}

// golden holds got against a file of the package, or writes the file.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s differs at line %d (go test ./metrics -rewrite makes it anew):\n got %q\nwant %q", file, i+1, g[i], at(w, i))
		}
	}
	t.Fatalf("%s has %d lines, got %d", file, len(w), len(g))
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end of file)"
}

// base is the label block of a request's series, without braces.
func base(op Operation, model string, or Origin) string {
	return `gen_ai_operation_name="` + op.String() + `",gen_ai_provider_name="paddock",gen_ai_request_model="` + model + `",origin="` + or.String() + `"`
}

const ms = time.Millisecond

// finished is a request that succeeded: arrival 1 s, queued 2 ms later, scheduled 20 ms after arrival, first token at 100 ms, then
// one every 10 ms.
func finished(op Operation, or Origin, tokens int) *Record {
	rec := &Record{Operation: op, Origin: or, PromptTokens: 100, CachedTokens: 32, Finish: Stop,
		Arrival: time.Second, Queued: time.Second + 2*ms, Scheduled: time.Second + 20*ms}
	rec.Open(1)
	for i := range tokens {
		rec.Token(0, time.Second+100*ms+time.Duration(i)*10*ms, 1)
	}
	rec.Finished = rec.Last + ms
	return rec
}
