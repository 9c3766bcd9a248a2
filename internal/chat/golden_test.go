package chat

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/paddock-go/paddock/internal/golden"
)

// goldenNow is the clock that the golden renderings were made with.
var goldenNow = time.Date(2025, 7, 14, 9, 5, 7, 0, time.UTC)

type goldenRow struct {
	template, name  string
	input           *Map
	expected        string
	errText, errFor string // message and kind, where it must fail
}

func goldenRows(t testing.TB) []goldenRow {
	t.Helper()
	f, err := os.Open(filepath.Join(golden.Dir(t), "templates", "vectors.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []goldenRow
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		v, err := DecodeJSON(sc.Bytes(), 0)
		if err != nil {
			t.Fatalf("vectors.jsonl line %d: %v", len(rows)+1, err)
		}
		m := v.(*Map)
		field := func(name string) string {
			v, _ := m.Get(name)
			s, _ := Text(v)
			return s
		}
		in, _ := m.Get("input")
		rows = append(rows, goldenRow{field("template"), field("case"), in.(*Map), field("expected"), field("error"), field("error_kind")})
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// goldenSource is the text of a golden template, held against its sum: the stored
// one, or the one of the npm package that sources.json names, where that was
// fetched. false where it was not, and need not have been.
func goldenSource(t testing.TB, name string) (string, bool) {
	t.Helper()
	var src string
	if fetched, ok := strings.CutPrefix(name, "npm-"); ok {
		if src, ok = golden.FetchedTemplate(t, fetched); !ok {
			return "", false
		}
	} else {
		b, err := os.ReadFile(filepath.Join(golden.Dir(t), "templates", "files", name+".jinja"))
		if err != nil {
			t.Fatal(err)
		}
		src = string(b)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(src))); sum != goldenSums(t)[name] {
		t.Fatalf("%s: sha256 is %s, must be %s", name, sum, goldenSums(t)[name])
	}
	return src, true
}

// goldenSums are the sums that sources.json gives, by template.
func goldenSums(t testing.TB) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(golden.Dir(t), "templates", "sources.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []struct{ Template, SHA256 string }
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, s := range list {
		sums[s.Template] = s.SHA256
	}
	return sums
}

func (row *goldenRow) check(out string, err error) error {
	switch row.errFor {
	case "":
		if err != nil {
			return err
		}
		if out != row.expected {
			return fmt.Errorf("%s", firstDifference(out, row.expected))
		}
	case "raise_exception":
		var raised *RaiseError
		if !errors.As(err, &raised) {
			return fmt.Errorf("want it to refuse with %q, got %v", row.errText, err)
		}
		if raised.Message != row.errText {
			return fmt.Errorf("refused with %q, want %q", raised.Message, row.errText)
		}
	case "runtime":
		var failed *RuntimeError
		if !errors.As(err, &failed) {
			return fmt.Errorf("want it to fail (%s), got %v", row.errText, err)
		}
	default:
		return fmt.Errorf("unknown error_kind %q", row.errFor)
	}
	return nil
}

func firstDifference(got, want string) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	cut := func(s string) string { return s[max(0, i-30):min(len(s), i+60)] }
	return fmt.Sprintf("differs at byte %d: got %q, want %q", i, cut(got), cut(want))
}

// TestGolden renders every golden template over every case it has.
func TestGolden(t *testing.T) {
	rows := goldenRows(t)
	compiled := map[string]*Template{}
	passed, present, absent := 0, 0, map[string]int{}
	required := map[string]int{"qwen2.5-7b-instruct": 0, "qwen3": 0, "smollm3-3b": 0, "phi-3.5-mini-instruct": 0, "vllm-chatml": 0}
	for _, row := range rows {
		tpl := compiled[row.template]
		if tpl == nil {
			src, ok := goldenSource(t, row.template)
			if !ok {
				absent[row.template]++
				continue
			}
			var err error
			if tpl, err = Compile(src); err != nil {
				t.Errorf("%s: %v", row.template, err)
				continue
			}
			compiled[row.template] = tpl
		}
		present++
		out, err := tpl.Render(row.input, Options{Now: goldenNow})
		if err := row.check(out, err); err != nil {
			t.Errorf("%s/%s: %v", row.template, row.name, err)
			continue
		}
		passed++
		if _, ok := required[row.template]; ok {
			required[row.template]++
		}
	}
	for name, n := range required {
		if n < 15 {
			t.Errorf("%s: only %d rows passed", name, n)
		}
	}
	var missing []string
	for name, n := range absent {
		missing = append(missing, fmt.Sprintf("%s (%d)", name, n))
	}
	sort.Strings(missing)
	t.Logf("golden templates: %d rows passed of %d; not fetched (run .ci/tokenizers): %d %s", passed, len(rows), len(missing), strings.Join(missing, ", "))
	if present < 600 || len(rows) < 742 {
		t.Errorf("only %d rows, %d present: the golden data shrank", len(rows), present)
	}
	if len(missing) > 0 && os.Getenv("PADDOCK_GOLDEN") == "required" {
		t.Errorf("templates are missing: %s", strings.Join(missing, ", "))
	}
}
