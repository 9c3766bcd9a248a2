package main

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"
)

// relay passes requests on to a runner of the fleet, with the runner's key in the place of the caller's. It reaches those runners and
// those paths alone, follows no redirect, and lets no header through either way that isn't named here: so a runner takes the request for
// what it is, one of this machine's, and its answer can't act in the manager's name.
type relay struct {
	fleet     *fleet
	log       *slog.Logger
	transport *http.Transport
	linger    time.Duration // how long what comes of a request's body is skipped over after its answer
	patience  time.Duration // that a client may take for one part of an answer
}

// The headers that pass.
var (
	relayedIn = []string{"Accept", "Content-Type", "Traceparent", "Tracestate", "User-Agent", "X-Paddock-Origin", "X-Request-Id"}
	relayed   = []string{"Content-Length", "Content-Type", "Retry-After", "X-Request-Id"}
)

// relayedAPI are the paths below /api/ that pass. /metrics never does: a runner's page is the runner's.
var relayedAPI = []string{"stats", "rollups", "events"}

func newRelay(f *fleet, log *slog.Logger) *relay {
	return &relay{fleet: f, log: log, linger: time.Second, patience: 30 * time.Second, transport: &http.Transport{ // no proxy of the environment, no limit on how long a prompt may take
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout:    5 * time.Second,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
	}}
}

func (l *relay) close() { l.transport.CloseIdleConnections() }

// ServeHTTP serves /api/runners/{id}/v1/{path...} and /api/runners/{id}/api/{path...}.
func (l *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Body == nil || req.Body == http.NoBody {
		l.pass(w, req, nil)
		return
	}
	body := newSending(req)
	with := *req
	with.Body = body
	linger := time.Duration(0) // for an answer that breaks off, by a panic
	defer func() { body.end(w, linger) }()
	l.pass(w, &with, body)
	linger = l.linger
}

// pass passes a request on, or refuses it. body is the request's, nil: it has none.
func (l *relay) pass(w http.ResponseWriter, req *http.Request, body *sending) {
	r := l.fleet.find(req.PathValue("id"))
	if r == nil {
		refuse(w, http.StatusNotFound, "not_found", "there is no such runner; GET /api/runners lists them")
		return
	}
	path := relayPath(req)
	if path == "" {
		refuse(w, http.StatusNotFound, "not_found", "of a runner there are /v1/… and /api/stats, /api/rollups and /api/events here")
		return
	}
	if !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost}, req.Method) {
		w.Header().Set("Allow", "GET, HEAD, POST")
		refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "use GET, HEAD or POST")
		return
	}
	base, err := url.Parse(r.to.url)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "internal_error", "the runner's address can't be read")
		return
	}
	proxy := httputil.ReverseProxy{
		Transport:     bare{l.transport},
		FlushInterval: -1, // each token as it comes
		ErrorLog:      slog.NewLogLogger(l.log.Handler(), slog.LevelDebug),
		Rewrite: func(p *httputil.ProxyRequest) {
			out := p.Out
			out.URL.Scheme, out.URL.Host, out.URL.Path, out.URL.RawPath = base.Scheme, base.Host, path, ""
			out.Host = base.Host
			out.Header, out.Trailer = pick(p.In.Header, relayedIn), nil
			if out.Header.Get("User-Agent") == "" {
				out.Header["User-Agent"] = nil // none, rather than the library's
			}
			if r.to.key != "" {
				out.Header.Set("Authorization", "Bearer "+r.to.key)
			}
		},
		ModifyResponse: func(res *http.Response) error {
			if res.StatusCode >= 300 && res.StatusCode < 400 || res.StatusCode < 200 {
				return errors.New("the runner redirects, which runners don't")
			}
			if res.StatusCode == http.StatusUnauthorized { // it isn't the caller's key that it refused
				return errors.New("the runner doesn't take the manager's key: give it with --runner and --runner-key")
			}
			res.Header = pick(res.Header, relayed)
			res.Header.Set("Cache-Control", "no-store")
			res.Header.Set("X-Content-Type-Options", "nosniff")
			res.Header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
			body.tell(res.Header)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			body.tell(w.Header())
			if body.broken() {
				refuse(w, http.StatusBadRequest, "invalid_request", "the request's body did not arrive whole")
				return
			}
			refuse(w, http.StatusBadGateway, "runner_unreachable", "the runner "+r.to.id+" can't be asked: "+plain(err).Error())
		},
	}
	// A server closes what is left of a request's body before it writes an answer's head. The transport may not have seen the body's end by
	// then, fast as a runner's first words come, and would break the answer off for it.
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		refuse(w, http.StatusInternalServerError, "internal_error", "this connection can't be relayed: "+err.Error())
		return
	}
	out := final{w, l.patience}
	proxy.ServeHTTP(out, req)
	out.extend() // for what the server writes after it
}

// bare takes the trailers off answers. They come into the answer that the transport has made, so that the one that is passed on is another.
type bare struct{ http.RoundTripper }

func (b bare) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	without := *res
	without.Trailer = nil
	return &without, nil
}

// final passes no answer before the answer on, as 103 with its links and cookies is, and waits for no client that stops reading.
type final struct {
	http.ResponseWriter
	patience time.Duration
}

// extend gives the client time from now on, for what is written next.
func (f final) extend() {
	_ = http.NewResponseController(f.ResponseWriter).SetWriteDeadline(time.Now().Add(f.patience)) // a writer that knows no deadlines has no slow readers
}

func (f final) Write(p []byte) (int, error) {
	f.extend()
	return f.ResponseWriter.Write(p)
}

func (f final) WriteHeader(status int) {
	f.extend()
	if status >= 200 || status == http.StatusSwitchingProtocols {
		f.ResponseWriter.WriteHeader(status)
	}
}

// Unwrap lets a http.ResponseController flush.
func (f final) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// relayPath is the path to ask for on the runner, "" for one that doesn't pass.
func relayPath(req *http.Request) string {
	rest := req.PathValue("path")
	if api := strings.HasPrefix(req.Pattern, "/api/runners/{id}/api/"); api {
		if !slices.Contains(relayedAPI, rest) {
			return ""
		}
		return "/api/" + rest
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == "" || part == "." || part == ".." {
			return ""
		}
	}
	if rest == "metrics" || strings.ContainsAny(rest, "\\\x00?#%") {
		return ""
	}
	return "/v1/" + rest
}

func pick(from http.Header, names []string) http.Header {
	to := http.Header{}
	for _, n := range names {
		if v := from[n]; len(v) > 0 {
			to[n] = v
		}
	}
	return to
}
