package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite metrics/FAULTS.md from the table")

func root(t *testing.T) string {
	t.Helper()
	dir, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// testsOf lists the tests of a package.
func testsOf(t *testing.T, pkg string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), filepath.FromSlash(pkg), "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("package %s has no tests: %v", pkg, err)
	}
	tests := map[string]bool{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				tests[fn.Name.Name] = true
			}
		}
	}
	return tests
}

// TestEveryFaultCanBePutIn holds the table against the code: the text that a fault
// replaces is there once, what comes of it is Go, and its test exists. That the
// test turns red is for the command to show.
func TestEveryFaultCanBePutIn(t *testing.T) {
	names, tests := map[string]bool{}, map[string]map[string]bool{}
	for _, m := range mutants() {
		if names[m.name] || m.what == "" {
			t.Errorf("%s: the name is taken, or what it breaks isn't said", m.name)
		}
		names[m.name] = true
		text, err := m.apply(root(t))
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.file, text, 0); err != nil {
			t.Errorf("%s: with the fault in it %v", m.name, err)
		}
		if tests[m.pkg] == nil {
			tests[m.pkg] = testsOf(t, m.pkg)
		}
		if !tests[m.pkg][m.test] {
			t.Errorf("%s: package %s has no test %s", m.name, m.pkg, m.test)
		}
	}
}

// TestEveryKnownFaultIsShown: each known fault has tests, and each of them a fault
// that turns it red; or it says why it can't occur.
func TestEveryKnownFaultIsShown(t *testing.T) {
	shown := map[string]bool{}
	for _, m := range mutants() {
		shown[m.pkg+"."+m.test] = true
	}
	named := map[string]bool{}
	for _, k := range slices.Concat(vllmFaults, upstreamFaults, otherFaults) {
		if (len(k.tests) == 0) != (k.reason != "") || k.ref == "" || k.fault == "" {
			t.Errorf("%s: tests or a reason are needed, and not both", k.ref)
		}
		for _, test := range k.tests {
			named[test] = true
			if !shown[test] {
				t.Errorf("%s: no fault is put in to show %s red", k.ref, test)
			}
		}
	}
	if len(vllmFaults) != 25 || len(upstreamFaults) != 20 {
		t.Errorf("%d and %d known faults, want 25 and 20", len(vllmFaults), len(upstreamFaults))
	}
	// The other way round: who is named after a fault is in the list.
	after := regexp.MustCompile(`^Test(VLLM|VLLMOmni|LLMD|LlamaCpp)\d+_|^TestUpstream`)
	for _, pkg := range []string{"engine", "metrics", "internal/api", "internal/access"} {
		for test := range testsOf(t, pkg) {
			if after.MatchString(test) && !named[pkg+"."+test] {
				t.Errorf("%s.%s is named after a fault that no list has", pkg, test)
			}
		}
	}
}

// TestPage keeps metrics/FAULTS.md equal to the table.
func TestPage(t *testing.T) {
	file := filepath.Join(root(t), "metrics", "FAULTS.md")
	got := page()
	if *rewrite {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")), got) {
		t.Errorf("%s differs from the table (%v): go test ./internal/faults -rewrite makes it anew", file, err)
	}
}

func page() []byte {
	var b bytes.Buffer
	b.WriteString(`# Known faults of metrics, and what holds paddock to the right value

Generated from internal/faults; ` + "`go test ./internal/faults -rewrite`" + ` makes it anew. Each test is shown to fail when its fault
is put in, by ` + "`go run ./internal/faults`" + `, which CI runs.
`)
	for _, part := range []struct {
		title string
		list  []known
	}{
		{"Wrong values reported of vLLM and its kin", vllmFaults},
		{"Faults of the product whose contract this is", upstreamFaults},
		{"Complaints about other servers", otherFaults},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| report | what was wrong | held by |\n| --- | --- | --- |\n", part.title)
		for _, k := range part.list {
			held := "can't occur: " + k.reason
			if len(k.tests) > 0 {
				held = "`" + strings.Join(k.tests, "`, `") + "`"
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", k.ref, k.fault, held)
		}
	}
	b.WriteString("\n## Faults that are put in\n\n| fault | file | turns red |\n| --- | --- | --- |\n")
	for _, m := range mutants() {
		fmt.Fprintf(&b, "| %s | %s | `%s.%s` |\n", m.what, m.file, m.pkg, m.test)
	}
	return b.Bytes()
}
