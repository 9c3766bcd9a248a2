package metrics

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Over a real server: HEAD and GET agree, and a client that offers gzip gets it.
func TestHeadGetAndGzip(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{})
	mux := http.NewServeMux()
	mux.Handle("/metrics", HandlerFor(HandlerOptions{Recorder: r}))
	server := httptest.NewServer(mux)
	defer server.Close()
	do := func(method, encoding string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequest(method, server.URL+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", encoding)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(body)
	}
	get, page := do(http.MethodGet, "identity")
	if get.ContentLength != int64(len(page)) || get.Header.Get("Content-Encoding") != "" || len(page) == 0 {
		t.Errorf("GET: length %d, body %d, encoding %q", get.ContentLength, len(page), get.Header.Get("Content-Encoding"))
	}
	head, none := do(http.MethodHead, "identity")
	if head.StatusCode != 200 || none != "" || head.Header.Get("Content-Length") != strconv.Itoa(len(page)) ||
		head.Header.Get("Content-Type") != get.Header.Get("Content-Type") {
		t.Errorf("HEAD: %d, %d bytes, %v", head.StatusCode, len(none), head.Header)
	}
	zipped, small := do(http.MethodGet, "br, gzip;q=0.5")
	if zipped.Header.Get("Content-Encoding") != "gzip" || len(small) >= len(page)/4 {
		t.Fatalf("gzip: encoding %q, %d bytes of %d", zipped.Header.Get("Content-Encoding"), len(small), len(page))
	}
	z, err := gzip.NewReader(strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := io.ReadAll(z); err != nil || string(plain) != page {
		t.Errorf("gzip: another page came out, %v", err)
	}
}

func TestRefusals(t *testing.T) {
	for _, row := range []struct {
		rec    *Recorder
		method string
		status int
	}{
		{Off, http.MethodGet, http.StatusNotFound},
		{newTestRecorder(RecorderOptions{}), http.MethodPost, http.StatusMethodNotAllowed},
		{newTestRecorder(RecorderOptions{}), "BREW", http.StatusMethodNotAllowed},
	} {
		w := httptest.NewRecorder()
		HandlerFor(HandlerOptions{Recorder: row.rec}).ServeHTTP(w, fromHere(row.method, "/metrics"))
		var body struct {
			Error struct{ Type, Message string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Error.Type == "" || body.Error.Message == "" {
			t.Errorf("%s: body %q, %v", row.method, w.Body, err)
		}
		if w.Code != row.status || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %q, want %d", row.method, w.Code, w.Header().Get("Content-Type"), row.status)
		}
		if row.status == http.StatusMethodNotAllowed && w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: Allow is %q", row.method, w.Header().Get("Allow"))
		}
	}
}

func TestCallersFamiliesAreOnThePage(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{})
	own := prometheus.NewRegistry()
	jobs := prometheus.NewCounter(prometheus.CounterOpts{Name: "shop_jobs_total", Help: "Jobs."})
	clash := prometheus.NewGauge(prometheus.GaugeOpts{Name: "paddock_num_requests_in_flight", Help: "Not ours."})
	own.MustRegister(jobs, clash)
	jobs.Add(4)
	clash.Set(99)
	broken := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { panic("theirs") })
	h := HandlerFor(HandlerOptions{Recorder: r, Gatherers: []prometheus.Gatherer{broken, own}, Runtime: true})
	page := get(t, h)
	s := parse(t, page)
	s.want(t, "shop_jobs_total", 4)
	s.want(t, "paddock_num_requests_in_flight", 2)
	s.want(t, "process_start_time_seconds", 1700000000.25) // ours, not the process collector's
	if _, ok := s["go_goroutines"]; !ok {
		t.Error("go_goroutines is missing")
	}
	if r.Faults() != 1 {
		t.Errorf("%d faults, want the broken gatherer's", r.Faults())
	}
	for name := range strings.Lines(page) {
		if strings.HasPrefix(name, "# TYPE ") && strings.Count(page, name) != 1 {
			t.Errorf("%q is there more than once", name)
		}
	}
	if _, ok := scrapeOf(t, r)["go_goroutines"]; ok {
		t.Error("go_goroutines without having been asked for")
	}
}

// A page that can't be made is a status, never half a page.
func TestPageThatPanicsIsAnError(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{})
	r.models = append(r.models, nil)
	w := httptest.NewRecorder()
	HandlerFor(HandlerOptions{Recorder: r, Auth: AuthOff}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "gen_ai") || r.Faults() != 1 {
		t.Errorf("%d, %d faults: %.200s", w.Code, r.Faults(), w.Body)
	}
}
