package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// notOurs are what an operator's expressions read besides the table: what Prometheus itself says, and the collectors of
// HandlerOptions.Runtime.
var notOurs = []string{"up", "process_cpu_seconds_total", "process_resident_memory_bytes", "go_goroutines"}

// sampleNames are all names that a family's samples have.
func sampleNames() map[string]bool {
	names := map[string]bool{}
	for i := range table {
		f := &table[i]
		if f.kind != histogram {
			names[f.sampleName()] = true
			continue
		}
		for _, suffix := range []string{"", "_bucket", "_sum", "_count"} { // the bare name: where native histograms are on
			names[f.name+suffix] = true
		}
	}
	for _, name := range notOurs {
		names[name] = true
	}
	return names
}

var (
	// anyWord is a name in an expression: of a metric, a label, a function or a keyword.
	anyWord = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
	// metricWord is one that only a metric has: labels and functions don't begin like this, or aren't followed like this.
	metricWord = regexp.MustCompile(`^(paddock_|gen_ai_server_|process_|go_|http_|target_info$|up$|vllm:)|:`)
	// quotedText and yamlComment hold no names.
	quotedText  = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	yamlComment = regexp.MustCompile(`(?m)^\s*#.*$`)
)

// TestOperatorNames: every metric that the dashboard and the rules read is in the table, so that no rename blanks a panel or
// silences an alert. That each expression gives data is shown against a real Prometheus, in the conformance module.
func TestOperatorNames(t *testing.T) {
	known := sampleNames()
	expressions := dashboardExpressions(t)
	rules, err := os.ReadFile("alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	text := yamlComment.ReplaceAllString(string(rules), "")
	records, alerts := 0, 0
	for line := range strings.Lines(text) {
		if _, name, ok := strings.Cut(line, "- record: "); ok {
			known[strings.TrimSpace(name)] = true
			records++
		}
		if strings.Contains(line, "- alert: ") {
			alerts++
		}
	}
	if records < 5 || alerts < 10 || len(expressions) < 60 {
		t.Fatalf("%d recording rules, %d alerts, %d expressions of the dashboard: something was not read", records, alerts, len(expressions))
	}
	used := map[string]bool{}
	for _, e := range append(expressions, text) {
		for _, w := range anyWord.FindAllString(quotedText.ReplaceAllString(e, `""`), -1) {
			if !metricWord.MatchString(w) || strings.HasSuffix(w, ":") { // a key of the YAML
				continue
			}
			used[w] = true
			if !known[w] {
				t.Errorf("%s is read, and is in no row of the table:\n%.300s", w, e)
			}
		}
	}
	if len(used) < 40 {
		t.Errorf("only %d names were found", len(used))
	}
	for _, name := range notOurs {
		if !used[name] {
			t.Errorf("%s is read by nothing: take it off the list", name)
		}
	}
}

// dashboardExpressions are all queries of the dashboard: of panels, annotations and variables.
func dashboardExpressions(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("grafana/paddock.json")
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	var out []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for key, e := range v {
				if s, ok := e.(string); ok && (key == "expr" || key == "query" && strings.HasPrefix(s, "label_values(")) {
					out = append(out, s)
				}
				walk(e)
			}
		}
	}
	walk(tree)
	return out
}
