package main

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"time"
)

const (
	keepAlive  = 15 * time.Second // between signs of life of a stream on which nothing happens
	streamWait = 10 * time.Second // that a reader may take for one event
	maxStreams = 64
)

// stream serves GET /api/gpu/stream: an event at once, and one for each sample from there on, each with a gpuAnswer. While one is open the
// GPUs are read every 400 ms. Its reader may be slow: it misses samples, and one that takes too long for one is sent home; nobody waits.
type stream struct {
	gpus   *gpus
	places chan struct{}
	quit   context.Context // ends all streams, so that the server can stop
}

func newStream(g *gpus, quit context.Context) *stream {
	return &stream{g, make(chan struct{}, maxStreams), quit}
}

func (s *stream) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	default:
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, "too_many_streams", "there are as many streams as the manager serves; ask GET /api/gpu")
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	if req.Method == http.MethodHead {
		return
	}
	defer extend(w) // for the end, which the server writes
	now, p := s.gpus.now()
	if p == nil {
		if !send(w, now) || !s.waitFor(w, req) {
			return
		}
		_, p = s.gpus.now()
	}
	readings, stop := p.Watch() // holds the last one
	defer stop()
	if latest := p.Latest(); latest.Time.IsZero() && !send(w, answerOf(latest)) {
		return
	}
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for {
		var ok bool
		select {
		case <-req.Context().Done():
			return
		case <-s.quit.Done():
			return
		case r, more := <-readings:
			if ok = more && send(w, answerOf(r)); !ok {
				return
			}
		case <-alive.C:
			// No sample for so long: say how it is.
			if ok = send(w, answerOf(p.Latest())); !ok {
				return
			}
		}
	}
}

// waitFor waits until the GPUs are read here.
func (s *stream) waitFor(w http.ResponseWriter, req *http.Request) bool {
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for {
		select {
		case <-req.Context().Done():
			return false
		case <-s.quit.Done():
			return false
		case <-s.gpus.opened:
			return true
		case <-alive.C:
			if now, _ := s.gpus.now(); !send(w, now) {
				return false
			}
		}
	}
}

// send writes one event and tells whether the reader took it.
func send(w http.ResponseWriter, a gpuAnswer) bool {
	body, err := json.Marshal(a)
	if err != nil {
		return false
	}
	extend(w)
	if _, err := w.Write(append(append([]byte("data: "), body...), "\n\n"...)); err != nil {
		return false
	}
	return http.NewResponseController(w).Flush() == nil
}

// extend gives a stream's reader time from now on, for what is written next.
func extend(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(streamWait)) // a writer that knows no deadlines has no slow readers
}

func roundTo(v, n float64) float64 { return math.Round(v*n) / n }
