package main

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// sending is the body of a request on its way to a runner. A transport may read it for longer than it takes to pass the answer on.
type sending struct {
	mu   sync.Mutex // held while it is read
	from io.ReadCloser

	left   atomic.Int64 // bytes that it has yet to give; below 0: unknown
	whole  atomic.Bool  // it was read to its end
	cut    atomic.Bool  // its sender stopped sending
	closed atomic.Bool
}

func newSending(req *http.Request) *sending {
	s := &sending{from: req.Body}
	s.left.Store(req.ContentLength)
	return s
}

// Read implements io.Reader.
func (s *sending) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := s.from.Read(p)
	if s.left.Add(int64(-n)) == 0 || err == io.EOF {
		s.whole.Store(true)
	} else if err != nil {
		s.cut.Store(true)
	}
	return n, err
}

// Close implements io.Closer. It waits for nobody who reads, as end does.
func (s *sending) Close() error {
	s.closed.Store(true)
	return nil
}

// broken tells whether it is the body's fault that the runner wasn't asked.
func (s *sending) broken() bool { return s != nil && s.cut.Load() }

// tell says in an answer's header that the connection ends with it, if the body has not been read to its end. What is left of one is skipped
// up to a limit, beyond which a server closes the connection. It would say so itself, but not where answers may begin before that.
func (s *sending) tell(header http.Header) {
	if s != nil && !s.whole.Load() {
		header.Set("Connection", "close")
	}
}

// end sends the answer, and skips over what comes of the body within linger: a client that sends all before it reads would lose the answer
// if the connection were closed on it. Nobody reads the body after it.
func (s *sending) end(w http.ResponseWriter, linger time.Duration) {
	s.closed.Store(true)
	if !s.whole.Load() {
		c := http.NewResponseController(w)
		if linger > 0 {
			_ = c.Flush() // an error is the client's having gone
		}
		_ = c.SetReadDeadline(time.Now().Add(linger)) // also for whoever still reads
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if linger > 0 && !s.whole.Load() {
		_, _ = io.Copy(io.Discard, s.from) // an error is the end of the time, or of the client
	}
}
