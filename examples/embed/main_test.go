package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/examples/demo"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestMux: the service's own routes, and paddock's beside them, with and without
// the key.
func TestMux(t *testing.T) {
	eng, err := paddock.OpenFS(demo.Files, demo.Name, paddock.Options{Name: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	const chat = `{"model":"demo","temperature":0,"max_tokens":8,"messages":[{"role":"user","content":"hello"}]}`
	const near, far = "127.0.0.1:7", "10.0.0.1:7"
	for _, c := range []struct {
		method, path, body, peer, key string
		status                        int
		says                          string
	}{
		{"GET", "/price/42", "", far, "", 200, `"item":"42"`},
		{"GET", "/explain/paddock_kv_pages_used", "", far, "", 200, "paddock_kv_pages_used"},
		{"GET", "/v1/models", "", near, "", 200, `"demo"`},
		{"GET", "/v1/models", "", far, "", 401, "Bearer"},
		{"GET", "/v1/models", "", far, "sesame", 200, `"demo"`},
		{"POST", "/v1/chat/completions", chat, far, "wrong", 401, "Bearer"},
		{"POST", "/v1/chat/completions", chat, far, "sesame", 200, `"completion_tokens":8`},
		{"GET", "/metrics", "", near, "", 200, `paddock_generation_tokens_total{gen_ai_operation_name="chat"`},
		{"GET", "/metrics", "", far, "sesame", 401, "--metrics-auth"}, // the page has no key of its own here
		{"GET", "/v1/nothing", "", near, "", 404, "unknown_url"},
		{"GET", "/nothing", "", near, "", 404, ""},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.RemoteAddr = c.peer
		if c.key != "" {
			r.Header.Set("Authorization", "Bearer "+c.key)
		}
		w := httptest.NewRecorder()
		newMux(eng, "sesame").ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s from %s with key %q: status %d, want %d; %.300s", c.method, c.path, c.peer, c.key, w.Code, c.status, w.Body)
		}
	}
	var item struct{ Price float64 }
	w := httptest.NewRecorder()
	newMux(eng, "").ServeHTTP(w, httptest.NewRequest("GET", "/price/1", nil))
	if err := json.Unmarshal(w.Body.Bytes(), &item); err != nil || item.Price != 12.5 {
		t.Errorf("%+v, %v", item, err)
	}
	// Without a key the network stays out, whatever it brings.
	r := httptest.NewRequest("GET", "/v1/models", nil)
	r.RemoteAddr = far
	r.Header.Set("Authorization", "Bearer ")
	w = httptest.NewRecorder()
	if newMux(eng, "").ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
		t.Errorf("status %d without a key", w.Code)
	}
}

func TestExplainWhenClosed(t *testing.T) {
	eng, err := paddock.OpenFS(demo.Files, demo.Name, paddock.Options{Name: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	eng.Close()
	w := httptest.NewRecorder()
	newMux(eng, "").ServeHTTP(w, httptest.NewRequest("GET", "/explain/x", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d", w.Code)
	}
}
