package access

import (
	"net"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// TestRule is the access table in full: every row, from everywhere, with every
// key, with and without one configured, and behind a proxy that is trusted.
func TestRule(t *testing.T) {
	const none, right, wrong = "", "Bearer sesame", "Bearer sesamf"
	peers := map[string]bool{ // true: this machine
		"127.0.0.1:1": true, "127.255.0.9:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true, "[::1%lo]:1": true,
		"192.0.2.1:1": false, "[2001:db8::1]:1": false, "[::ffff:192.0.2.1]:1": false, "[::2]:1": false, "0.0.0.0:1": false,
		"localhost:1": false, "127.0.0.1": false, "@": false, "": false,
	}
	for _, need := range []Need{Network, Everyone, Nobody, 77} {
		for peer, near := range peers {
			for _, key := range []string{"", "sesame"} {
				for _, brought := range []string{none, right, wrong} {
					for _, proxy := range []bool{false, true} {
						for _, header := range []string{"", "X-Forwarded-For", "Via"} {
							open := need == Nobody || need == Network && near && !proxy && header == ""
							want := Admitted
							switch {
							case open || key != "" && brought == right:
							case key == "":
								want = NoKey
							default:
								want = KeyWanted
							}
							r := httptest.NewRequest("GET", "/", nil)
							r.RemoteAddr = peer
							if brought != "" {
								r.Header.Set("Authorization", brought)
							}
							if header != "" {
								r.Header.Set(header, "127.0.0.1")
							}
							if got := (Rule{need, key, proxy}).Ask(r); got != want {
								t.Errorf("need %d, key %q, proxy %v; from %q with %q and %q: %d, want %d",
									need, key, proxy, peer, brought, header, got, want)
							}
						}
					}
				}
			}
		}
	}
}

// FuzzAsk throws what a network can bring at the rule: it never panics, and lets
// in only whom the table lets in, said again with other means.
func FuzzAsk(f *testing.F) {
	f.Add("127.0.0.1:1", "Via", "Bearer k", uint8(0), false)
	f.Add("[::ffff:127.0.0.1%x]:9", "x-forwarded-", "bearer  k ", uint8(1), true)
	f.Add("[::1]:1", "Accept", "Bearer", uint8(0), false)
	f.Add("\x00", "\xff", "Basic k", uint8(200), false)
	proxies := regexp.MustCompile(`(?i)^(x-forwarded-.*|forwarded|x-real-ip|x-client-ip|true-client-ip|cf-connecting-ip|via)$`)
	bearer := regexp.MustCompile(`(?i)^bearer `)
	f.Fuzz(func(t *testing.T, peer, header, brought string, need uint8, proxy bool) {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = peer
		r.Header[header] = []string{""}
		r.Header.Set("Authorization", brought)
		host, _, err := net.SplitHostPort(peer)
		host, _, _ = strings.Cut(host, "%")
		near := err == nil && net.ParseIP(host).IsLoopback() && !proxies.MatchString(header)
		for _, key := range []string{"", "k"} {
			got := Rule{Need(need), key, proxy}.Ask(r)
			mayNear, mayKey := Need(need) == Network && near && !proxy, key != "" && bearer.MatchString(brought) && strings.HasSuffix(strings.TrimSpace(brought), "k")
			if got == Admitted && Need(need) != Nobody && !mayNear && !mayKey {
				t.Errorf("need %d, key %q, proxy %v; from %q with %q and %q: let in", need, key, proxy, peer, header, brought)
			}
			if (got == NoKey) != (got != Admitted && key == "") {
				t.Errorf("key %q: %d", key, got)
			}
		}
	})
}
