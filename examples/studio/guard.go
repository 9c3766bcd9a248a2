package studio

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"
)

// Guard keeps pages of other sites from what this machine's browser may reach without a key; a server that is open to its own machine,
// and has a page, puts it around all it serves.
//
//   - a name of another site that suddenly means 127.0.0.1 (DNS rebinding): only a request whose Host is an address, localhost, this
//     machine's own name or one of own, none of which a site can make its own, counts as this machine's. Any other is one of the network,
//     with a key or without, and answered as such. One without a Host, as HTTP/1.0 allows it, comes from no browser and counts as well;
//   - a request that another site's page sends (Sec-Fetch-Site, Origin): refused with 403 for whatever changes something and for all of
//     /api/, of which a stream makes the GPUs be read more often. A link to the page itself is fine;
//   - a path with empty, . or .. parts is 404 and JSON, where a ServeMux sends a program that speaks JSON a redirect in HTML.
//
// /healthz and /readyz are anybody's. A program that is no browser notices nothing. Safe for concurrent use.
func Guard(h http.Handler, own ...string) http.Handler {
	if name, err := os.Hostname(); err == nil {
		own = append(own, name)
	}
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch p := req.URL.Path; {
		case p != "*" && path.Clean(p) != strings.TrimSuffix(p, "/") && p != "/":
			refuse(w, http.StatusNotFound, "not_found", "there is no such path")
			return
		case p == "/healthz" || p == "/readyz":
		case strings.HasPrefix(p, "/api/") && fromElsewhere(req), cross.Check(req) != nil:
			refuse(w, http.StatusForbidden, "cross_origin", "this is not open to pages of other origins")
			return
		}
		if !ownHost(req.Host, own) {
			// The rule of access takes this header for a proxy's, and the request for one from elsewhere.
			req = req.Clone(req.Context())
			req.Header.Set("X-Forwarded-Host", "another name")
		}
		h.ServeHTTP(w, req)
	})
}

// ownHost tells whether a Host header can only mean this machine.
func ownHost(host string, own []string) bool {
	if host == "" {
		return true
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || slices.ContainsFunc(own, func(o string) bool { return o != "" && strings.EqualFold(name, o) })
}

// fromElsewhere tells whether a browser says that a page of another origin asks.
func fromElsewhere(req *http.Request) bool {
	site := req.Header.Get("Sec-Fetch-Site")
	if site != "" {
		return site != "same-origin" && site != "none"
	}
	origin := req.Header.Get("Origin")
	if origin == "" {
		return false
	}
	_, host, ok := strings.Cut(origin, "://")
	return !ok || !strings.EqualFold(host, req.Host)
}
