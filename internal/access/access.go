// Package access tells who an HTTP request comes from: whether its peer is this
// machine, and whether it brings the key.
package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strings"
)

// proxyHeaders are what proxies add: a request that has one comes from somewhere
// else than its socket says.
var proxyHeaders = []string{"Forwarded", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Via"}

// Loopback tells whether a request comes from this very machine: the socket's
// peer is 127.0.0.0/8 or ::1 (also mapped into IPv6), and no proxy left a header.
// Safe for concurrent use.
func Loopback(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return false
	}
	for _, h := range proxyHeaders {
		if _, ok := r.Header[h]; ok {
			return false
		}
	}
	for h := range r.Header {
		if strings.HasPrefix(h, "X-Forwarded-") {
			return false
		}
	}
	return true
}

// Key tells whether a request brings key in "Authorization: Bearer …". The scheme
// is compared without case, the key in constant time whatever its length. An
// empty key is never brought. Safe for concurrent use.
func Key(r *http.Request, key string) bool {
	scheme, got, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || key == "" || !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	a, b := sha256.Sum256([]byte(strings.TrimSpace(got))), sha256.Sum256([]byte(key))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
