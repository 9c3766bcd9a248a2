// Package api is the OpenAI-shaped HTTP API over an engine: completions, chat
// completions, embeddings, reranking, the list of models, and health.
//
// Nothing is silent: a field that is not served is refused by name, and so is one
// nobody knows. Every refusal of an inference route is in the metrics, as is
// every reply.
package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/metrics"
)

// Options say who may call the API, and under which names the model is served.
// The zero value serves everyone under the engine's own name.
type Options struct {
	// Key is what clients from the network must bring as "Authorization: Bearer …".
	// Clients on this machine need none, unless a proxy is in between.
	Key string
	// RequireKey refuses clients from the network also while Key is empty.
	RequireKey bool
	// BehindProxy says that a proxy is trusted, so that no peer counts as this
	// machine.
	BehindProxy bool

	// Names are the model names that requests may give; the first one is what
	// replies say. None: the engine's name.
	Names []string

	// Tenant and CacheScope, where given, name a request's tenant (fair shares) and
	// prefix-cache scope (isolation).
	Tenant, CacheScope func(*http.Request) string
	// Priority, where given, ranks a request: higher is served first, and may push
	// lower ones out of the batch. No field of a body does that.
	Priority func(*http.Request) int

	BodyTimeout  time.Duration // for a request's body to arrive; 0: 30 s
	WriteTimeout time.Duration // for a client to take what is written to it; 0: 30 s
}

// maxBody is the most bytes of a request's body.
const maxBody = 8 << 20

// route is one path of the API, or what one pattern matches.
type route struct {
	pattern   string
	methods   []string
	open      bool // needs no key
	inference bool // observed, as op
	op        metrics.Operation
	serve     func(*exchange) *refusal
}

// handler serves the routes of one engine.
type handler struct {
	e       *engine.Engine
	o       Options
	routes  map[string]route
	created int64         // Unix seconds
	linger  time.Duration // how long the rest of a body is skipped over after the reply
}

// New makes the API's handler. It serves its paths wherever it is mounted, and
// answers 404 to others. The pattern of the route that it found, "" if none, is
// in Request.Pattern afterwards. Safe for concurrent use.
func New(e *engine.Engine, o Options) http.Handler {
	if len(o.Names) == 0 {
		o.Names = []string{e.Name()}
	}
	if o.BodyTimeout == 0 {
		o.BodyTimeout = 30 * time.Second
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = 30 * time.Second
	}
	h := &handler{e: e, o: o, created: time.Now().Unix(), linger: time.Second}
	get, post := []string{http.MethodGet, http.MethodHead}, []string{http.MethodPost}
	h.routes = map[string]route{
		"/v1/chat/completions": {methods: post, inference: true, op: metrics.Chat, serve: serveChat},
		"/v1/completions":      {methods: post, inference: true, op: metrics.TextCompletion, serve: serveCompletion},
		"/v1/embeddings":       {methods: post, inference: true, op: metrics.Embeddings, serve: serveEmbeddings},
		"/v1/rerank":           {methods: post, inference: true, op: metrics.Rerank, serve: serveRerank},
		"/v1/models":           {methods: get, serve: serveModels},
		"/healthz":             {methods: get, open: true, serve: serveHealth},
		"/readyz":              {methods: get, open: true, serve: serveReady},
	}
	for path, r := range h.routes {
		r.pattern = path
		h.routes[path] = r
	}
	return h
}

// find returns the route of a path.
func (h *handler) find(path string) (route, bool) {
	if r, ok := h.routes[path]; ok {
		return r, true
	}
	if name, ok := strings.CutPrefix(path, "/v1/models/"); ok && name != "" {
		return route{pattern: "/v1/models/{model}", methods: h.routes["/v1/models"].methods, serve: serveModel}, true
	}
	return route{}, false
}

// ServeHTTP serves one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rt, known := h.find(r.URL.Path)
	r.Pattern = rt.pattern // as a mux does: the one that this is mounted in says only where
	x := newExchange(h, w, r, rt)
	defer x.close()
	if ref := x.admit(known); ref != nil {
		x.refuse(ref)
		return
	}
	if ref := rt.serve(x); ref != nil {
		x.refuse(ref)
	}
}
