package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// answered is what an engine does for a request under an edge: it takes the record, makes tokens, and gives it back.
func answered(rec *Record) {
	rec.held.claim()
	rec.Queued, rec.Scheduled = rec.Arrival, rec.Arrival
	rec.Open(1)
	rec.Token(0, rec.Arrival, 3)
	rec.Finish = Stop
	rec.Release()
}

// cancelled is a request whose context has ended.
func cancelled(err error) *http.Request {
	ctx, cancel := context.WithCancel(context.Background())
	if errors.Is(err, context.DeadlineExceeded) {
		ctx, cancel = context.WithDeadline(context.Background(), time.Unix(1, 0))
	}
	cancel()
	return httptest.NewRequest("POST", "/", nil).WithContext(ctx)
}

// brokenWriter fails at every write but the first ones.
type brokenWriter struct {
	*httptest.ResponseRecorder
	good int
	err  error
}

func (b *brokenWriter) Write(p []byte) (int, error) {
	if b.good--; b.good < 0 {
		return 0, b.err
	}
	return len(p), nil
}

func (b *brokenWriter) WriteString(s string) (int, error) { return b.Write([]byte(s)) }

// Every way in which an inference route of a caller's own can end: what is counted, once, with and without InstrumentHTTP around it.
func TestHowInferenceRoutesEnd(t *testing.T) {
	reset := fmt.Errorf("write: connection reset by peer")
	status := func(code int) http.HandlerFunc { return says(code, "{}") }
	for _, c := range []struct {
		name   string
		serve  http.HandlerFunc
		w      http.ResponseWriter
		req    *http.Request
		want   FailReason
		status int // in the record
		panics bool
	}{
		{"success", status(200), nil, nil, NoFail, 200, false},
		{"nothing written", func(http.ResponseWriter, *http.Request) {}, nil, nil, NoFail, 200, false},
		{"400", status(400), nil, nil, InvalidRequest, 400, false},
		{"401", status(401), nil, nil, Unauthorized, 401, false},
		{"403", status(403), nil, nil, InvalidRequest, 403, false},
		{"404", status(404), nil, nil, NotFound, 404, false},
		{"405", status(405), nil, nil, MethodNotAllowed, 405, false},
		{"413", status(413), nil, nil, TooLarge, 413, false},
		{"422", status(422), nil, nil, InvalidRequest, 422, false},
		{"429", status(429), nil, nil, QueueFull, 429, false},
		{"500", status(500), nil, nil, EngineError, 500, false},
		{"502", status(502), nil, nil, EngineError, 502, false},
		{"503", status(503), nil, nil, Draining, 503, false},
		{"504", status(504), nil, nil, Deadline, 504, false},
		{"the engine knows better", func(w http.ResponseWriter, req *http.Request) {
			FromContext(req.Context()).Fail = ContextLength
			w.WriteHeader(400)
		}, nil, nil, ContextLength, 400, false},
		{"failed after streaming began", func(w http.ResponseWriter, req *http.Request) {
			io.WriteString(w, "tok")
			FromContext(req.Context()).Fail = EngineError
			io.WriteString(w, "sorry")
		}, nil, nil, EngineError, 200, false},
		{"a write failed", status(200), &brokenWriter{httptest.NewRecorder(), 0, reset}, nil, Disconnect, 200, false},
		{"a later write failed", func(w http.ResponseWriter, req *http.Request) {
			io.WriteString(w, "a")
			w.Write([]byte("b"))
		}, &brokenWriter{httptest.NewRecorder(), 1, reset}, nil, Disconnect, 200, false},
		{"the handler's own mistake", status(200), &brokenWriter{httptest.NewRecorder(), 0, http.ErrContentLength}, nil, NoFail, 200, false},
		{"gone before an answer", func(http.ResponseWriter, *http.Request) {}, nil, cancelled(context.Canceled), Disconnect, 200, false},
		{"gone in the middle", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "12345")
		}, nil, cancelled(context.Canceled), Disconnect, 200, false},
		{"out of time", func(http.ResponseWriter, *http.Request) {}, nil, cancelled(context.DeadlineExceeded), Deadline, 200, false},
		{"gone after all of it", func(w http.ResponseWriter, req *http.Request) {
			answered(FromContext(req.Context()))
			io.WriteString(w, "all of it")
		}, nil, cancelled(context.Canceled), NoFail, 200, false},
		{"panic", func(http.ResponseWriter, *http.Request) { panic("theirs") }, nil, nil, EngineError, 0, true},
		{"abort", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); panic(http.ErrAbortHandler) }, nil, nil, EngineError, 200, true},
		{"abort of a client that had gone", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, cancelled(context.Canceled), Disconnect, 0, true},
	} {
		for _, instrumented := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/instrumented=%v", c.name, instrumented), func(t *testing.T) {
				r := newTestRecorder(RecorderOptions{})
				m := mustOpen(t, r, "m", nil, Chat)
				var rec *Record
				h := InferenceRoute(m, Chat, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					rec = FromContext(req.Context())
					if n := r.inFlight.Load(); n != 1 {
						t.Errorf("%d in flight", n)
					}
					c.serve(w, req)
				}))
				if instrumented {
					mux := http.NewServeMux()
					mux.Handle("/{$}", h)
					h = InstrumentHTTP(r, mux)
				}
				w, req := c.w, c.req
				if w == nil {
					w = httptest.NewRecorder()
				}
				if b, ok := w.(*brokenWriter); ok {
					copied := *b
					w = &copied
				}
				if req == nil {
					req = httptest.NewRequest("POST", "/", nil)
				}
				func() {
					defer func() {
						if p := recover(); (p != nil) != c.panics {
							t.Errorf("panic: %v", p)
						}
					}()
					h.ServeHTTP(w, req)
				}()
				if rec.Fail != c.want || rec.Status != c.status || !rec.over() || !strings.HasPrefix(rec.ID, "req-") {
					t.Errorf("fail %q, status %d, done %v, id %q; want %q, %d", rec.Fail, rec.Status, rec.over(), rec.ID, c.want, c.status)
				}
				if want := map[bool]string{true: "/{$}"}[instrumented]; rec.Route != want {
					t.Errorf("route %q, want %q", rec.Route, want)
				}
				s := scrapeOf(t, r)
				labels := base(Chat, "m", Live)
				if c.want != NoFail {
					s.want(t, "paddock_request_failure_total{"+labels+`,class="`+c.want.Class()+`",reason="`+c.want.String()+`"}`, 1)
					labels += `,error_type="` + c.want.ErrorType() + `"`
				} else {
					s.absent(t, "paddock_request_failure")
				}
				s.want(t, "gen_ai_server_request_duration_seconds_count{"+labels+"}", 1)
				s.want(t, "paddock_num_requests_in_flight", 0)
				if r.Faults() != 0 {
					t.Errorf("%d faults", r.Faults())
				}
			})
		}
	}
}

// The record is finished before the write that completes a body of declared length, and not before.
func TestFinishedBeforeTheLastByte(t *testing.T) {
	for _, how := range []string{"Write", "WriteString", "ReadFrom"} {
		r := newTestRecorder(RecorderOptions{})
		m := mustOpen(t, r, "m", nil, Chat)
		var rec *Record
		below := &spyWriter{ResponseRecorder: httptest.NewRecorder()}
		below.sees = func(sent int) {
			if done := rec.over(); done != (sent == 6) {
				t.Errorf("%s: done is %v before byte %d of 6 was on its way", how, done, sent)
			}
		}
		h := InstrumentHTTP(r, InferenceRoute(m, Chat, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			rec = FromContext(req.Context())
			answered(rec)
			w.Header().Set("Content-Length", "6")
			io.WriteString(w, "abc")
			switch how {
			case "Write":
				w.Write([]byte("def"))
			case "WriteString":
				io.WriteString(w, "def")
			case "ReadFrom":
				io.Copy(w, struct{ io.Reader }{strings.NewReader("def")})
			}
		})))
		h.ServeHTTP(below, httptest.NewRequest("POST", "/", nil))
		if below.Body.String() != "abcdef" || rec.Fail != NoFail || rec.Status != 200 {
			t.Errorf("%s: %q, fail %q, status %d", how, below.Body, rec.Fail, rec.Status)
		}
		scrapeOf(t, r).want(t, "paddock_request_success_total{"+base(Chat, "m", Live)+`,finish_reason="stop"}`, 1)
	}
}

type spyWriter struct {
	*httptest.ResponseRecorder
	sent int
	sees func(sent int)
}

func (s *spyWriter) Write(p []byte) (int, error) {
	s.sent += len(p)
	s.sees(s.sent)
	return s.ResponseRecorder.Write(p)
}

func (s *spyWriter) WriteString(p string) (int, error) { return s.Write([]byte(p)) }

// A handler that outlives its edge, as under http.TimeoutHandler, ends its record itself, and nobody touches it at the same time.
func TestHandlerOutlivesItsEdge(t *testing.T) {
	for _, who := range []string{"handler", "engine"} {
		r := newTestRecorder(RecorderOptions{})
		m := mustOpen(t, r, "m", nil, Chat)
		var rec *Record
		began, gone, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		route := InferenceRoute(m, Chat, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			rec = FromContext(req.Context())
			work := func() {
				close(began)
				<-gone
				rec.Token(0, 91*time.Second, 1)
				rec.Fail = Deadline // as the engine says when the context ends
			}
			if who == "handler" {
				work()
				return
			}
			rec.Hold() // the handler gives a stream up without closing it
			go func() {
				work()
				rec.Release()
				close(ended)
			}()
		}))
		limit, reached := context.WithCancel(context.Background())
		detached := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { // http.TimeoutHandler without its clock
			if who == "engine" {
				route.ServeHTTP(w, req)
				return
			}
			go func() {
				defer close(ended)
				route.ServeHTTP(struct{ http.ResponseWriter }{httptest.NewRecorder()}, req)
			}()
			<-limit.Done()
			w.WriteHeader(503)
		})
		go func() { <-began; reached() }()
		served(InstrumentHTTP(r, detached), "POST", "/", "")
		if n := r.inFlight.Load(); n != 1 {
			t.Errorf("%s: %d in flight while it is held", who, n)
		}
		close(gone)
		<-ended
		s := scrapeOf(t, r)
		s.want(t, "paddock_request_failure_total{"+base(Chat, "m", Live)+`,class="5xx",reason="deadline"}`, 1)
		s.want(t, "paddock_num_requests_in_flight", 0)
		if !rec.over() {
			t.Errorf("%s: not finished", who)
		}
	}
}

// Whoever is last, and only that one, ends a record: holders and the edge in every order, under the race detector.
func TestLastOneEndsTheRecord(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	const rounds = 300
	for range rounds {
		rec := &Record{Edge: true}
		m.Begin(context.Background(), rec)
		var all sync.WaitGroup
		for range 3 {
			rec.Hold()
		}
		for range 3 {
			all.Go(rec.Release)
		}
		all.Go(func() { rec.leave(edgeFacts{status: 404, fail: NotFound}) })
		all.Wait()
		if !rec.over() || rec.Status != 404 || rec.Fail != NotFound {
			t.Fatalf("done %v, status %d, fail %q", rec.over(), rec.Status, rec.Fail)
		}
	}
	s := scrapeOf(t, r)
	s.want(t, "paddock_request_failure_total{"+base(Chat, "m", Live)+`,class="4xx",reason="not_found"}`, rounds)
	s.want(t, "paddock_num_requests_in_flight", 0)
}

// A request of a known route costs its record, its context and its copy, and counting it costs nothing.
func TestInstrumentAllocates(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	route := ""
	h := InstrumentHTTP(r, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { req.Pattern = route }))
	w, req := &discard{ResponseRecorder: httptest.NewRecorder()}, httptest.NewRequest("GET", "/x", nil)
	for _, route = range []string{"/{id}", ""} {
		h.ServeHTTP(w, req)
		if n := testing.AllocsPerRun(100, func() { h.ServeHTTP(w, req) }); n > 3 {
			t.Errorf("%q: %v allocations a request, want at most 3", route, n)
		}
		if n := testing.AllocsPerRun(100, func() { r.http.observe(r.http.route(route), "GET", 200, ms, 1, 1) }); n != 0 {
			t.Errorf("%q: counting allocates %v times", route, n)
		}
	}
}

// Scrapes in the middle of requests: all families of a page have the same requests.
func TestHTTPFamiliesAgree(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	h := InstrumentHTTP(r, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { req.Pattern = req.Header.Get("Pattern") }))
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() {
			for k := range 500 {
				served(h, "GET", "/", "", "Pattern", fmt.Sprintf("/%d/%d", i, k%40))
			}
		})
	}
	done := make(chan struct{})
	go func() { clients.Wait(); close(done) }()
	check := func() float64 {
		s := scrapeOf(t, r)
		sums := map[string]float64{}
		for sample, n := range s {
			name, _, _ := strings.Cut(sample, "{")
			sums[name] += n
		}
		for _, name := range []string{"http_request_duration_seconds_count", "http_request_duration_highr_seconds_count", "http_request_size_bytes_count", "http_response_size_bytes_count"} {
			if sums[name] != sums["http_requests_total"] {
				t.Errorf("%s is %v, http_requests_total %v", name, sums[name], sums["http_requests_total"])
			}
		}
		return sums["http_requests_total"]
	}
	for last := 0.0; ; {
		now := check()
		if now < last {
			t.Errorf("%v requests after %v", now, last)
		}
		last = now
		select {
		case <-done:
			if n := check(); n != 2000 {
				t.Errorf("%v requests, want 2000", n)
			}
			return
		default:
		}
	}
}

// What an edge adds to a request: with a route of the mux, and for an inference route up to its finished record.
func BenchmarkInstrument(b *testing.B) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(b, r, "m", nil, Chat)
	next := http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { req.Pattern = "/x" })
	for _, c := range []struct {
		name string
		h    http.Handler
	}{
		{"bare", next}, {"instrumented", InstrumentHTTP(r, next)}, {"inference", InstrumentHTTP(r, InferenceRoute(m, Chat, next))},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				w, req := &discard{ResponseRecorder: httptest.NewRecorder()}, httptest.NewRequest("GET", "/x", nil)
				for p.Next() {
					c.h.ServeHTTP(w, req)
				}
			})
		})
	}
}
