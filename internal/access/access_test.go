package access

import (
	"net/http/httptest"
	"testing"
)

func TestLoopback(t *testing.T) {
	for _, c := range []struct {
		peer, header string
		want         bool
	}{
		{"127.0.0.1:5", "", true},
		{"127.8.9.1:5", "", true},
		{"[::1]:5", "", true},
		{"[::ffff:127.0.0.1]:5", "", true},
		{"10.0.0.1:5", "", false},
		{"[::ffff:10.0.0.1]:5", "", false},
		{"@", "", false},
		{"", "", false},
		{"127.0.0.1:5", "X-Forwarded-For", false},
		{"127.0.0.1:5", "x-forwarded-anything", false},
		{"127.0.0.1:5", "Forwarded", false},
		{"127.0.0.1:5", "X-Real-IP", false},
		{"127.0.0.1:5", "X-Client-IP", false},
		{"127.0.0.1:5", "True-Client-IP", false},
		{"127.0.0.1:5", "CF-Connecting-IP", false},
		{"127.0.0.1:5", "Via", false},
		{"127.0.0.1:5", "VIA", false},
		{"127.0.0.1:5", "X-Forwarded-", false},
		{"127.0.0.1:5", "X-Forwarded", true},
		{"127.0.0.1:5", "Viaduct", true},
		{"127.0.0.1:5", "Accept", true},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		if c.header != "" {
			r.Header[c.header] = []string{""} // as it stands: names have no fixed case
		}
		if got := Loopback(r); got != c.want {
			t.Errorf("peer %q with %q: %v, want %v", c.peer, c.header, got, c.want)
		}
	}
}

func TestKey(t *testing.T) {
	for _, c := range []struct {
		header, key string
		want        bool
	}{
		{"Bearer abc", "abc", true},
		{"bearer abc", "abc", true},
		{"BEARER  abc ", "abc", true},
		{"Bearer abd", "abc", false},
		{"Bearer abcd", "abc", false},
		{"Bearer", "abc", false},
		{"Bearer ", "", false},
		{"Basic abc", "abc", false},
		{"", "abc", false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", c.header)
		if got := Key(r, c.key); got != c.want {
			t.Errorf("%q against %q: %v, want %v", c.header, c.key, got, c.want)
		}
	}
}
