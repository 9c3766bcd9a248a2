package metrics

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// apiRoutes are the paths of APIHandler, below whatever it is mounted at.
var apiRoutes = []struct {
	path   string
	params []string
	answer func(*Recorder, *http.Request, query) (any, error)
}{
	{"/api/events", []string{"since", "max", "wait_ms"}, answerEvents},
	{"/api/rollups", []string{"from", "to", "step"}, answerRollups},
	{"/api/stats", nil, answerStats},
}

// APIHandler answers GET and HEAD of three paths with JSON, and is to be mounted so that it sees whole paths that end in them, as with
// mux.Handle("/api/", metrics.APIHandler(o)):
//
//	/api/events?since=&max=&wait_ms=   an EventPage: ended requests. since: the first one wanted (default: the oldest there is);
//	                                   max: 1 to 2048 (512); wait_ms: 0 to 60000 (0), how long to wait for the first
//	/api/rollups?from=&to=&step=       Rollups. from, to: Unix seconds or RFC 3339 (the last hour); step: 10s, 1m or 1h (the finest
//	                                   that reaches back to from)
//	/api/stats                         Stats
//
// Any other path or parameter is an error. Who may read is the first row of the access table, whatever o.Auth says: this machine, and
// whoever brings o.Key. A recorder without metrics has no stats and no rollups, one without a ring no events: 404; the rest goes on.
// The recorder, key and proxy of o are used, nothing else. It may be called concurrently.
func APIHandler(o HandlerOptions) http.Handler {
	h := &apiHandler{o: o, rec: o.Recorder}
	if h.rec == nil {
		h.rec = Default()
	}
	return h
}

type apiHandler struct {
	o   HandlerOptions
	rec *Recorder
}

func (h *apiHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !h.o.admit(w, req, AuthDefault) {
		return
	}
	for i := range apiRoutes {
		rt := &apiRoutes[i]
		if !strings.HasSuffix(req.URL.Path, rt.path) {
			continue
		}
		req.Pattern = rt.path // as a mux does
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "use GET or HEAD")
			return
		}
		q, err := parseQuery(req.URL.RawQuery, rt.params)
		var answer any
		if err == nil {
			answer, err = h.answer(rt.answer, req, q)
		}
		h.write(w, req, answer, err)
		return
	}
	refuse(w, http.StatusNotFound, "not_found", "there is no such path; there are /api/events, /api/rollups and /api/stats")
}

// answer calls f. A panic is an error.
func (h *apiHandler) answer(f func(*Recorder, *http.Request, query) (any, error), req *http.Request, q query) (answer any, err error) {
	err = errPanicked
	defer h.rec.guard("api")
	return f(h.rec, req, q)
}

var errPanicked = errors.New("metrics: the answer could not be made")

// write sends an answer, or the error that stands in its place.
func (h *apiHandler) write(w http.ResponseWriter, req *http.Request, answer any, err error) {
	var bad *queryError
	var badRange *RollupRangeError
	switch {
	case err == nil:
	case errors.Is(err, ErrNoMetrics):
		refuse(w, http.StatusNotFound, "not_found", "metrics are off")
		return
	case errors.Is(err, ErrNoEvents):
		refuse(w, http.StatusNotFound, "not_found", "events are off")
		return
	case errors.As(err, &bad):
		refuse(w, http.StatusBadRequest, "invalid_request", bad.Error())
		return
	case errors.As(err, &badRange):
		refuse(w, http.StatusBadRequest, "invalid_request", badRange.Problem)
		return
	default:
		refuse(w, http.StatusInternalServerError, "internal_error", "the answer could not be made")
		return
	}
	body, err := json.Marshal(answer)
	if err != nil {
		h.rec.fault("api", err)
		refuse(w, http.StatusInternalServerError, "internal_error", "the answer could not be made")
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)+1))
	header.Set("Cache-Control", "no-store")
	if req.Method == http.MethodGet {
		patience(w)
		w.Write(append(body, '\n')) // an error is the reader's having gone
	}
}

func answerEvents(r *Recorder, req *http.Request, q query) (any, error) {
	since := q.number("since", OldestEvent, 0, maxSince)
	limit := q.number("max", DefaultEventPage, 1, MaxEventPage)
	wait := q.number("wait_ms", 0, 0, maxWaitMS)
	if err := q.err(); err != nil {
		return nil, err
	}
	page, err := r.Events(req.Context(), since, int(limit), time.Duration(wait)*time.Millisecond)
	if err != nil && req.Context().Err() != nil {
		err = nil // the reader has gone and reads nothing, or the server stops and the reader is still there
	}
	return page, err
}

const (
	maxSince  = 1<<63 - 1
	maxWaitMS = 60_000
)

func answerRollups(r *Recorder, _ *http.Request, q query) (any, error) {
	from, to, step := q.time("from"), q.time("to"), q.step("step")
	if err := q.err(); err != nil {
		return nil, err
	}
	return r.Rollups(from, to, step)
}

func answerStats(r *Recorder, _ *http.Request, _ query) (any, error) { return r.Stats() }
