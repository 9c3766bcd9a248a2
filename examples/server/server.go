package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/examples/demo"
	"github.com/paddock-go/paddock/examples/studio"
	"github.com/paddock-go/paddock/metrics"
)

// drainTime is how long running requests may go on after a signal.
const drainTime = 15 * time.Second

// run serves until ctx ends, then drains. It prints the address and a line to try
// on out once requests are taken.
func run(ctx context.Context, c *config, out io.Writer) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: c.level}))
	listener, err := net.Listen("tcp", c.addr)
	if err != nil {
		return err
	}
	rec := recorder(c, log)
	// The port answers while the model loads: alive, not ready, and scrapers find
	// their page.
	var api latest
	api.set(http.HandlerFunc(whileLoading))
	polls, endPolls := context.WithCancel(context.Background())
	defer endPolls()
	srv := server(routes(rec, c, &api), log)
	srv.BaseContext = func(net.Listener) context.Context { return polls }
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	defer srv.Close()

	eng, err := open(c, rec, log)
	if err != nil {
		return err
	}
	defer eng.close()
	names := c.names
	if len(names) == 0 {
		names = []string{eng.Name()}
	}
	api.set(paddock.NewHandlerWith(eng.Engine, paddock.HandlerOptions{Key: c.key, RequireKey: true, BehindProxy: len(c.proxies) > 0, Names: names}))

	url := "http://" + listener.Addr().String()
	fmt.Fprintln(out, eng.Model()) // its lines, and an empty one
	fmt.Fprintf(out, "--device %s took %s\n", c.device, eng.why)
	fmt.Fprintf(out, "paddock serves %s on %s\n\ntry:\n  %s\n", names[0], url, tryLine(url, names[0], eng.Engine))

	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	log.Info("draining", "at_most", drainTime)
	limit, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if err := eng.Drain(limit); err != nil {
		log.Warn("some requests were cancelled", "err", err)
	}
	// The engine holds nothing any more: what is left is to write the last bytes, and
	// to send those home who wait for events.
	endPolls()
	flush, cancelFlush := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancelFlush()
	if err := srv.Shutdown(flush); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// sendTime is how long a request may take to arrive, its body too, whether or not
// anything reads that. The API gives bodies as much from where it begins.
const sendTime = 30 * time.Second

func server(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       sendTime,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// recorder makes what the flags leave on: metrics, events, and a line of numbers
// in the log.
func recorder(c *config, log *slog.Logger) *metrics.Recorder {
	o := metrics.RecorderOptions{NoMetrics: c.noPage, Logger: log, StatLoggers: []metrics.StatLogger{metrics.LogStats(log)}}
	if c.noEvents {
		o.Events = -1
	}
	return metrics.NewRecorder(o)
}

// open loads the model that the flags name.
func open(c *config, rec *metrics.Recorder, log *slog.Logger) (*placed, error) {
	o := paddock.Options{
		Threads: c.threads, PanelCache: c.panels, MaxContext: c.maxCtx, KVPages: c.kvPages, KVType: c.kvType, Logger: log, Metrics: rec,
		Limits: paddock.Limits{MaxSequences: c.maxBatch, MaxQueue: c.maxQueue, MaxTokens: max(512, c.maxBatch)},
		Spec:   paddock.Spec{NGram: c.ngram},
	}
	if len(c.names) > 0 {
		o.Name = c.names[0]
	}
	p := &placer{device: c.device, log: log, find: gpus, open: func(o paddock.Options) (*paddock.Engine, error) {
		if c.model == "" {
			return paddock.OpenFS(demo.Files, demo.Name, o)
		}
		return paddock.Open(c.model, o)
	}}
	return p.place(o)
}

// routes is everything that the server answers, from its start to its end.
func routes(rec *metrics.Recorder, c *config, api http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", api)
	page := metrics.HandlerFor(c.page(rec))
	for _, path := range []string{"/metrics", "/metrics/{$}", "/v1/metrics"} {
		mux.Handle(path, page)
	}
	mux.Handle("/api/", metrics.APIHandler(c.page(rec)))
	watch := studio.Handler(c.studio()) // without data, and so open; what it reads isn't
	for _, path := range []string{"/{$}", "/studio/", "/studio"} {
		mux.Handle(path, watch)
	}
	host, _, _ := net.SplitHostPort(c.addr) // one that can't be read isn't listened on
	return metrics.InstrumentHTTP(rec, studio.Guard(mux, host))
}

// latest is a handler that can be replaced while it serves.
type latest struct{ h atomic.Pointer[http.Handler] }

func (l *latest) set(h http.Handler) { l.h.Store(&h) }

func (l *latest) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*l.h.Load()).ServeHTTP(w, r) }

// whileLoading answers before there is an engine.
func whileLoading(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/healthz" {
		io.WriteString(w, `{"status":"ok"}`+"\n")
		return
	}
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
	io.WriteString(w, `{"error":{"message":"the model is being loaded","type":"server_error","param":null,"code":"loading"}}`+"\n")
}

// tryLine is a command that shows the server at work.
func tryLine(url, model string, e *paddock.Engine) string {
	if e.HasChat() {
		return fmt.Sprintf(`curl -N %s/v1/chat/completions -H 'Content-Type: application/json' -d '{"model":"%s","stream":true,"temperature":0,"messages":[{"role":"user","content":"What does paddock_kv_pages_used count?"}]}'`, url, model)
	}
	if e.EmbeddingSize() > 0 {
		return fmt.Sprintf(`curl %s/v1/embeddings -H 'Content-Type: application/json' -d '{"model":"%s","input":"Once upon a time"}'`, url, model)
	}
	if e.Ranks() {
		return fmt.Sprintf(`curl %s/v1/rerank -H 'Content-Type: application/json' -d '{"model":"%s","query":"Once","documents":["upon","a time"]}'`, url, model)
	}
	return fmt.Sprintf(`curl -N %s/v1/completions -H 'Content-Type: application/json' -d '{"model":"%s","stream":true,"temperature":0,"prompt":"Once upon a time","max_tokens":64}'`, url, model)
}
