package metrics

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReference holds METRICS.md against the table it is made from; -rewrite makes it anew.
func TestReference(t *testing.T) {
	golden(t, "METRICS.md", []byte(reference(t)))
}

func reference(t *testing.T) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	b.WriteString("| family | type | labels | meaning | buckets | moved by |\n| --- | --- | --- | --- | --- | --- |\n")
	layout, err := newLayout(Buckets{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range table {
		f := &table[i]
		name := "`" + f.name + "`"
		if f.kind == counter {
			name += " (`_total`)"
		}
		meaning := f.help
		if f.note != "" {
			meaning += " " + f.note
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", name, f.kind, labelList(f.labels), meaning, bucketList(layout, f), f.moved.link(t))
	}
	b.WriteString(referenceLabels)
	fmt.Fprintf(&b, "| `gen_ai_operation_name` | %s |\n", quoted(func(i int) string { return Operation(i).String() }, 0, NumOperations))
	b.WriteString("| `gen_ai_provider_name` | `paddock` |\n")
	b.WriteString("| `gen_ai_request_model`, `model` | the names of the loaded models; a request that names another counts under the model that owns the route |\n")
	fmt.Fprintf(&b, "| `origin` | %s; anything else is `live` |\n", quoted(func(i int) string { return Origin(i).String() }, 0, NumOrigins))
	fmt.Fprintf(&b, "| `error_type` | %s; absent on success |\n", quoted(func(i int) string { return errorTypes[i] }, 1, len(errorTypes)))
	fmt.Fprintf(&b, "| `finish_reason` | %s |\n", quoted(func(i int) string { return FinishReason(i).String() }, 1, numFinishReasons))
	fmt.Fprintf(&b, "| `reason` of `paddock_requests_finished` | %s |\n", quoted(func(i int) string { return endReasons[i] }, 0, NumEndReasons))
	fmt.Fprintf(&b, "| `reason` of `paddock_num_requests_waiting_by_reason` | %s |\n", quoted(func(i int) string { return waitReasons[i] }, 0, NumWaitReasons))
	fmt.Fprintf(&b, "| `reason` of `paddock_admission_rejections` | %s |\n", quoted(func(i int) string { return rejectReasons[i] }, 0, NumRejectReasons))
	fmt.Fprintf(&b, "| `source` | %s |\n", quoted(func(i int) string { return promptSources[i] }, 0, NumPromptSources))
	fmt.Fprintf(&b, "| `kind` | %s |\n", quoted(func(i int) string { return memoryKinds[i] }, 0, NumMemoryKinds))
	fmt.Fprintf(&b, "| `kv_dtype` | %s |\n", quoted(func(i int) string { return kvTypes[i] }, 0, len(kvTypes)))
	fmt.Fprintf(&b, "| `position` | `0` to `%d` |\n", MaxDraft-1)
	b.WriteString(referenceFailures)
	for f := NoFail + 1; int(f) < NumFailReasons; f++ {
		fmt.Fprintf(&b, "| `%v` | `%s` | `%s` |\n", f, f.Class(), f.ErrorType())
	}
	b.WriteString(gpuReference(t))
	b.WriteString(formatsReference())
	b.WriteString(vllmReference(t))
	return b.String()
}

const referenceHead = `<!-- Generated from table.go: go test ./metrics -run TestReference -rewrite -->

# Metrics

Every family that a recorder shows. In the classic text format a counter's samples, and its HELP and TYPE lines, end in
` + "`_total`" + `; the family's own name, as OpenMetrics has it, doesn't.

Families of requests carry the label ` + "`gen_ai_request_model`" + `, families of an engine ` + "`model`" + `. Both hold the same names; to join them:

` + "```" + `
label_replace(paddock_kv_cache_usage_perc, "gen_ai_request_model", "$1", "model", "(.*)")
` + "```" + `

Engine families count sequences: a request with ` + "`n`" + ` = 3 counts 3. Request families count requests. *Base* stands for the labels
` + "`gen_ai_operation_name`, `gen_ai_provider_name`, `gen_ai_request_model` and `origin`" + `. All counters and gauges of an engine come from
one snapshot per scrape, and all that a request or a step adds is added to every family at once or to none.

`

const referenceLabels = `
## Label values

All are closed lists. Series of these combinations exist at 0 from the opening of their model on, for each operation that it serves and
each origin; those of ` + "`error_type` and of `paddock_request_failure`" + ` from their first failure on.

| label | values |
| --- | --- |
`

const referenceFailures = `
## Failures

| reason | class | error_type |
| --- | --- | --- |
`

func labelList(labels string) string {
	if labels == "" {
		return "none"
	}
	parts := strings.Split(labels, ",")
	for i, p := range parts {
		if p == "base" {
			parts[i] = "*base*"
		} else {
			parts[i] = "`" + p + "`"
		}
	}
	return strings.Join(parts, ", ")
}

// bucketList finds the ladder of a histogram by writing it.
func bucketList(l *layout, f *family) string {
	if f.kind != histogram {
		return ""
	}
	r := &Recorder{layout: l}
	m := &Model{name: "m", rec: r, source: &fixedSource{}, ledger: newLedger(l, new(gate)), serves: [NumOperations]bool{Chat: true}}
	m.last.Residency = true
	r.models = []*Model{m}
	r.http.open()
	r.http.observe(r.http.route("/"), "GET", 200, 0, 0, 0)
	r.http.drain()
	s := &scrape{rec: r, row: f}
	f.write(s)
	b := s.samples[0].hist.Bucket
	for i := range len(b) - 1 {
		if b[i+1].GetUpperBound() != 2*b[i].GetUpperBound() {
			return fmt.Sprintf("%d from %v to %v", len(b), b[0].GetUpperBound(), b[len(b)-1].GetUpperBound())
		}
	}
	return fmt.Sprintf("%v · 2^i, i = 0…%d", b[0].GetUpperBound(), len(b)-1)
}

func quoted(name func(int) string, from, to int) string {
	var names []string
	for i := from; i < to; i++ {
		names = append(names, "`"+name(i)+"`")
	}
	return strings.Join(names, ", ")
}

// link finds the marked lines. A text that stands on no line, or on two, is a fault of the table.
func (m mark) link(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(m.file))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	var links []string
	for want := range strings.SplitSeq(m.text, "\n") {
		has := func(line string) bool { return strings.Contains(line, want) }
		i := slices.IndexFunc(lines, has)
		if i < 0 {
			t.Fatalf("no line of %s has %q", m.file, want)
		}
		if slices.ContainsFunc(lines[i+1:], has) {
			t.Fatalf("more than one line of %s has %q", m.file, want)
		}
		links = append(links, fmt.Sprintf("[%s:%d](%s#L%d)", strings.TrimPrefix(m.file, "../"), i+1, m.file, i+1))
	}
	return strings.Join(links, ", ")
}

// The reference gives ladders as first · 2^i; this is where that is checked.
func TestDefaultLaddersDouble(t *testing.T) {
	l, err := newLayout(Buckets{})
	if err != nil {
		t.Fatal(err)
	}
	for id, ladder := range l.ladders {
		if slices.Contains([]histID{hPageLifetime, hPageIdle, hPageGap}, histID(id)) { // vLLM's own
			continue
		}
		for i := range ladder.limits {
			if i > 0 && ladder.limits[i] != 2*ladder.limits[i-1] {
				t.Errorf("histogram %d: limit %d is %d, not twice %d", id, i, ladder.limits[i], ladder.limits[i-1])
			}
			if ladder.bounds[i] != float64(ladder.limits[i])/ladder.unit {
				t.Errorf("histogram %d: bound %d is %v, its limit %d", id, i, ladder.bounds[i], ladder.limits[i])
			}
		}
	}
	want := []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	for _, id := range []histID{hDuration, hFirstToken, hPerToken} {
		if !slices.Equal(l.ladders[id].bounds, want) {
			t.Errorf("histogram %d has bounds %v", id, l.ladders[id].bounds)
		}
	}
}
