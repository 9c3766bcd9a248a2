package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// fetch gets the page in a format.
func fetch(t testing.TB, h http.Handler, accept string) []byte {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	req.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// decode reads a protobuf page.
func decode(t testing.TB, page []byte) (families []*dto.MetricFamily) {
	t.Helper()
	d := expfmt.NewDecoder(bytes.NewReader(page), expfmt.NewFormat(expfmt.TypeProtoDelim))
	for {
		f := new(dto.MetricFamily)
		if err := d.Decode(f); errors.Is(err, io.EOF) {
			return families
		} else if err != nil {
			t.Fatal(err)
		}
		families = append(families, f)
	}
}

// parseOM reads an OpenMetrics page as parse does a classic one, numbers in labels written as in classic text.
func parseOM(t testing.TB, page string) series {
	t.Helper()
	var classic strings.Builder
	for line := range strings.Lines(page) {
		if line[0] == '#' {
			continue
		}
		line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " # ")
		if before, after, ok := strings.Cut(line, `le="`); ok {
			bound, rest, _ := strings.Cut(after, `"`)
			v, err := strconv.ParseFloat(bound, 64)
			if err != nil {
				t.Fatal(err)
			}
			line = before + `le="` + string(appendFloat(nil, v, false)) + `"` + rest
		}
		classic.WriteString(line + "\n")
	}
	return parse(t, classic.String())
}

// One page in three formats: the same samples, in the same order.
func TestFormatsCarryTheSameSamples(t *testing.T) {
	r, m := busyRecorder(t, RecorderOptions{NativeHistograms: true})
	m.Finish(traced(1, 30*ms))
	m.Finish(traced(2, 90e9))
	own := prometheus.NewRegistry()
	jobs := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "shop_jobs_total", Help: "Jobs."}, []string{"kind"})
	own.MustRegister(jobs)
	jobs.WithLabelValues("a\"\\\n").Add(4e6)
	h := HandlerFor(HandlerOptions{Recorder: r, VLLM: true, Gatherers: []prometheus.Gatherer{own}, Auth: AuthOff})

	classic := string(fetch(t, h, "*/*"))
	om := string(fetch(t, h, "application/openmetrics-text;version=1.0.0"))
	families := decode(t, fetch(t, h, delimited))
	if want, got := parse(t, classic), parseOM(t, om); len(want) != len(got) {
		t.Errorf("%d samples in classic text, %d in OpenMetrics", len(want), len(got))
	} else {
		for name, v := range want {
			got.want(t, name, v)
		}
	}
	var again bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&again, f); err != nil {
			t.Fatal(err)
		}
	}
	if again.String() != classic {
		t.Error("protobuf, written as classic text, is another page")
	}

	// Order: families as in classic text, whose names OpenMetrics shortens.
	var a, b []string
	for line := range strings.Lines(classic) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(strings.TrimSpace(name), " ")
			if kind == "counter" {
				name = strings.TrimSuffix(name, "_total")
			}
			a = append(a, name)
		}
	}
	for line := range strings.Lines(om) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ = strings.Cut(name, " ")
			b = append(b, name)
		}
	}
	if strings.Join(a, " ") != strings.Join(b, " ") {
		t.Errorf("families in classic text\n%v\nin OpenMetrics\n%v", a, b)
	}
	if n := strings.Count(om, "# {trace_id="); n != 6 {
		t.Errorf("%d exemplars in OpenMetrics, want 6", n)
	}
	if strings.Contains(classic, "trace_id") || strings.Contains(classic, "# UNIT") || strings.Contains(om, "_created") {
		t.Error("classic text has exemplars or units, or OpenMetrics has _created")
	}
	if r.Faults() != 0 {
		t.Errorf("%d faults", r.Faults())
	}
}

// HEAD says what GET says, in every format and encoding, and has no body.
func TestHeadIsGetWithoutABody(t *testing.T) {
	r, m := busyRecorder(t, RecorderOptions{NativeHistograms: true})
	m.Finish(traced(1, 30*ms))
	h := HandlerFor(HandlerOptions{Recorder: r, VLLM: true, Auth: AuthOff})
	for _, accept := range []string{"*/*", prometheus242, prometheus242Native} {
		for _, encoding := range []string{"", "gzip"} {
			do := func(method string) *httptest.ResponseRecorder {
				req := httptest.NewRequest(method, "/v1/metrics", nil)
				req.Header.Set("Accept", accept)
				req.Header.Set("Accept-Encoding", encoding)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, req)
				return w
			}
			get, head := do(http.MethodGet), do(http.MethodHead)
			if head.Body.Len() != 0 || head.Code != get.Code || fmt.Sprint(head.Header()) != fmt.Sprint(get.Header()) ||
				get.Header().Get("Content-Length") != strconv.Itoa(get.Body.Len()) || get.Header().Get("Content-Encoding") != encoding {
				t.Errorf("%s, %q: GET %d %v with %d bytes, HEAD %d %v with %d", accept, encoding, get.Code, get.Header(), get.Body.Len(),
					head.Code, head.Header(), head.Body.Len())
			}
		}
	}
}

// A page before it leaves nothing in a page, whatever their formats, recorders and sizes.
func TestPagesShareMemoryAndNothingElse(t *testing.T) {
	small := newTestRecorder(RecorderOptions{})
	mustOpen(t, small, "small", nil, Embeddings)
	large, m := busyRecorder(t, RecorderOptions{NativeHistograms: true})
	m.Finish(traced(1, 30*ms))
	m.Finish(traced(2, 100*time.Second))
	var w pageWriter
	w.fault = noFault(t)
	for _, r := range []*Recorder{small, large, small, large} {
		for f := range formats {
			fresh := pageWriter{fault: noFault(t)}
			want := string(formats[f].write(&fresh, fresh.families(r)))
			if got := string(formats[f].write(&w, w.families(r))); got != want {
				t.Errorf("format %d: another page", f)
			}
		}
	}
}

func (w *pageWriter) families(r *Recorder) []*dto.MetricFamily {
	return r.gatherInto(&w.scrape, writeVLLM)
}

// The seed's three families as OpenMetrics has them, with their exemplars.
func TestOpenMetricsPageIsGolden(t *testing.T) {
	o := RecorderOptions{}
	o.test.wall = func() time.Time { return time.Unix(1700000090, 250_000_000) }
	r := newTestRecorder(o)
	m := mustOpen(t, r, "tiny", nil, Chat)
	m.Finish(traced(1, 30*ms))
	m.Finish(traced(2, 100*time.Second))
	failed := traced(3, 50*ms)
	failed.Fail = EngineError
	m.Finish(failed)
	var part strings.Builder
	for line := range strings.Lines(string(fetch(t, HandlerFor(HandlerOptions{Recorder: r, Auth: AuthOff}), "application/openmetrics-text;version=1.0.0"))) {
		if strings.Contains(line, "gen_ai_server_") || line == "# EOF\n" {
			part.WriteString(line)
		}
	}
	golden(t, "testdata/openmetrics.txt", []byte(part.String()))
}

// Summaries of the runtime are histograms without bounds, whose help says so; nothing of ours is NaN.
func TestRuntimeHasNoSummary(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{})
	h := HandlerFor(HandlerOptions{Recorder: r, Runtime: true, Auth: AuthOff})
	for _, accept := range []string{"*/*", "application/openmetrics-text;version=1.0.0"} {
		page := string(fetch(t, h, accept))
		if !strings.Contains(page, "# TYPE go_gc_duration_seconds histogram\n") || !strings.Contains(page, `go_gc_duration_seconds_bucket{le="+Inf"} `) ||
			!strings.Contains(page, "\ngo_gc_duration_seconds_sum ") || !strings.Contains(page, "\ngo_gc_duration_seconds_count ") {
			t.Errorf("%s: go_gc_duration_seconds is no histogram", accept)
		}
		for _, word := range []string{" summary\n", "quantile=", "A summary", "NaN"} {
			if strings.Contains(page, word) {
				t.Errorf("%s: the page has %q", accept, word)
			}
		}
		if !strings.Contains(page, "\ngo_memstats_alloc_bytes_total ") || !strings.Contains(page, "\ngo_memstats_alloc_bytes ") {
			t.Errorf("%s: a gauge and a counter of one name are not both there", accept)
		}
	}
	if r.Faults() != 0 {
		t.Errorf("%d faults", r.Faults())
	}
}

func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}
