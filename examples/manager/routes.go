package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/paddock-go/paddock/examples/studio"
	"github.com/paddock-go/paddock/metrics"
	"github.com/prometheus/client_golang/prometheus"
)

// routes is everything that the manager answers.
func (m *manager) routes() http.Handler {
	mux := http.NewServeMux()
	watch := studio.Handler(studio.Options{Manager: true}) // without data, and so open; what it reads isn't
	mux.Handle("/{$}", watch)
	mux.Handle("/studio/", watch)
	mux.Handle("/studio", watch)
	for path, status := range map[string]string{"/healthz": "ok", "/readyz": "ready"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"status":%q}`+"\n", status)
		})
	}
	page := m.metrics(true, m.config.dcgmNames)
	mux.Handle("/metrics", page)
	mux.Handle("/metrics/{$}", page)

	api := http.NewServeMux()
	api.Handle("/api/gpu", answer("", func(*http.Request, url.Values) (any, error) {
		a, _ := m.gpus.now()
		return a, nil
	}))
	api.Handle("/api/gpu/stream", readOnly(m.stream))
	api.Handle("/api/runners", answer("", func(*http.Request, url.Values) (any, error) {
		return map[string]any{"runners": m.fleet.states()}, nil
	}))
	api.Handle("/api/runners/{id}/activity", answer("limit", m.answerActivity))
	api.Handle("/api/usage", answer("from to step runner", m.answerUsage))
	api.Handle("/api/runners/{id}/v1/{path...}", m.relay)
	api.Handle("/api/runners/{id}/api/{path...}", m.relay)
	api.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "not_found", "there is no such path; there are /api/gpu, /api/runners and /api/usage")
	})
	mux.Handle("/api/", metrics.Protect(m.config.page(), api))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "not_found", "there is no such path")
	})
	return guard(mux, m.config.addr)
}

// guard keeps pages of other sites out; addr, where the manager listens, names this machine too.
func guard(h http.Handler, addr string) http.Handler {
	host, _, _ := net.SplitHostPort(addr) // one that can't be read isn't listened on
	return studio.Guard(h, host)
}

// dcgmRoutes is the page with dcgm-exporter's names alone.
func (m *manager) dcgmRoutes() http.Handler {
	mux := http.NewServeMux()
	page := m.metrics(false, true)
	mux.Handle("/metrics", page)
	mux.Handle("/metrics/{$}", page)
	mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	return guard(mux, m.config.dcgmAddr)
}

// metrics is a page with the GPUs under our names, under dcgm-exporter's, or both.
func (m *manager) metrics(own, dcgm bool) http.Handler {
	o := m.config.page()
	o.Recorder = metrics.NewRecorder(metrics.RecorderOptions{ServiceName: "paddock-manager", Events: -1, Logger: m.log})
	o.Runtime = own
	for page, on := range [numGPUPages]bool{pageOwn: own, pageDCGM: dcgm} {
		if on {
			o.Gatherers = append(o.Gatherers, []prometheus.Gatherer{m.gpus.gatherer(page)}...)
		}
	}
	return metrics.HandlerFor(o)
}

// The most events that one answer shows, and what it shows unless asked.
const (
	maxActivity     = 2000
	defaultActivity = 100
)

func (m *manager) answerActivity(req *http.Request, q url.Values) (any, error) {
	limit := defaultActivity
	if s := q.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxActivity {
			return nil, &queryError{fmt.Errorf("parameter limit is %.32q, give 1 to %d", s, maxActivity)}
		}
		limit = n
	}
	a, err := m.history.activity(req.PathValue("id"), limit)
	if err == nil && len(a.Events) == 0 && m.fleet.find(a.Runner) == nil {
		return nil, &notFoundError{"there is no such runner; GET /api/runners lists them"}
	}
	return a, err
}

func (m *manager) answerUsage(_ *http.Request, q url.Values) (any, error) {
	now := m.history.now().Unix()
	to, err := parseTime(q, "to", now+1)
	if err != nil {
		return nil, err
	}
	from, err := parseTime(q, "from", to-3600)
	if err != nil {
		return nil, err
	}
	if from >= to {
		return nil, &queryError{fmt.Errorf("from (%d) must be before to (%d)", from, to)}
	}
	g, err := grainFor(q.Get("step"), from, now)
	if err != nil {
		return nil, &queryError{err}
	}
	return m.history.usage(usageQuery{from: from, to: to, grain: g, runner: q.Get("runner"), looked: m.fleet.looked()})
}
