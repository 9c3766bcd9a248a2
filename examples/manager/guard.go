package main

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
)

// guard keeps pages of other sites from what this machine's browser may reach without a key:
//
//   - a name of another site that suddenly means 127.0.0.1 (DNS rebinding): only a request whose Host is an address, localhost, or this
//     machine's own name, none of which a site can make its own, counts as this machine's. Any other is one of the network, with a key or
//     without;
//   - a request that another site's page sends (Sec-Fetch-Site, Origin): refused for whatever changes something and for all of /api/, of
//     which a stream makes the GPUs be read more often. A link to the page itself is fine.
//
// A program that is no browser sends neither header and notices nothing.
func guard(h http.Handler) http.Handler {
	own, _ := os.Hostname() // without one, its name isn't taken for this machine
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case req.URL.Path == "/healthz" || req.URL.Path == "/readyz":
		case strings.HasPrefix(req.URL.Path, "/api/") && fromElsewhere(req), cross.Check(req) != nil:
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
func ownHost(host, own string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || own != "" && name == strings.ToLower(own)
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
