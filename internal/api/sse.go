package api

import (
	"encoding/json"
	"net/http"
)

// begin starts a reply of server-sent events.
func (x *exchange) begin() {
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx: pass events on as they come
	x.ctl = true
	x.w.WriteHeader(http.StatusOK)
}

// event writes one event and reports whether the client took it.
func (x *exchange) event(v any) bool {
	b, err := json.Marshal(v)
	if err != nil {
		return false
	}
	return x.line(b)
}

// line writes one event of ready-made data.
func (x *exchange) line(data []byte) bool {
	x.deadline()
	b := make([]byte, 0, len(data)+8)
	b = append(append(append(b, "data: "...), data...), "\n\n"...)
	_, err := x.w.Write(b)
	return err == nil
}

// flush sends what was written and reports whether that went well.
func (x *exchange) flush() bool { return x.rc.Flush() == nil }
