package metrics

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// edge is one request on its way through InstrumentHTTP or InferenceRoute: its record, and the writer that the handler gets, which
// notes what was sent. It is never used again, since an engine or a handler may hold the record for longer than the request lasts.
type edge struct {
	r       *Recorder
	req     *http.Request // as the handler gets it; its Pattern is the route's once the handler has been called
	arrival time.Duration
	body    countedBody
	record  Record
	own     *Record // &record; nil: another edge has made one

	w        http.ResponseWriter
	rc       http.ResponseController // of w
	head     bool                    // the request's method is HEAD: no body is sent
	status   int                     // of the reply; 0: none yet
	declared int64                   // its Content-Length; -1: none
	written  int64                   // bytes of its body
	failed   bool                    // the client takes no more
	hijacked bool
}

// newEdge begins a request, whose head has just been read. counted: InstrumentHTTP sees it.
func newEdge(r *Recorder, w http.ResponseWriter, req *http.Request, counted bool) *edge {
	e := &edge{r: r, arrival: r.Now(), w: w, rc: *http.NewResponseController(w), declared: -1, head: req.Method == http.MethodHead}
	ctx, rec := req.Context(), FromContext(req.Context())
	if rec == nil {
		rec, e.own = &e.record, &e.record
		rec.Arrival, rec.undecided = e.arrival, counted
		rec.take(req)
		ctx = NewContext(ctx, rec)
	}
	if counted {
		rec.countedBy = r
	}
	e.req = req.WithContext(ctx)
	if e.req.ContentLength < 0 && e.req.Body != nil {
		e.body.ReadCloser = e.req.Body
		e.req.Body = &e.body
	}
	return e
}

// serve calls the handler and ends the request.
func (e *edge) serve(next http.Handler, outer *http.Request, stats *httpStats) {
	aborted := true // by a panic, which goes on to the HTTP server, or by runtime.Goexit
	defer func() { e.end(outer, stats, aborted) }()
	next.ServeHTTP(e.writer(), e.req)
	aborted = false
}

// end finishes the record and counts the request.
func (e *edge) end(outer *http.Request, stats *httpStats, aborted bool) {
	defer e.r.guard("http")
	outer.Pattern = e.req.Pattern // for an edge further out
	route := routeName(e.req.Pattern)
	if stats != nil {
		in := stats.route(e.req.Pattern)
		route = in.pattern
		status := e.status
		if status == 0 && !e.hijacked { // nothing was written: the HTTP server says 200, or closes the connection
			status = http.StatusOK
			if aborted {
				status = http.StatusInternalServerError
			}
		}
		read := e.req.ContentLength
		if read < 0 {
			read = e.body.n.Load()
		}
		stats.observe(in, e.req.Method, status, e.r.Now()-e.arrival, read, e.written)
	}
	if e.own != nil {
		e.own.leave(e.facts(route, aborted))
	}
}

// early finishes the record just before the write that completes a body of declared length, so that a scrape after the reply's last
// byte includes the request. While somebody holds the record, it is not complete.
func (e *edge) early() {
	if e.own == nil || !e.own.begun.Load() || !e.own.held.finishFree() {
		return
	}
	defer e.r.guard("http")
	e.own.seen = e.facts(routeName(e.req.Pattern), false)
	e.own.end()
}

// facts is what the reply says about the request.
func (e *edge) facts(route string, aborted bool) edgeFacts {
	f := edgeFacts{status: e.status, route: route}
	if f.status == 0 && !aborted && !e.hijacked {
		f.status = http.StatusOK
	}
	err := e.req.Context().Err()
	gone := Disconnect
	if errors.Is(err, context.DeadlineExceeded) {
		gone = Deadline
	}
	short := !e.head && e.declared > e.written
	switch {
	case e.status >= 400:
		f.fail = failOf(e.status)
	case e.failed, err != nil && (aborted || short):
		f.fail = gone
	case aborted:
		f.fail = EngineError
	case err != nil: // the client may have gone once it had everything
		f.unless = gone
	}
	return f
}

// failOf is the reason behind a status that a handler sent.
func failOf(status int) FailReason {
	switch status {
	case http.StatusUnauthorized:
		return Unauthorized
	case http.StatusNotFound:
		return NotFound
	case http.StatusMethodNotAllowed:
		return MethodNotAllowed
	case http.StatusRequestEntityTooLarge:
		return TooLarge
	case http.StatusTooManyRequests:
		return QueueFull
	case http.StatusServiceUnavailable:
		return Draining
	case http.StatusGatewayTimeout:
		return Deadline
	}
	if status < 500 {
		return InvalidRequest
	}
	return EngineError
}

// NewRecord makes the record of a request that came over HTTP, for an edge that isn't InstrumentHTTP: with its arrival, which is now,
// and what its headers say, as InstrumentHTTP takes it. Whoever makes it puts it into the request's context and finishes it.
func (r *Recorder) NewRecord(req *http.Request) *Record {
	rec := &Record{Arrival: r.Now()}
	rec.take(req)
	return rec
}

// take fills in what a request's headers say: X-Request-Id where it is 1 to 128 printable ASCII characters, X-Session-Id,
// X-Paddock-Origin, and traceparent.
func (r *Record) take(req *http.Request) {
	r.Edge = true
	r.Origin = ParseOrigin(req.Header.Get("X-Paddock-Origin"))
	r.Session = Clip(req.Header.Get("X-Session-Id"))
	if id := req.Header.Get("X-Request-Id"); printable(id) {
		r.ID = strings.Clone(id)
	}
	if parents := req.Header["Traceparent"]; len(parents) == 1 {
		if trace, span, ok := ParseTraceparent(parents[0]); ok {
			r.TraceID, r.SpanID, r.Unsampled = trace, span, !sampled(parents[0])
		}
	}
}

// RequestID is the id that a request's client gave in X-Request-Id, where it is 1 to 128 printable ASCII characters and so can be
// echoed safely, or a new one.
func RequestID(req *http.Request) string {
	if id := req.Header.Get("X-Request-Id"); printable(id) {
		return id
	}
	return newID()
}

func printable(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] >= 0x7f {
			return false
		}
	}
	return true
}

// Clip returns what a Record keeps of a text that a request brings: UTF-8, in memory of its own, and of a text that is too long for
// an event only so much that the event can say so.
func Clip(s string) string {
	return strings.Clone(strings.ToValidUTF8(s[:min(len(s), maxEventText+1)], "\uFFFD"))
}

// routeName is a pattern as a record keeps it.
func routeName(pattern string) string {
	if len(pattern) > maxPattern {
		return otherPattern
	}
	return pattern
}

// countedBody counts a body whose length the client didn't say. A handler's helpers may read on after it has returned.
type countedBody struct {
	io.ReadCloser
	n atomic.Int64
}

// Read implements io.Reader.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n.Add(int64(n))
	return n, err
}
