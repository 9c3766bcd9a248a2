package api

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/metrics"
)

// exchange is one request and its reply: from the head that was read to the last
// byte that is written. On inference routes it carries the request's record, which
// is finished just before the last write, once.
type exchange struct {
	h   *handler
	w   http.ResponseWriter
	rc  *http.ResponseController
	r   *http.Request
	rt  route
	id  string
	rec *metrics.Record // nil: the route is not observed

	begun bool // the reply has begun
	ended bool // the record is finished
	lost  bool // the client takes no more of it

	taken bool // the body has been read
	long  bool // the body is longer than is read
}

func newExchange(h *handler, w http.ResponseWriter, r *http.Request, rt route) *exchange {
	x := &exchange{h: h, w: w, rc: http.NewResponseController(w), r: r, rt: rt, id: metrics.RequestID(r)}
	w.Header().Set("X-Request-Id", x.id)
	if r.Body != nil && r.Body != http.NoBody {
		// Also for a body that nobody reads: the HTTP server skips over it before the
		// reply ends. A server that can't set deadlines (a test's recorder) has no slow
		// clients.
		_ = x.rc.SetReadDeadline(time.Now().Add(h.o.BodyTimeout))
	}
	if !rt.inference {
		return x
	}
	m := h.e.MetricsModel()
	if x.rec = metrics.FromContext(r.Context()); x.rec == nil {
		x.rec = m.Recorder().NewRecord(r)
	}
	x.rec.Hold()                                                                    // under http.TimeoutHandler an edge further out may be gone before
	x.rec.Operation, x.rec.ID, x.rec.Route = rt.op, strings.Clone(x.id), rt.pattern // what a header's text lies in is not kept
	x.r = r.WithContext(m.Begin(r.Context(), x.rec))
	return x
}

// newID makes a random id.
func newID(prefix string) string {
	var b [12]byte
	rand.Read(b[:])
	return prefix + hex.EncodeToString(b[:])
}

// admit checks what can be checked before the body is read.
func (x *exchange) admit(known bool) *refusal {
	if !known {
		return &refusal{reason: metrics.NotFound, kind: "invalid_request_error", code: "unknown_url", message: "no such path: " + x.r.URL.Path}
	}
	if !x.rt.open {
		if f := x.h.o.access(x.r); f != nil {
			return f
		}
	}
	if !slices.Contains(x.rt.methods, x.r.Method) {
		allow := strings.Join(x.rt.methods, ", ")
		return &refusal{
			reason: metrics.MethodNotAllowed, kind: "invalid_request_error", code: "method_not_allowed",
			message: "this path takes " + allow + " only", header: http.Header{"Allow": {allow}},
		}
	}
	return nil
}

// body reads the request's body within its bounds of size and time.
func (x *exchange) body() ([]byte, *refusal) {
	if x.r.ContentLength > maxBody {
		return nil, x.tooLarge()
	}
	b, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, x.tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, invalid("", "the body did not arrive within %v", x.h.o.BodyTimeout)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return nil, x.refused(engine.ErrAborted)
	case err != nil:
		return nil, invalid("", "the body can't be read: %v", err)
	}
	x.taken = true
	_ = x.rc.SetReadDeadline(time.Time{}) // from here on reading only tells whether the client is there
	return b, nil
}

func (x *exchange) tooLarge() *refusal {
	x.w.Header().Set("Connection", "close")
	x.long = true
	return &refusal{
		reason: metrics.TooLarge, kind: "invalid_request_error", code: "body_too_large",
		message: "the body is larger than 8 MiB",
	}
}

// surplus tells whether more of the body may come than the HTTP server skips over by itself before it closes the connection, which takes
// the reply away from a client that still sends: one that is too large, and, of a client that asked to be asked for the body but need not
// wait for that, any.
func (x *exchange) surplus() bool { return x.long || !x.taken && x.r.Header.Get("Expect") != "" }

// skip sends the reply and skips over what comes of the body after it.
func (x *exchange) skip() {
	x.flush()
	_ = x.rc.SetReadDeadline(time.Now().Add(x.h.linger))
	_, _ = io.Copy(io.Discard, x.r.Body) // an error is the end of the time, or of the client
}

// refuse ends the exchange with an error: as a status and a body, or, where the
// reply has begun, as the stream's last event.
func (x *exchange) refuse(f *refusal) {
	if x.rec != nil {
		x.rec.Fail = f.reason
	}
	if x.begun {
		x.finish(http.StatusOK)
		x.event(f.body())
		x.flush()
		return
	}
	for name, values := range f.header {
		x.w.Header()[name] = values
	}
	x.reply(f.reason.Status(), f.body())
}

// reply writes the whole reply as JSON. The record is finished first.
func (x *exchange) reply(status int, v any) {
	b, err := json.Marshal(v)
	if err != nil { // none of our types can fail, but for a value that JSON lacks
		status, b = http.StatusInternalServerError, []byte(`{"error":{"message":"the reply can't be written as JSON","type":"server_error","param":null,"code":null}}`)
		if x.rec != nil {
			x.rec.Fail = metrics.EngineError
		}
	}
	x.w.Header().Set("Content-Type", "application/json")
	if x.surplus() {
		x.w.Header().Set("Content-Length", strconv.Itoa(len(b)+1)) // the client needs no end of the connection to see the reply's
		defer x.skip()
	}
	x.finish(status)
	x.begun = true
	x.deadline()
	x.w.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		_, _ = x.w.Write(append(b, '\n')) // to a client that has gone there is nothing to say
	}
}

// finish finishes the record, also one that an edge further out has made: what
// follows is the last write of a reply with this status. Later calls do nothing.
func (x *exchange) finish(status int) {
	if x.rec != nil && !x.ended {
		x.ended = true
		if x.rec.Status = status; status == metrics.Disconnect.Status() {
			x.rec.Status = 0 // whoever is gone gets none
		}
		x.h.e.MetricsModel().Finish(x.rec)
	}
}

// close, deferred, ends an exchange that a panic cut short. The panic goes on: the
// HTTP server logs it and drops the connection.
func (x *exchange) close() {
	if x.rec == nil {
		return
	}
	if !x.ended {
		if x.rec.Fail == metrics.NoFail {
			x.rec.Fail = metrics.EngineError
		}
		status := 0 // none was sent
		if x.begun {
			status = http.StatusOK
		}
		x.finish(status)
	}
	x.rec.Release()
}

// deadline gives the client WriteTimeout from now to take what is written next.
func (x *exchange) deadline() {
	_ = x.rc.SetWriteDeadline(time.Now().Add(x.h.o.WriteTimeout))
}
