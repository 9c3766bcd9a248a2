// Package access tells who an HTTP request comes from: whether its peer is this
// machine, and whether it brings the key. One rule stands behind the API, the
// metrics page and what lies beside it.
package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strings"
)

// forwarded begins the names of a family of headers that proxies add.
const forwarded = "X-Forwarded-"

// proxyHeaders are the others: a request that has one comes from somewhere else
// than its socket says, whatever its value.
var proxyHeaders = []string{"Forwarded", "X-Real-IP", "X-Client-IP", "True-Client-IP", "CF-Connecting-IP", "Via"}

// Loopback tells whether a request comes from this very machine: the socket's
// peer is 127.0.0.0/8 or ::1 (also mapped into IPv6), and no proxy left a header.
// Safe for concurrent use.
func Loopback(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return false
	}
	for h := range r.Header { // names in any case: a middleware may have put one there by hand
		if len(h) >= len(forwarded) && strings.EqualFold(h[:len(forwarded)], forwarded) {
			return false
		}
		for _, p := range proxyHeaders {
			if strings.EqualFold(h, p) {
				return false
			}
		}
	}
	return true
}

// Key tells whether a request brings key in "Authorization: Bearer …". The scheme
// is compared without case, the key in constant time whatever its length. White
// space around either doesn't count, since files that keep keys end in a newline;
// an empty key is never brought. Safe for concurrent use.
func Key(r *http.Request, key string) bool {
	key = strings.TrimSpace(key)
	scheme, got, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || key == "" || !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	a, b := sha256.Sum256([]byte(strings.TrimSpace(got))), sha256.Sum256([]byte(key))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
