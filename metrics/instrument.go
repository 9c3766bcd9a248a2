package metrics

import (
	"net/http"
	"strings"
)

// InstrumentHTTP observes what next serves, usually a whole mux:
//
//	http.ListenAndServe(addr, metrics.InstrumentHTTP(rec, mux))
//
// On the page it adds the http_* families by route: http_requests (method, status class), http_request_duration_seconds,
// http_request_duration_highr_seconds, http_request_size_bytes and http_response_size_bytes. The label handler is the pattern of
// the route, http.Request.Pattern as the mux left it on the request that it was given: "none" where no route matched or a handler
// in between copied the request, "_OTHER" beyond the first 256 patterns and for one longer than 256 bytes, so that a router that
// puts paths there can't grow the page. A duration ends when the handler has returned, and so includes a streamed body; tokens
// have latencies of their own. A request size is the Content-Length, or what was read of a body without one. A handler that panics
// before it wrote anything counts as 5xx. Requests to /metrics, /v1/metrics, /health, /healthz, /readyz, /load, /ping, /version and
// /server_info, also with a slash behind, aren't observed.
//
// Into each request's context it puts a [Record]: arrival, ids, trace and origin, taken from the headers X-Request-Id,
// X-Session-Id, traceparent and X-Paddock-Origin. A route that is an inference route begins it: the API does, [InferenceRoute]
// does for a caller's own, and so does Engine.Submit. Then it is in the request families too, also where it was refused before
// it reached an engine, and InstrumentHTTP finishes it unless the handler has. As its failure counts what the engine said, else
// the status that was sent, else a disconnect, if a write failed or the client went away before the reply was whole. Finishing is
// done before the reply's last byte: just before the write that completes a body of declared length, else when the handler returns. A
// handler that streams something of its own as a last line calls [Model.Finish] before it.
//
// The ResponseWriter that next gets implements http.Flusher and http.Hijacker where the one below does, io.ReaderFrom, and Unwrap
// for http.ResponseController. A nil r is Default(). With metrics off the families stay away, and with events and tracer off too,
// next is returned as it is.
func InstrumentHTTP(r *Recorder, next http.Handler) http.Handler {
	if r == nil {
		r = Default()
	}
	if r.deaf() {
		return next
	}
	h := &instrumented{r: r, next: next, whole: true}
	if !r.off {
		r.http.open()
		h.stats = &r.http
	}
	return h
}

// deaf says whether nobody would hear of a request's record.
func (r *Recorder) deaf() bool { return r.off && r.events == nil && r.opts.Tracer == nil }

// instrumented is a handler behind an edge.
type instrumented struct {
	r     *Recorder
	next  http.Handler
	whole bool       // InstrumentHTTP, and not a single route's own edge
	stats *httpStats // nil: the record only
}

// unobserved are the paths of scrapers and probes, which would drown what users do.
var unobserved = map[string]bool{
	"/metrics": true, "/v1/metrics": true, "/health": true, "/healthz": true, "/readyz": true, "/load": true, "/ping": true,
	"/version": true, "/server_info": true,
}

func (h *instrumented) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if h.whole && h.passes(req) {
		h.next.ServeHTTP(w, req)
		return
	}
	newEdge(h.r, w, req, h.whole).serve(h.next, req, h.stats)
}

// passes says whether a request isn't observed here.
func (h *instrumented) passes(req *http.Request) bool {
	rec := FromContext(req.Context())
	return unobserved[strings.TrimSuffix(req.URL.Path, "/")] || rec != nil && rec.countedBy == h.r // wrapped twice: the outer one sees it
}

// InferenceRoute makes next an inference route of a caller's own frontend: every request of it is observed under m and op, in the request
// families and as an event, whether it reaches the engine, is refused before (400, 401, 404, 405, 413, 429, 503), or is given up. It
// works with and without [InstrumentHTTP] around it. To have wrong methods and missing keys observed, mount it under a pattern
// without a method, and check the key inside.
//
// next finds the record in its context ([FromContext]), and may fill in what only it knows: Stream, Tenant, User. It gives the
// same context to Engine.Submit. A nil m, or one that records nothing, gives next as it is.
func InferenceRoute(m *Model, op Operation, next http.Handler) http.Handler {
	if m == nil || m.rec.deaf() {
		return next
	}
	h := &inferenceRoute{m: m, op: op, next: next}
	h.alone = &instrumented{r: m.rec, next: h}
	return h
}

type inferenceRoute struct {
	m     *Model
	op    Operation
	next  http.Handler
	alone http.Handler // this one behind an edge of its own
}

func (h *inferenceRoute) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	rec := FromContext(req.Context())
	if rec == nil {
		h.alone.ServeHTTP(w, req)
		return
	}
	if e := edgeOf(w); e == nil || e.own != rec { // http.TimeoutHandler is in between: this may outlive the edge
		rec.Hold()
		defer rec.Release()
	}
	if !rec.begun.Load() {
		rec.Operation = h.op
	}
	inner := req.WithContext(h.m.Begin(req.Context(), rec))
	defer func() {
		if inner.Pattern != "" { // of a mux inside
			req.Pattern = inner.Pattern
		}
	}()
	h.next.ServeHTTP(w, inner)
}
