package metrics

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// vllmFile has the rows of vllmSource that the view serves: every core one and the features that exist here.
const vllmFile = "testdata/vllm.tsv"

// vllmSource is the list of vLLM's metrics, which lies beside the repository where it is there at all.
var vllmSource = filepath.Join("..", "..", "shared", "reference", "vllm-metrics.tsv")

// vllmFeatures are the features of vLLM that exist here, by how their families begin.
var vllmFeatures = []string{"vllm:spec_decode_", "vllm:estimated_", "vllm:kv_block_"}

// vllmAliases are old names of vLLM that routers still read, and what they are names of.
var vllmAliases = map[string]string{
	"vllm:gpu_cache_usage_perc":          "vllm:kv_cache_usage_perc",
	"vllm:gpu_prefix_cache_queries":      "vllm:prefix_cache_queries",
	"vllm:gpu_prefix_cache_hits":         "vllm:prefix_cache_hits",
	"vllm:gpu_prefix_cache_hit_rate":     "", // of its own: hits / queries
	"vllm:time_per_output_token_seconds": "vllm:inter_token_latency_seconds",
}

// theirs is a row of vllmFile.
type theirs struct{ name, exposed, kind, labels, buckets string }

// The committed list is what the source says, wherever the source is there.
func TestVLLMListIsTheSources(t *testing.T) {
	text, err := os.ReadFile(vllmSource)
	if err != nil {
		t.Logf("no %s beside the repository; %s is not held against it", vllmSource, vllmFile)
		return
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	columns := strings.Split(lines[0], "\t")
	column := func(cells []string, name string) string { return cells[slices.Index(columns, name)] }
	var b strings.Builder
	b.WriteString("name\texposed_as\ttype\tlabels\tbuckets\n")
	for _, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		name, status := column(cells, "name"), column(cells, "paddock")
		has := slices.ContainsFunc(vllmFeatures, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if strings.HasPrefix(name, "vllm:") && (status == "core" || status == "feature" && has) {
			fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\n", name, column(cells, "exposed_as"), column(cells, "type"), column(cells, "labels"), column(cells, "buckets"))
		}
	}
	golden(t, vllmFile, []byte(b.String()))
}

func vllmList(t *testing.T) []theirs {
	t.Helper()
	text, err := os.ReadFile(vllmFile)
	if err != nil {
		t.Fatal(err)
	}
	var rows []theirs
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\r\n", "\n")) {
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		rows = append(rows, theirs{c[0], c[1], c[2], c[3], c[4]})
	}
	if len(rows) < 30 {
		t.Fatalf("%s has %d rows", vllmFile, len(rows))
	}
	return rows[1:]
}

// Every row of the list is on the page as vLLM has it (name, type, labels and their values in order, bounds), and nothing else is
// but the old names.
func TestVLLMTableIsTheirs(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{})
	r.showVLLM()
	written := map[string][]sample{}
	for _, s := range r.read(false, writeVLLM) {
		written[s.row.name] = append(written[s.row.name], s)
	}
	listed := map[string]bool{}
	for _, row := range vllmList(t) {
		name := strings.TrimSuffix(row.name, "_total")
		if row.kind == "histogram" {
			name = row.name
		}
		listed[name] = true
		i := slices.IndexFunc(vllmTable, func(f vllmFamily) bool { return f.name == name })
		if i < 0 {
			t.Errorf("%s is not in the table", row.name)
			continue
		}
		f := &vllmTable[i]
		if got := exposed(&f.family); got != row.exposed || f.kind.String() != row.kind {
			t.Errorf("%s is a %s %s, want a %s %s", row.name, f.kind, got, row.kind, row.exposed)
		}
		if len(written[name]) == 0 {
			t.Errorf("%s has no sample on a page where everything happened", name)
			continue
		}
		checkLabels(t, row, f, written[name])
		for _, s := range written[name] {
			if s.hist == nil {
				continue
			}
			var bounds []float64
			for _, b := range s.hist.Bucket {
				bounds = append(bounds, b.GetUpperBound())
			}
			if want := boundsOf(t, row.buckets); !slices.Equal(bounds, want) {
				t.Errorf("%s has bounds %v, want %v", name, bounds, want)
			}
		}
	}
	for i := range vllmTable {
		f := &vllmTable[i]
		now, old := vllmAliases[f.name]
		if !listed[f.name] && !old {
			t.Errorf("%s is neither in %s nor an old name", f.name, vllmFile)
		}
		if now == "" {
			continue
		}
		g := &vllmTable[slices.IndexFunc(vllmTable, func(f vllmFamily) bool { return f.name == now })]
		if f.kind != g.kind || f.labels != g.labels || f.help != g.help || f.native != g.native {
			t.Errorf("%s and %s are not the same family under two names", f.name, now)
		}
	}
	for name := range vllmAliases {
		if len(written[name]) != 1 {
			t.Errorf("%s has %d samples, want one", name, len(written[name]))
		}
	}
}

// exposed is how the samples of a family begin, in the notation of the list.
func exposed(f *family) string {
	if f.kind == histogram {
		return f.name + "_bucket," + f.name + "_sum," + f.name + "_count"
	}
	return f.sampleName()
}

// checkLabels holds a family's labels against the list's notation: name, or name{value,value,…}.
func checkLabels(t *testing.T, row theirs, f *vllmFamily, samples []sample) {
	t.Helper()
	var names []string
	values := map[string][]string{}
	switch row.name {
	case "vllm:cache_config_info": // "every field, engine"
		names = append(strings.Split(cacheConfigNames, ","), "engine")
		if !slices.Contains(names, "block_size") || !slices.Contains(names, "num_gpu_blocks") || slices.Contains(names, "model_name") {
			t.Errorf("%s has the labels %v", row.name, names)
		}
	case "vllm:admission_rejections": // "reason (…); no engine label"
		names = []string{"reason"}
		values["reason"] = rejectReasons[:]
	default:
		for _, l := range splitLabels(row.labels) {
			name, set, has := strings.Cut(strings.TrimSuffix(l, "}"), "{")
			names = append(names, name)
			if has && name != "position" {
				values[name] = strings.Split(set, ",")
			}
			if name == "position" {
				values[name] = []string{"0", "1", "2", "3"} // of the busy page
			}
		}
	}
	if got := f.labelNames(); !slices.Equal(got, names) {
		t.Errorf("%s has labels %v, want %v", f.name, got, names)
	}
	seen := map[string][]string{}
	for _, s := range samples {
		var got []string
		for _, l := range s.labels {
			got = append(got, l.GetName())
			seen[l.GetName()] = append(seen[l.GetName()], l.GetValue())
		}
		if !slices.Equal(got, names) {
			t.Errorf("a sample of %s has labels %v, want %v", f.name, got, names)
		}
	}
	for name, want := range values {
		if !slices.Equal(seen[name], want) {
			t.Errorf("%s has %s %v, want %v", f.name, name, seen[name], want)
		}
	}
}

// splitLabels splits at the commas outside braces.
func splitLabels(s string) (labels []string) {
	depth, from := 0, 0
	for i, c := range s {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth == 0:
			labels, from = append(labels, s[from:i]), i+1
		}
	}
	return append(labels, s[from:])
}

// boundsOf reads "ladder: 1,2,5" or "ladder: rule (32768 -> 1,2,5)".
func boundsOf(t *testing.T, s string) (bounds []float64) {
	t.Helper()
	_, list, _ := strings.Cut(s, ": ")
	if _, example, ok := strings.Cut(list, fmt.Sprintf("(%d -> ", assumedContext)); ok {
		list = strings.TrimSuffix(example, ")")
	}
	for b := range strings.SplitSeq(list, ",") {
		v, err := strconv.ParseFloat(b, 64)
		if err != nil {
			t.Fatalf("buckets %q: %v", s, err)
		}
		bounds = append(bounds, v)
	}
	return bounds
}

func TestVLLMRows(t *testing.T) {
	seen := map[string]bool{}
	for i := range vllmTable {
		f := &vllmTable[i]
		if seen[f.name] || !strings.HasPrefix(f.name, "vllm:") {
			t.Errorf("%s is there twice, or is not vLLM's", f.name)
		}
		seen[f.name] = true
		if !strings.HasSuffix(f.help, ".") || f.note != "" && !strings.HasSuffix(f.note, ".") || strings.ContainsAny(f.help+f.note, "\n\t|") {
			t.Errorf("%s: help %q or note %q is no sentence", f.name, f.help, f.note)
		}
		if f.native != "" && !slices.ContainsFunc(table, func(n family) bool { return n.name == f.native }) {
			t.Errorf("%s is said to be %s, which there is not", f.name, f.native)
		}
		if (f.moved == mark{}) && f.native == "" {
			t.Errorf("%s is moved nowhere", f.name)
		}
	}
}

// Bounds in the code are in order, each with the limit that it stands for; those of sizes end with the context.
func TestVLLMLadders(t *testing.T) {
	for _, context := range []int{-1, 0, 1, 2, 512, 32768, 131072, 1 << 62} {
		l := newVLLMLayout(context)
		if len(l.ladders) != numVLLMHists || len(l.at) != numVLLMHists {
			t.Fatalf("%d ladders, %d places, want %d", len(l.ladders), len(l.at), numVLLMHists)
		}
		end := 0
		for id, ladder := range l.ladders {
			if l.at[id] != end {
				t.Errorf("histogram %d lies at %d, its predecessor ends at %d", id, l.at[id], end)
			}
			end += ladder.cells()
			for i, limit := range ladder.limits {
				if i > 0 && limit <= ladder.limits[i-1] || float64(limit)/ladder.unit != ladder.bounds[i] {
					t.Errorf("histogram %d: limit %d is %d, its bound %v", id, i, limit, ladder.bounds[i])
				}
			}
		}
		if end != l.size {
			t.Errorf("%d words, the last ends at %d", l.size, end)
		}
	}
	for most, want := range map[int][]float64{
		1: {1}, 4: {1, 2}, 5: {1, 2, 5}, 10: {1, 2, 5, 10}, 512: {1, 2, 5, 10, 20, 50, 100, 200, 500},
	} {
		if got := oneTwoFive(most).bounds; !slices.Equal(got, want) {
			t.Errorf("up to %d: %v, want %v", most, got, want)
		}
	}
}
