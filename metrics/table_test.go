package metrics

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// familiesFile is the list that the embedded model is trained on; its sentences are the page's.
const familiesFile = "../examples/demo/train/families.tsv"

// elsewhere are the families of familiesFile that aren't in the table, and where they belong.
var elsewhere = map[string]string{
	"paddock_kv_tier_hits": "only where a tier is on",
}

func TestTableIsTheFamilyList(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash(familiesFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")), "\n")
	if lines[0] != "family\ttype\tlabels\thelp" {
		t.Fatalf("%s begins with %q", familiesFile, lines[0])
	}
	listed := map[string]bool{}
	for _, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		name := cells[0]
		listed[name] = true
		i := slices.IndexFunc(table, func(f family) bool { return f.name == name })
		if i < 0 {
			if elsewhere[name] == "" && !strings.HasPrefix(name, "paddock_gpu_") { // those are package nvml's
				t.Errorf("%s is in %s and not in the table", name, familiesFile)
			}
			continue
		}
		if elsewhere[name] != "" {
			t.Errorf("%s is in the table, so it is not elsewhere", name)
		}
		f := &table[i]
		got := []string{f.name, f.kind.String(), f.labels, f.help}
		if !slices.Equal(got, cells) {
			t.Errorf("table and %s differ:\n got %q\nwant %q", familiesFile, got, cells)
		}
	}
	for i := range table {
		if !listed[table[i].name] && !strings.HasPrefix(table[i].name, "http_") { // those are named by others
			t.Errorf("%s is in the table and not in %s", table[i].name, familiesFile)
		}
	}
}

func TestTableRows(t *testing.T) {
	seen := map[string]bool{}
	for i := range table {
		f := &table[i]
		if seen[f.name] {
			t.Errorf("%s is there twice", f.name)
		}
		seen[f.name] = true
		if strings.HasSuffix(f.name, "_total") || strings.HasSuffix(f.name, "_created") || strings.Contains(f.name, "_uptime") {
			t.Errorf("%s ends in a reserved word", f.name)
		}
		if !strings.HasSuffix(f.help, ".") || strings.ContainsAny(f.help, "\n\t|") {
			t.Errorf("%s: help %q is no sentence", f.name, f.help)
		}
		if f.note != "" && !strings.HasSuffix(f.note, ".") || strings.ContainsAny(f.note, "\n\t|") {
			t.Errorf("%s: note %q is no sentence", f.name, f.note)
		}
		for unit, word := range map[string]string{"seconds": " in seconds", "bytes": "ytes"} {
			if has := strings.HasSuffix(f.name, "_"+unit); has && !strings.Contains(f.help, word) {
				t.Errorf("%s: help %q doesn't say %s", f.name, f.help, unit)
			}
		}
		if f.kind == histogram && strings.Contains(f.help, " seconds") != strings.HasSuffix(f.name, "_seconds") {
			t.Errorf("%s: unit of name and help %q differ", f.name, f.help)
		}
		names := f.labelNames()
		sorted := slices.Clone(names)
		slices.Sort(sorted)
		if len(slices.Compact(sorted)) != len(names) {
			t.Errorf("%s: labels %v repeat", f.name, names)
		}
		if f.write == nil {
			t.Errorf("%s has nothing that writes it", f.name)
		}
	}
}

// Every sample's labels are its row's labels, in order; only error_type may be missing.
func TestSamplesHaveTheirRowsLabels(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{})
	written := map[string]bool{}
	for _, s := range r.read(true) {
		written[s.row.name] = true
		var names []string
		for _, l := range s.labels {
			names = append(names, l.GetName())
		}
		want := s.row.labelNames()
		if n := len(want) - 1; n >= 0 && want[n] == "error_type" && len(names) == n {
			want = want[:n]
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s has labels %v, want %v", s.row.name, names, want)
		}
	}
	for i := range table {
		if !written[table[i].name] {
			t.Errorf("%s has no sample on a page where everything happened", table[i].name)
		}
	}
}

// Every label value that a page can show is in a closed list or the name of a loaded model; request text has no way in.
func TestLabelValuesAreClosed(t *testing.T) {
	r, m := busyRecorder(t, RecorderOptions{})
	for f := range FailReason(NumFailReasons) {
		for op := range Operation(NumOperations) {
			m.Finish(&Record{Operation: op, Fail: f, ID: "planted", Tenant: "planted"})
		}
	}
	closed := map[string][]string{
		"gen_ai_operation_name": {"chat", "text_completion", "embeddings", "rerank", "count_tokens"},
		"gen_ai_provider_name":  {"paddock"},
		"gen_ai_request_model":  {"tiny"},
		"model":                 {"tiny"},
		"origin":                {"live", "batch", "studio"},
		"error_type":            {"400", "401", "404", "405", "413", "429", "500", "503", "504", "disconnect"},
		"class":                 {"4xx", "5xx", "disconnect"},
		"finish_reason":         {"stop", "length", "tool_calls", "stop_sequence"},
		"source":                {"computed", "prefix", "tier"},
		"kind":                  {"weights", "kv", "scratch"},
		"position":              {"0", "1", "2", "3"},
		"handler":               {"POST /v1/chat/completions", "none"},
		"method":                httpMethods[:],
		"status":                httpStatuses[:],
		"reason": {"invalid_request", "context_length", "unauthorized", "not_found", "method_not_allowed", "too_large", "queue_full",
			"engine_error", "draining", "out_of_pages", "deadline", "disconnect", "stop", "length", "abort", "error",
			"capacity", "preempted", "prefix", "restoring", "grammar", "parked"},
	}
	for _, s := range r.read(false) {
		for _, l := range s.labels {
			values, ok := closed[l.GetName()]
			if ok && !slices.Contains(values, l.GetValue()) {
				t.Errorf("%s has %s=%q, outside its list", s.row.name, l.GetName(), l.GetValue())
			}
			if !ok && s.row.name != "paddock_build_info" && s.row.name != "paddock_cache_config_info" {
				t.Errorf("%s has a label %s without a list", s.row.name, l.GetName())
			}
		}
	}
	if page := get(t, HandlerFor(HandlerOptions{Recorder: r})); strings.Contains(page, "planted") {
		t.Error("an id or a tenant is on the page")
	}
}
