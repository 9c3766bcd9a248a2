package metrics

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// A pedantic registry holds every sample against the labels that its descriptor promises, a success's duration too.
func TestPedanticRegistryTakesTheRecorder(t *testing.T) {
	for _, o := range []RecorderOptions{{}, {Resource: true, NativeHistograms: true, Buckets: SpecBuckets()}} {
		r, m := busyRecorder(t, o)
		m.Finish(traced(1, 10*ms))
		registry := prometheus.NewPedanticRegistry()
		if err := registry.Register(r); err != nil {
			t.Fatal(err)
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		with, without := 0, 0
		for _, f := range families {
			if f.GetName() != "gen_ai_server_request_duration_seconds" {
				continue
			}
			for _, m := range f.Metric {
				if hasLabel(m.Label, "error_type") {
					with++
				} else {
					without++
				}
			}
		}
		if with != 2 || without != NumOrigins {
			t.Errorf("%d durations with error_type, %d without; want 2 and %d", with, without, NumOrigins)
		}
		wrapped := prometheus.NewPedanticRegistry()
		prometheus.WrapRegistererWithPrefix("shop_", prometheus.WrapRegistererWith(prometheus.Labels{"zone": "a"}, wrapped)).MustRegister(r)
		if _, err := wrapped.Gather(); err != nil {
			t.Error(err)
		}
		if !registry.Unregister(r) {
			t.Error("it can't be taken off the registry")
		}
	}
}

// On the caller's registry, through the caller's handler, exemplars and native histograms are there too.
func TestCallersRegistryShowsExemplarsAndNativeHistograms(t *testing.T) {
	r := newTestRecorder(RecorderOptions{NativeHistograms: true})
	m := mustOpen(t, r, "m", nil, Chat)
	m.Finish(traced(7, 15*ms))
	registry := prometheus.NewRegistry()
	registry.MustRegister(r)
	h := promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})

	req := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	req.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if n := strings.Count(w.Body.String(), `# {trace_id="`+traceText(7)+`"`); n != 3 {
		t.Errorf("%d exemplars on the page, want one in each of the three histograms:\n%s", n, w.Body)
	}
	req.Header.Set("Accept", delimited)
	w = httptest.NewRecorder()
	h.ServeHTTP(w, req)
	found := 0
	for _, f := range decode(t, w.Body.Bytes()) {
		for _, m := range f.Metric {
			if m.Histogram.GetSchema() == nativeSchema && len(m.Histogram.PositiveDelta) > 0 {
				found++
			}
		}
	}
	if found != 3 {
		t.Errorf("%d native histograms with buckets, want 3", found)
	}
}

func histogramOf(t testing.TB, r *Recorder, family string, match func(*dto.Metric) bool) *dto.Histogram {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != family {
			continue
		}
		for _, m := range f.Metric {
			if match(m) {
				return m.Histogram
			}
		}
	}
	t.Fatalf("no %s", family)
	return nil
}
