package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/engine"
)

// TestWarmPrefixIsNotComputed: of two prompts of 500 tokens that begin with the
// same 400, the second adds to the steps only what no full page holds; the same
// prompt once more adds its last few tokens.
func TestWarmPrefixIsNotComputed(t *testing.T) {
	e := open(t, engine.Options{})
	h := New(e, Options{})
	var computed, requests float64
	send := func(ids []string) (added, cached int) {
		t.Helper()
		w := do(h, "POST", "/v1/completions", fmt.Sprintf(`{"model":"demo","prompt":[%s],"max_tokens":1,"temperature":0}`, strings.Join(ids, ",")))
		if w.Code != 200 {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		u := parsed[struct {
			Usage *usage `json:"usage"`
		}](t, w.Body.String()).Usage
		samples := page(t, e.Metrics())
		tokens := sum(samples, "paddock_iteration_tokens_sum")
		added, computed = int(tokens-computed), tokens
		if by := sum(samples, "paddock_prompt_tokens_by_source_total", "source", "computed"); by != computed {
			t.Errorf("%v tokens computed by source, %v in steps", by, computed)
		}
		if requests++; sum(samples, "paddock_prefix_cache_queries_total") != requests*500 {
			t.Errorf("%v tokens looked up", sum(samples, "paddock_prefix_cache_queries_total"))
		}
		if u.PromptTokens != 500 {
			t.Fatalf("%d prompt tokens", u.PromptTokens)
		}
		return added, u.PromptDetails.CachedTokens
	}
	first := make([]string, 500)
	for i := range first {
		first[i] = fmt.Sprint(300 + i*7%400)
	}
	second := append([]string{}, first...)
	for i := 400; i < 500; i++ {
		second[i] = fmt.Sprint(310 + i*11%400)
	}
	for i, c := range []struct {
		ids           []string
		added, cached int
	}{{first, 500, 0}, {second, 100, 400}, {first, 4, 496}, {second, 4, 496}} {
		if added, cached := send(c.ids); added != c.added || cached != c.cached {
			t.Errorf("request %d: %d tokens computed and %d cached, want %d and %d", i, added, cached, c.added, c.cached)
		}
	}
}
