// Package studio is a page that shows a server of paddock at work: throughput, latencies, KV pages, the queue, what ended, and a chat
// box. A server mounts it beside its API, which the page reads:
//
//	page := studio.Handler(studio.Options{})
//	mux.Handle("/{$}", page)
//	mux.Handle("/studio/", page)
//
// The page is files, embedded as they are written: there is nothing to build. It holds no data, so that it may be open to everyone;
// what it reads is asked for with the reader's key. All that it asks carries the origin studio.
package studio

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Options say whose page it is. The zero value is a runner's.
type Options struct {
	// Manager makes it the page of a machine's manager: its runners, one at a time, and the GPUs.
	Manager bool

	// ManagerURL is where a runner's page links to, http or https; "": it says where a manager usually is.
	ManagerURL string
}

// Validate says what is wrong with o, nil: nothing. A page made of options that are wrong has no link; a program that can say so at
// its start should.
func (o Options) Validate() error {
	if o.ManagerURL == "" {
		return nil
	}
	u, err := url.Parse(o.ManagerURL)
	if err != nil {
		return fmt.Errorf("studio: the manager's address: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("studio: the manager's address is %.100q, give http://HOST:PORT/", o.ManagerURL)
	}
	if u.User != nil {
		return errors.New("studio: the manager's address has a user or password in it, which every reader of the page would see; leave them out")
	}
	return nil
}

// Handler serves the page at / and its files below /studio/, to GET and HEAD; other paths are answered with 404 and JSON. Addresses in
// it are relative, so that it works below a prefix that the caller strips. Safe for concurrent use.
func Handler(o Options) http.Handler { return &handler{newAssets(o)} }

type handler struct{ assets map[string]asset }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, ok := h.assets[r.URL.Path]
	switch {
	case !ok:
		refuse(w, http.StatusNotFound, "not_found", "there is no such page")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "use GET or HEAD")
	default:
		a.serve(w, r)
	}
}
