package api

import (
	"encoding/json"
	"errors"
	"net/http"
)

// begin starts a reply of server-sent events.
func (x *exchange) begin() {
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx: pass events on as they come
	x.begun = true
	x.w.WriteHeader(http.StatusOK)
}

// event writes one event. That the client is lost shows at the next flush.
func (x *exchange) event(v any) {
	b, err := json.Marshal(v)
	if err != nil { // none of our types can fail; if one did, the client would wait for what never comes
		x.lost = true
		return
	}
	x.line(b)
}

// line writes one event of ready-made data.
func (x *exchange) line(data []byte) {
	x.deadline()
	b := make([]byte, 0, len(data)+8)
	b = append(append(append(b, "data: "...), data...), "\n\n"...)
	if _, err := x.w.Write(b); err != nil {
		x.lost = true
	}
}

// flush sends what was written and reports whether the client is still there.
func (x *exchange) flush() bool {
	if err := x.rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		x.lost = true
	}
	return !x.lost
}
