package metrics

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
)

// An edge is the ResponseWriter that its handler gets. Whatever else the writer below it can do is reached through Unwrap, as
// http.ResponseController does it; old code that asks for an http.Flusher or an http.Hijacker finds one where there is one below,
// and nowhere else. Each form is one pointer, so that making an interface of it allocates nothing.
type (
	flushing         struct{ *edge }
	hijacking        struct{ *edge }
	flushingHijacker struct{ *edge }
)

// Flush implements http.Flusher.
func (f flushing) Flush() { _ = f.FlushError() }

// Hijack implements http.Hijacker.
func (h hijacking) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.hijack() }

// Flush implements http.Flusher.
func (f flushingHijacker) Flush() { _ = f.FlushError() }

// Hijack implements http.Hijacker.
func (f flushingHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) { return f.hijack() }

// writer is e with the optional interfaces of what lies below.
func (e *edge) writer() http.ResponseWriter {
	switch flusher, hijacker := reaches[http.Flusher](e.w), reaches[http.Hijacker](e.w); {
	case flusher && hijacker:
		return flushingHijacker{e}
	case flusher:
		return flushing{e}
	case hijacker:
		return hijacking{e}
	}
	return e
}

// reaches says whether w, or a writer that it wraps, is a T.
func reaches[T any](w http.ResponseWriter) bool {
	for {
		if _, ok := w.(T); ok {
			return true
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = u.Unwrap()
	}
}

// Unwrap is for http.ResponseController.
func (e *edge) Unwrap() http.ResponseWriter { return e.w }

// Header implements http.ResponseWriter.
func (e *edge) Header() http.Header { return e.w.Header() }

// WriteHeader implements http.ResponseWriter.
func (e *edge) WriteHeader(status int) {
	e.w.WriteHeader(status) // panics for what is no status
	if status >= 200 || status == http.StatusSwitchingProtocols {
		e.began(status)
	}
}

// began notes the status of the reply, and the length that it declares. Later ones are superfluous.
func (e *edge) began(status int) {
	if e.status != 0 || e.hijacked {
		return
	}
	e.status = status
	if n, err := strconv.ParseInt(e.w.Header().Get("Content-Length"), 10, 64); err == nil {
		e.declared = n
	}
}

// Write implements http.ResponseWriter.
func (e *edge) Write(p []byte) (int, error) {
	e.writing(len(p))
	n, err := e.w.Write(p)
	e.wrote(int64(n), err)
	return n, err
}

// WriteString implements io.StringWriter.
func (e *edge) WriteString(s string) (int, error) {
	e.writing(len(s))
	n, err := io.WriteString(e.w, s)
	e.wrote(int64(n), err)
	return n, err
}

// writing comes before a write of n bytes.
func (e *edge) writing(n int) {
	e.began(http.StatusOK)
	if e.declared >= 0 && e.written+int64(n) >= e.declared {
		e.early()
	}
}

// wrote comes after it.
func (e *edge) wrote(n int64, err error) {
	if !e.head {
		e.written += n
	}
	e.failed = e.failed || lostClient(err)
}

// lostClient says whether an error of writing is the client's having gone, and not the handler's mistake.
func lostClient(err error) bool {
	if err == nil {
		return false
	}
	for _, own := range []error{http.ErrBodyNotAllowed, http.ErrContentLength, http.ErrHijacked, http.ErrNotSupported, http.ErrHandlerTimeout} {
		if errors.Is(err, own) {
			return false
		}
	}
	return true
}

// ReadFrom implements io.ReaderFrom: a file goes to the socket without a detour through memory, unless the last byte of an
// inference request's reply is among it.
func (e *edge) ReadFrom(src io.Reader) (int64, error) {
	e.began(http.StatusOK)
	if e.own != nil && e.own.begun.Load() && !e.own.over() {
		return io.Copy(struct{ io.Writer }{e}, src)
	}
	n, err := io.Copy(e.w, src) // an error may be src's own
	e.wrote(n, nil)
	return n, err
}

// FlushError is what http.ResponseController calls.
func (e *edge) FlushError() error {
	e.began(http.StatusOK)
	err := e.rc.Flush()
	e.failed = e.failed || lostClient(err)
	return err
}

func (e *edge) hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := e.rc.Hijack()
	if err == nil {
		e.hijacked = true
	}
	return conn, rw, err
}

// edgeOf finds the edge among the writers that w wraps: where it does, w's handler runs before the edge's ServeHTTP returns.
func edgeOf(w http.ResponseWriter) *edge {
	for {
		if e, ok := w.(interface{ self() *edge }); ok {
			return e.self()
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil
		}
		w = u.Unwrap()
	}
}

func (e *edge) self() *edge { return e }
