package access

import (
	"net/http/httptest"
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
