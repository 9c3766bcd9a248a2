package chat

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type referenceRow struct {
	template, out, fails string
}

// referenceRows are templates with what Jinja itself made of them; see
// testdata/reference.py.
func referenceRows(t testing.TB) ([]referenceRow, *Map) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "context.json"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := DecodeJSON(raw, 0)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join("testdata", "reference.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []referenceRow
	for sc := bufio.NewScanner(f); sc.Scan(); {
		v, err := DecodeJSON(sc.Bytes(), 0)
		if err != nil {
			t.Fatalf("reference.jsonl line %d: %v", len(rows)+1, err)
		}
		field := func(name string) string {
			x, _ := v.(*Map).Get(name)
			s, _ := Text(x)
			return s
		}
		rows = append(rows, referenceRow{field("t"), field("out"), field("fails")})
	}
	return rows, ctx.(*Map)
}

// knownDifferences are the templates on which we differ from Jinja on purpose.
var knownDifferences = map[string]string{
	`{{ (-8)**0.5 }}`:             "no complex numbers",
	`{{ range(200000) }}`:         "a limit error, where Python's is another",
	`{{ lipsum is defined }}`:     "no random text",
	`{{ '😀'.encode() }}`:          "no bytes",
	`{{ self }}`:                  "no inheritance",
	`{% raw %}`:                   "an unfinished block at the very end is an error all the same",
	`{#`:                          "an unfinished comment at the very end is an error all the same",
	`{% block a %}{% endblock %}`: "no inheritance",
	`{% include 'x' %}`:           "known at compile time",
	`{% extends 'x' %}`:           "known at compile time",
	`{% import 'x' as y %}`:       "known at compile time",
	`{% autoescape true %}{% endautoescape %}`: "no HTML",
}

// TestReference holds us against Jinja on small templates, most of them on the
// edge of something.
func TestReference(t *testing.T) {
	rows, ctx := referenceRows(t)
	passed, differ := 0, 0
	for _, row := range rows {
		if knownDifferences[row.template] != "" {
			differ++
			continue
		}
		if strings.Contains(row.out, " at 0x") { // an address
			differ++
			continue
		}
		tpl, err := Compile(row.template)
		var out, kind string
		if err == nil {
			out, err = tpl.Render(ctx, Options{Now: goldenNow})
		}
		var syntax *SyntaxError
		var limit *LimitError
		switch {
		case err == nil:
		case errors.As(err, &syntax):
			kind = "syntax"
		case errors.As(err, &limit):
			kind = "limit"
		default:
			kind = "runtime"
		}
		if kind != row.fails || out != row.out {
			t.Errorf("%s\n got %q %s (%v)\nwant %q %s", row.template, out, kind, err, row.out, row.fails)
			continue
		}
		passed++
	}
	t.Logf("reference templates: %d passed of %d; %d differ on purpose or print an address", passed, len(rows), differ)
	if len(rows) < 1950 {
		t.Errorf("only %d rows", len(rows))
	}
}
