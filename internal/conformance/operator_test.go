package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddock-go/paddock/metrics"
)

// operatorFiles are what an operator puts beside the server.
var operatorFiles = filepath.Join("..", "..", "metrics")

// TestOperatorFiles: the tools of Prometheus take the rules and the configuration,
// without a word of advice, and the alerts fire when they should.
func TestOperatorFiles(t *testing.T) {
	promtool := tool(t, "promtool")
	for _, args := range [][]string{
		{"check", "rules", "--lint-fatal", filepath.Join(operatorFiles, "alerts.yml")},
		{"check", "config", "--lint-fatal", filepath.Join(operatorFiles, "prometheus.yml")},
		{"test", "rules", filepath.Join("testdata", "alerts.yml")},
	} {
		out, err := exec.Command(promtool, args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "SUCCESS") {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	// Every alert has a case in which it fires.
	cases, err := os.ReadFile(filepath.Join("testdata", "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range alertNames(t) {
		if _, after, ok := strings.Cut(string(cases), "alertname: "+name+"\n"); !ok || !strings.Contains(after, "exp_labels:") {
			t.Errorf("testdata/alerts.yml has no case in which %s fires", name)
		}
	}
}

func alertNames(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(operatorFiles, "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	return names
}

// query is one expression of the files.
type query struct {
	where    string
	expr     string
	exemplar bool // the panel asks for exemplars too
}

// dashboard is what the test reads of it.
type dashboard struct {
	Annotations struct {
		List []struct{ Name, Expr string }
	}
	Templating struct {
		List []struct {
			Name  string
			Query any
		}
	}
	Panels []struct {
		Title   string
		Type    string
		Targets []struct {
			RefID, Expr string
			Exemplar    bool
		}
	}
}

// variables are what Grafana puts for the dashboard's, with all values chosen.
var variables = strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$model", ".*", "$origin", ".*")

// dashboardQueries are the expressions of the dashboard, and the names of labels
// that its variables list the values of, by selector.
func dashboardQueries(t *testing.T) (queries []query, lists [][2]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(operatorFiles, "grafana", "paddock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	add := func(where, expr string, exemplar bool) {
		if expr = variables.Replace(expr); strings.Contains(expr, "$") {
			t.Errorf("%s: %s has a variable that nobody sets", where, expr)
		}
		queries = append(queries, query{where, expr, exemplar})
	}
	for _, a := range d.Annotations.List {
		if a.Expr != "" {
			add("annotation "+a.Name, asked(a.Expr), false)
		}
	}
	for _, p := range d.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %q asks for nothing", p.Title)
		}
		for _, q := range p.Targets {
			add(fmt.Sprintf("panel %q %s", p.Title, q.RefID), q.Expr, q.Exemplar)
		}
	}
	for _, v := range d.Templating.List {
		m, ok := v.Query.(map[string]any)
		if !ok {
			continue
		}
		in := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(fmt.Sprint(m["query"]))
		if in == nil {
			t.Errorf("variable %s: %v is no list of a label's values", v.Name, m)
			continue
		}
		lists = append(lists, [2]string{variables.Replace(in[1]), in[2]})
	}
	return queries, lists
}

// asked makes an alert's expression one that always has a result: its comparisons give 0
// or 1 where they would filter. What remains to be shown for an alert, that its
// limit is reached, is shown on made-up series by promtool.
func asked(expr string) string {
	var out strings.Builder
	depth := 0
	for i := 0; i < len(expr); i++ {
		c := expr[i]
		switch {
		case c == '"': // to its end
			end := i + 1
			for expr[end] != '"' {
				if expr[end] == '\\' {
					end++
				}
				end++
			}
			out.WriteString(expr[i : end+1])
			i = end
			continue
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
		out.WriteByte(c)
		if depth > 0 || !strings.ContainsRune("<>=!", rune(c)) {
			continue
		}
		if i+1 < len(expr) && expr[i+1] == '=' {
			out.WriteByte('=')
			i++
		}
		out.WriteString(" bool ")
	}
	return out.String()
}

func TestAsked(t *testing.T) {
	for expr, want := range map[string]string{
		`up{job="paddock"} == 0`:           `up{job="paddock"} == bool  0`,
		`a{b!="x>y\"",c=~"<"} > 2 and d<1`: `a{b!="x>y\"",c=~"<"} > bool  2 and d< bool 1`,
		`sum(a) >= 1`:                      `sum(a) >= bool  1`,
	} {
		if got := asked(expr); got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
}

// ruleQueries are the expressions of the rules as Prometheus has taken them in,
// with the series that recording rules make. It waits until each was evaluated.
func ruleQueries(t *testing.T, ctx context.Context, p *prometheus) []query {
	t.Helper()
	var data struct {
		Groups []struct {
			Name  string
			Rules []struct{ Name, Query, Type, Health, LastError string }
		}
	}
	for {
		if err := p.call(ctx, "rules", nil, &data); err != nil {
			t.Fatal(err)
		}
		unknown := 0
		for _, g := range data.Groups {
			for _, r := range g.Rules {
				if r.Health == "unknown" {
					unknown++
				}
			}
		}
		if len(data.Groups) > 0 && unknown == 0 {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d rules were not evaluated", unknown)
		case <-time.After(100 * time.Millisecond):
		}
	}
	var queries []query
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			if r.Health != "ok" || r.LastError != "" {
				t.Errorf("rule %s: %s: %s", r.Name, r.Health, r.LastError)
			}
			queries = append(queries, query{r.Type + " rule " + r.Name, asked(r.Query), false})
			if r.Type == "recording" {
				queries = append(queries, query{"recorded " + r.Name, r.Name, false})
			}
		}
	}
	return queries
}

// operatorConfig is the scrape configuration that is shipped, for one target and at
// a faster pace, so that a short test fills the windows. The rules lie beside it.
func operatorConfig(t *testing.T, target string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(operatorFiles, "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs(filepath.Join(operatorFiles, "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	config := string(text)
	for old, now := range map[string]string{
		"127.0.0.1:11540": target, "- alerts.yml": "- " + rules, "interval: 5s": "interval: 500ms", "evaluation_interval: 15s": "evaluation_interval: 500ms",
	} {
		if !strings.Contains(config, old) {
			t.Fatalf("prometheus.yml has no %q", old)
		}
		config = strings.ReplaceAll(config, old, now)
	}
	return config
}

// exercise makes the server do everything that the files show: answers of each kind
// and origin, prefix hits, drafts, preemptions, refusals, failures and hang-ups.
func exercise(t *testing.T, ctx context.Context, target string) {
	t.Helper()
	chat := func(i, tokens int) string {
		return fmt.Sprintf(`{"model":"demo","temperature":0,"max_tokens":%d,"ignore_eos":true,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"What does paddock_kv_pages_used count? one two one two one two (%d)"}]}`, tokens, i)
	}
	trace := 0
	send := func(want int, c call) {
		t.Helper()
		trace++
		c.trace = traceID(trace)
		if status, reply, err := c.do(ctx, target); err != nil || status != want {
			t.Errorf("%s %.80s: status %d, want %d: %v %.200s", c.path, c.body, status, want, err, reply)
		}
	}
	round := func(k int) {
		var wg sync.WaitGroup
		for i := range 10 { // more than the pool has pages for
			wg.Go(func() {
				body := chat(k*10+i, 150)
				origin := []string{"live", "batch", "studio"}[i%3]
				q := call{path: "/v1/chat/completions", body: body, origin: origin, trace: traceID(1000 + k*10 + i)}
				if status, reply, err := q.do(ctx, target); err != nil || status != 200 && status != 429 {
					t.Errorf("status %d, %v: %.200s", status, err, reply)
				}
			})
		}
		wg.Wait()
		send(200, call{path: "/v1/completions", body: `{"model":"demo","prompt":"one two three one two three one two three","max_tokens":20}`})
		send(404, call{path: "/v1/chat/completions", body: `{"model":"gpt","messages":[{"role":"user","content":"hi"}]}`})
		send(400, call{path: "/v1/chat/completions", body: `{"model":"demo","messages":7}`})
		send(400, call{path: "/v1/completions", body: fmt.Sprintf(`{"model":"demo","prompt":%q}`, strings.Repeat("one two ", 4000))})
		send(400, call{path: "/v1/completions", body: fmt.Sprintf(`{"model":"demo","prompt":%q,"max_tokens":16}`, strings.Repeat("one two ", 400))})
		hangUp(t, ctx, target)
	}
	for k := range 3 {
		round(k)
	}
}

// failing is the address of a service whose device has failed, which no request can
// bring about in a sound server.
func failing(t *testing.T) string {
	t.Helper()
	rec := metrics.NewRecorder(metrics.RecorderOptions{})
	m, err := rec.OpenModel("broken", []metrics.Operation{metrics.Chat}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Finish(&metrics.Record{Arrival: rec.Now(), Fail: metrics.EngineError})
	s := httptest.NewServer(metrics.HandlerFor(metrics.HandlerOptions{Recorder: rec}))
	t.Cleanup(func() { s.Close(); _ = m.Close() }) // Close of a model has no error
	return strings.TrimPrefix(s.URL, "http://")
}

// hangUp begins to read an answer and goes.
func hangUp(t *testing.T, ctx context.Context, target string) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, "POST", "http://"+target+"/v1/completions", strings.NewReader(`{"model":"demo","prompt":"a","stream":true,"max_tokens":400,"ignore_eos":true}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadFull(res.Body, make([]byte, 16)); err != nil {
		t.Error(err)
	}
}

// TestOperator: every expression of the dashboard, the alerts and the recording
// rules gives data from a real Prometheus, configured as shipped, after traffic of
// every kind; where a panel asks for exemplars there are some.
func TestOperator(t *testing.T) {
	tool(t, "prometheus")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	target := startServer(t, "--spec", "ngram", "--max-batch", "8", "--max-queue", "4", "--kv-pages", "40")
	begin := time.Now()
	config := operatorConfig(t, target+"\n          - "+failing(t))
	p := startPrometheusWith(t, ctx, config, "exemplar-storage")
	p.waitFor(t, ctx, `count(count_over_time(up{job="paddock"}[1m]) >= 2) == 2`) // both targets
	exercise(t, ctx, target)
	if t.Failed() {
		return
	}
	p.waitFor(t, ctx, idle)
	time.Sleep(3 * scrapeInterval) // the last changes are scraped, and recorded

	queries, lists := dashboardQueries(t)
	panels := len(queries)
	queries = append(queries, ruleQueries(t, ctx, p)...)
	if panels < 60 || len(queries)-panels < 20 {
		t.Fatalf("%d expressions of the dashboard, %d of the rules: something was not read", panels, len(queries)-panels)
	}
	withExemplars := 0
	for _, q := range queries {
		all, err := p.query(ctx, q.expr)
		if err != nil {
			t.Errorf("%s: %v", q.where, err)
			continue
		}
		if !slices.ContainsFunc(all, func(s series) bool { return !math.IsNaN(s.value) && !math.IsInf(s.value, 0) }) {
			t.Errorf("%s: no data: %s gives %v", q.where, q.expr, all)
		}
		if !q.exemplar {
			continue
		}
		found, err := p.exemplars(ctx, q.expr, begin)
		if err != nil || len(found) == 0 {
			t.Errorf("%s: no exemplars of %s: %v", q.where, q.expr, err)
		}
		withExemplars++
	}
	if withExemplars < 12 {
		t.Errorf("only %d expressions ask for exemplars", withExemplars)
	}
	for _, l := range lists {
		var values []string
		if err := p.call(ctx, "label/"+l[1]+"/values", url.Values{"match[]": {l[0]}}, &values); err != nil || len(values) == 0 {
			t.Errorf("the variable of %s has no values: %v", l[1], err)
		}
	}
	t.Logf("%d expressions of the dashboard and %d of the rules give data; %d give exemplars; %d variables have values", panels, len(queries)-panels, withExemplars, len(lists))
}
