package api

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/metrics"
)

// pageOf is a page as it is sent.
func pageOf(t testing.TB, o metrics.HandlerOptions, accept string) string {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
	r.RemoteAddr = "127.0.0.1:9"
	r.Header.Set("Accept", accept)
	metrics.HandlerFor(o).ServeHTTP(w, r)
	if w.Code != 200 {
		t.Fatalf("the page has status %d", w.Code)
	}
	return w.Body.String()
}

// seriesOf lists a page's series as they are printed, values off.
func seriesOf(page string) []string {
	var out []string
	for line := range strings.Lines(page) {
		if line[0] != '#' {
			out = append(out, line[:strings.LastIndexByte(line, ' ')])
		}
	}
	return out
}

// listed is a family of METRICS.md, which is made from the table of families.
type listed struct {
	name   string // of its samples, less what a histogram adds
	kind   string
	labels []string
}

var listedRow = regexp.MustCompile("(?m)^\\| `([a-z0-9_:]+)`( \\(`_total`\\))? \\| (counter|gauge|histogram) \\| ([^|]*) \\|")

// families reads METRICS.md, but for those of GPUs, which no engine's page has.
func families(t testing.TB) []listed {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(golden.Root(t), "metrics", "METRICS.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []listed
	for _, m := range listedRow.FindAllStringSubmatch(string(b), -1) {
		if strings.HasPrefix(m[1], "paddock_gpu_") {
			continue
		}
		f := listed{name: m[1], kind: m[3]}
		if m[2] != "" {
			f.name += "_total"
		}
		text := strings.NewReplacer("*base*", "gen_ai_operation_name, gen_ai_provider_name, gen_ai_request_model, origin", "`", "").Replace(m[4])
		if text != "none" {
			f.labels = strings.Split(text, ", ")
		}
		out = append(out, f)
	}
	if len(out) < 90 {
		t.Fatalf("%d families in METRICS.md", len(out))
	}
	return out
}

// texts are the label values of an enum's n values, from the first that counts.
func texts[E interface {
	~uint8
	String() string
}](first, n int) []string {
	var out []string
	for i := first; i < n; i++ {
		out = append(out, E(i).String())
	}
	return out
}

// values are the closed lists, by label, or by family and label where a label has
// several.
func values(model string, handlers []string) map[string][]string {
	errors := []string{""} // absent
	for f := metrics.NoFail + 1; int(f) < metrics.NumFailReasons; f++ {
		if e := f.ErrorType(); !slices.Contains(errors, e) {
			errors = append(errors, e)
		}
	}
	v := map[string][]string{
		"gen_ai_operation_name": texts[metrics.Operation](0, metrics.NumOperations),
		"gen_ai_provider_name":  {"paddock"},
		"gen_ai_request_model":  {model}, "model": {model}, "model_name": {model}, "engine": {"0"},
		"origin":     texts[metrics.Origin](0, metrics.NumOrigins),
		"error_type": errors, "class": {"4xx", "5xx", "disconnect"},
		"finish_reason": {"stop", "length", "tool_calls", "stop_sequence"},
		"source":        texts[metrics.PromptSource](0, metrics.NumPromptSources),
		"kind":          texts[metrics.MemoryKind](0, metrics.NumMemoryKinds),
		"position":      {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"},
		"handler":       append([]string{"none", "_OTHER"}, handlers...),
		"method":        {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "_OTHER"},
		"status":        {"1xx", "2xx", "3xx", "4xx", "5xx", "_OTHER"},

		"paddock_request_failure_total reason":          texts[metrics.FailReason](1, metrics.NumFailReasons),
		"paddock_requests_finished_total reason":        texts[metrics.EndReason](0, metrics.NumEndReasons),
		"paddock_num_requests_waiting_by_reason reason": texts[metrics.WaitReason](0, metrics.NumWaitReasons),
		"paddock_admission_rejections_total reason":     texts[metrics.RejectReason](0, metrics.NumRejectReasons),
		"vllm:num_requests_waiting_by_reason reason":    {"capacity", "deferred"},
		"vllm:admission_rejections_total reason":        texts[metrics.RejectReason](0, metrics.NumRejectReasons),
		"vllm:prompt_tokens_by_source_total source":     {"local_compute", "local_cache_hit", "external_kv_transfer"},
		"vllm:request_success_total finished_reason":    {"stop", "length", "abort", "error", "repetition"},
	}
	return v
}

// facts are families whose label values are facts of the process and of the loaded
// model: one series each, which the first page has.
var facts = []string{"target_info", "paddock_build_info", "paddock_cache_config_info", "vllm:cache_config_info"}

// enumerate is every series that a page can ever have for one model and these
// routes: the families of the table with all values of their labels. first is the
// page before any request; probe is a page of another recorder, which tells the
// bounds of families that first has no series of yet.
func enumerate(t testing.TB, model string, handlers []string, first, probe string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	bounds := map[string][]string{}
	for _, s := range append(seriesOf(first), seriesOf(probe)...) {
		if name, rest, ok := strings.Cut(s, "_bucket{"); ok {
			le := rest[strings.LastIndex(rest, `le="`)+4 : len(rest)-2]
			if !slices.Contains(bounds[name], le) {
				bounds[name] = append(bounds[name], le)
			}
		}
	}
	for _, s := range seriesOf(first) {
		if name, _, _ := strings.Cut(s, "{"); slices.Contains(facts, name) {
			all[s] = true
		}
	}
	lists := values(model, handlers)
	for _, f := range families(t) {
		if slices.Contains(facts, f.name) {
			continue
		}
		if f.kind == "histogram" && len(bounds[f.name]) == 0 && !strings.Contains(f.name, "kv_block") { // not sampled here
			t.Errorf("the bounds of %s aren't known", f.name)
		}
		blocks := []string{""}
		for _, label := range f.labels {
			list := lists[f.name+" "+label]
			if list == nil {
				list = lists[label]
			}
			if list == nil {
				t.Errorf("%s has a label %s without a list", f.name, label)
			}
			var next []string
			for _, b := range blocks {
				for _, v := range list {
					if v == "" { // no such label
						next = append(next, b)
						continue
					}
					next = append(next, strings.TrimPrefix(b+","+label+`="`+v+`"`, ","))
				}
			}
			blocks = next
		}
		for _, b := range blocks {
			for _, s := range samples(f, b, bounds[f.name]) {
				all[s] = true
			}
		}
	}
	return all
}

// samples are the lines of one label set.
func samples(f listed, block string, bounds []string) []string {
	braces := func(name, block string) string {
		if block == "" {
			return name
		}
		return name + "{" + block + "}"
	}
	if f.kind != "histogram" {
		return []string{braces(f.name, block)}
	}
	out := []string{braces(f.name+"_sum", block), braces(f.name+"_count", block)}
	for _, le := range bounds {
		out = append(out, braces(f.name+"_bucket", strings.TrimPrefix(block+`,le="`+le+`"`, ",")))
	}
	return out
}
