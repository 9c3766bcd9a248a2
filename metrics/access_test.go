package metrics

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The access table: each row, from this machine and from the network, without a key, with the right and with a wrong one, with and
// without one configured, behind a proxy that is declared and behind one that only shows in a header.
func TestAccessTable(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{})
	const near, far = "127.0.0.1:1", "192.0.2.1:1"
	for _, c := range []struct {
		auth       Auth
		key        string
		proxy      bool
		peer       string
		header     string // Name: value
		want       int
		says       string
		shownToAPI int // what the first row says, which the API follows
	}{
		{AuthDefault, "", false, near, "", 200, "", 200},
		{AuthDefault, "", false, "[::ffff:127.0.0.1]:1", "", 200, "", 200},
		{AuthDefault, "", false, "[::1]:1", "", 200, "", 200},
		{AuthDefault, "", false, far, "", 401, "--metrics-auth off", 401},
		{AuthDefault, "", false, far, "Authorization: Bearer ", 401, "--api-key", 401},
		{AuthDefault, "", true, near, "", 401, "--api-key", 401},
		{AuthDefault, "k", false, near, "", 200, "", 200},
		{AuthDefault, "k", false, near, "Authorization: Bearer wrong", 200, "", 200},
		{AuthDefault, "k", false, near, "Forwarded: for=127.0.0.1", 401, "Bearer", 401},
		{AuthDefault, "k", false, near, "X-Forwarded-Proto: http", 401, "Bearer", 401},
		{AuthDefault, "k", false, near, "X-Real-IP: 127.0.0.1", 401, "Bearer", 401},
		{AuthDefault, "k", false, near, "X-Client-IP: 127.0.0.1", 401, "Bearer", 401},
		{AuthDefault, "k", false, near, "True-Client-IP: 127.0.0.1", 401, "Bearer", 401},
		{AuthDefault, "k", false, near, "CF-Connecting-IP: 127.0.0.1", 401, "Bearer", 401},
		{AuthDefault, "k", false, near, "Via: 1.1 x", 401, "Bearer", 401},
		{AuthDefault, "k", false, far, "", 401, "Bearer", 401},
		{AuthDefault, "k", false, far, "Authorization: Bearer k", 200, "", 200},
		{AuthDefault, "k", false, far, "Authorization: BEARER k", 200, "", 200},
		{AuthDefault, "k", false, far, "Authorization: Basic k", 401, "Bearer", 401},
		{AuthDefault, "k", true, near, "", 401, "Bearer", 401},
		{AuthDefault, "k", true, near, "Authorization: Bearer k", 200, "", 200},
		{AuthOn, "k", false, near, "", 401, "Bearer", 200},
		{AuthOn, "k", false, near, "Authorization: Bearer k", 200, "", 200},
		{AuthOn, "k", false, far, "Authorization: Bearer k", 200, "", 200},
		{AuthOn, "k", false, far, "Authorization: Bearer kk", 401, "Bearer", 401},
		{AuthOn, "", false, near, "", 401, "open to nobody", 200},
		{AuthOn, "", false, near, "Authorization: Bearer ", 401, "open to nobody", 200},
		{AuthOff, "k", false, near, "", 200, "", 200},
		{AuthOff, "k", false, far, "", 200, "", 401},
		{AuthOff, "k", true, far, "Via: 1.1 x", 200, "", 401},
		{AuthOff, "", false, far, "", 200, "", 401},
		{77, "k", false, near, "", 401, "Bearer", 200},
	} {
		o := HandlerOptions{Recorder: r, Auth: c.auth, Key: c.key, BehindProxy: c.proxy}
		ask := func(h http.Handler) *httptest.ResponseRecorder {
			w, req := httptest.NewRecorder(), fromHere(http.MethodGet, "/metrics")
			req.RemoteAddr = c.peer
			if name, value, ok := strings.Cut(c.header, ": "); ok {
				req.Header.Set(name, value)
			}
			h.ServeHTTP(w, req)
			return w
		}
		w := ask(HandlerFor(o))
		if w.Code != c.want {
			t.Errorf("%v, key %q, proxy %v; from %s with %q: %d, want %d", c.auth, c.key, c.proxy, c.peer, c.header, w.Code, c.want)
		}
		if w.Code == http.StatusUnauthorized {
			var body struct {
				Error struct{ Type, Message string }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Error.Type != "invalid_api_key" || !strings.Contains(body.Error.Message, c.says) {
				t.Errorf("refused with %s, %v; want …%s…", w.Body, err, c.says)
			}
			if w.Header().Get("WWW-Authenticate") != "Bearer" || w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("refused with headers %v", w.Header())
			}
		}
		api := ask(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { o.admit(w, req, AuthDefault) }))
		if api.Code != c.shownToAPI {
			t.Errorf("the first row, key %q, proxy %v; from %s with %q: %d, want %d", c.key, c.proxy, c.peer, c.header, api.Code, c.shownToAPI)
		}
	}
}

func TestAccessWords(t *testing.T) {
	for word, want := range map[string]Auth{"on": AuthOn, "off": AuthOff} {
		if got, err := ParseAuth(word); err != nil || got != want || got.String() != word {
			t.Errorf("%q: %v, %v", word, got, err)
		}
	}
	for _, word := range []string{"", "ON", "true", "1", "0", "false", "default", " on", strings.Repeat("x", 1000)} {
		if got, err := ParseAuth(word); err == nil || got != AuthOn || len(err.Error()) > 200 {
			t.Errorf("%.10q: %v, %v", word, got, err)
		}
	}
	for _, c := range []struct {
		o  HandlerOptions
		ok bool
	}{
		{HandlerOptions{}, true}, {HandlerOptions{Auth: AuthOn, Key: "k"}, true}, {HandlerOptions{Auth: AuthOff}, true},
		{HandlerOptions{Auth: AuthOn}, false}, {HandlerOptions{Auth: 3}, false},
	} {
		if err := c.o.Validate(); (err == nil) != c.ok {
			t.Errorf("%v with key %q: %v", c.o.Auth, c.o.Key, err)
		}
	}
}
