// Command frontend is a serving frontend of its own design over an Engine and a
// Scheduler that it made: a plain-text protocol over HTTP, where two classes of
// callers share one model and the paying ones go first.
//
//	POST /say?tier=gold|free     body: a question; reply: the answer as it comes
//	GET  /load                   who runs and who waits
//	GET  /metrics
//
// Its questions are in the metrics as those of the API are: InferenceRoute makes a
// route of one's own an inference route, so that refusals, hang-ups and latencies
// from the request's head on are counted too.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/examples/demo"
	"github.com/paddock-go/paddock/kvcache"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// tiers are the classes of callers: a priority each, and a share of their own.
var tiers = map[string]int{"gold": 10, "free": 0}

func main() {
	addr := flag.String("addr", "127.0.0.1:8081", "address to listen on")
	flag.Parse()
	f, err := newFrontend(metrics.Default())
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	srv := &http.Server{Addr: *addr, Handler: f.mux(), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { srv.Close() })
	fmt.Printf("try: curl -N --data 'What is a KV page?' 'http://%s/say?tier=gold'\n", *addr)
	err = srv.ListenAndServe()
	if err := f.eng.Close(); err != nil {
		log.Print(err)
	}
	if err != http.ErrServerClosed {
		log.Fatal(err)
	}
}

// frontend is the engine with the protocol around it.
type frontend struct {
	eng *paddock.Engine
	rec *metrics.Recorder
}

// newFrontend makes the scheduler itself: at most 8 sequences in a step, at most
// 16 requests waiting, 1,024 pages, and steps of 20 ms so that long questions
// don't hold short ones up.
func newFrontend(rec *metrics.Recorder) (*frontend, error) {
	pool, err := kvcache.New(1024, kvcache.DefaultPageSize)
	if err != nil {
		return nil, err
	}
	s := sched.New(pool, sched.Limits{MaxTokens: 256, MaxSequences: 8, MaxQueue: 16, MaxStepTime: 20 * time.Millisecond})
	eng, err := paddock.OpenFS(demo.Files, demo.Name, paddock.Options{Name: "demo", Scheduler: s, Metrics: rec})
	if err != nil {
		return nil, err
	}
	return &frontend{eng: eng, rec: rec}, nil
}

func (f *frontend) mux() http.Handler {
	mux := http.NewServeMux()
	// Without a method in the pattern: say refuses others itself, and is seen to.
	mux.Handle("/say", metrics.InferenceRoute(f.eng.MetricsModel(), metrics.Chat, http.HandlerFunc(f.say)))
	mux.HandleFunc("GET /load", f.load)
	mux.Handle("GET /metrics", metrics.HandlerFor(metrics.HandlerOptions{Recorder: f.rec}))
	return metrics.InstrumentHTTP(f.rec, mux)
}

// say streams an answer as plain text.
func (f *frontend) say(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST a question", http.StatusMethodNotAllowed)
		return
	}
	tier := r.URL.Query().Get("tier")
	priority, ok := tiers[tier]
	if !ok {
		http.Error(w, "tier must be gold or free", http.StatusBadRequest)
		return
	}
	rec := metrics.FromContext(r.Context()) // nil where metrics and events are off
	if rec != nil {
		rec.Stream, rec.Tenant = true, tier
	}
	finish := func() { f.eng.MetricsModel().Finish(rec) }
	question, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4096))
	if err != nil {
		http.Error(w, "a question has at most 4096 bytes", http.StatusRequestEntityTooLarge)
		return
	}
	s, err := f.eng.Submit(r.Context(), paddock.Request{
		Messages:  []paddock.Message{{Role: "user", Content: string(question)}},
		MaxTokens: 128, Priority: priority, Tenant: tier,
	})
	var full *paddock.QueueFullError
	switch {
	case errors.As(err, &full):
		w.Header().Set("Retry-After", strconv.Itoa(int(full.RetryAfter.Seconds())))
		http.Error(w, err.Error(), http.StatusTooManyRequests)
		return
	case errors.As(err, new(*paddock.RequestError)), errors.As(err, new(*paddock.ContextError)), errors.As(err, new(*paddock.PagesError)):
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case err != nil: // draining, closed, a device that failed
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	flush := http.NewResponseController(w)
	for tok, err := range s.All() { // leaving the loop cancels the request
		if err != nil {
			finish() // as the engine said it, before the last line is sent
			fmt.Fprintf(w, "\n[%v]\n", err)
			return
		}
		if _, err := io.WriteString(w, tok.Text); err != nil || flush.Flush() != nil {
			return
		}
	}
	finish() // who has read the last line finds it in the metrics
	io.WriteString(w, "\n")
}

// load shows the engine's own numbers.
func (f *frontend) load(w http.ResponseWriter, _ *http.Request) {
	s := f.eng.Stats()
	fmt.Fprintf(w, "running %d\nwaiting %d\npages used %d of %d\n", s.Running, s.WaitingTotal(), s.PagesUsed, s.PagesTotal)
}
