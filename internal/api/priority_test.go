package api

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/engine"
)

// TestPriorityIsTheOperators: a rank comes from the operator's function, never
// from a body.
func TestPriorityIsTheOperators(t *testing.T) {
	e := open(t, engine.Options{})
	h := New(e, Options{Priority: func(r *http.Request) int {
		n, _ := strconv.Atoi(r.Header.Get("Tier"))
		return n
	}}).(*handler)
	const path = "/v1/completions"
	ask := func(body string) (*params, *refusal) {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Tier", "7")
		x := newExchange(h, httptest.NewRecorder(), r, h.routes[path])
		defer x.close()
		return parse(x, completionFields)
	}
	p, f := ask(promptBody("a"))
	if f != nil || p.req.Priority != 7 {
		t.Errorf("priority %v, refusal %v", p, f)
	}
	if _, f := ask(promptBody("a", `"priority":9`)); f == nil || !strings.Contains(f.message, "priority") {
		t.Errorf("a body's priority: %v", f)
	}
}
