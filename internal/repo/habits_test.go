package repo

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/golden"
)

// TestOnePackageComment: exactly one file of a package says what it is.
func TestOnePackageComment(t *testing.T) {
	docs := map[string][]string{}
	for _, s := range sources(t) {
		if _, ok := docs[s.dir]; !ok {
			docs[s.dir] = nil
		}
		if s.file.Doc != nil {
			docs[s.dir] = append(docs[s.dir], s.path)
		}
	}
	for dir, files := range docs {
		if len(files) != 1 {
			t.Errorf("package %s has %d package comments %v, must have one", dir, len(files), files)
		}
	}
}

// TestExportedHaveComments: what the public packages export is documented.
func TestExportedHaveComments(t *testing.T) {
	public := map[string]bool{".": true, "engine": true, "kvcache": true, "sched": true, "metrics": true, "nvml": true, "examples/demo": true}
	for _, s := range sources(t) {
		if !public[s.dir] {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && !wellKnown[d.Name.Name] {
					t.Errorf("%s: %s has no comment", s.path, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil {
						t.Errorf("%s: type %s has no comment", s.path, ts.Name.Name)
					}
				}
			}
		}
	}
}

// wellKnown are methods whose meaning their interface fixes.
var wellKnown = map[string]bool{"Error": true, "Unwrap": true, "String": true, "ServeHTTP": true, "Is": true, "As": true}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

// TestFileLengths: a file holds one type and one job.
func TestFileLengths(t *testing.T) {
	const aim, most = 400, 500
	for _, s := range sources(t) {
		if strings.Contains(s.text, "// Code generated ") {
			continue
		}
		switch n := strings.Count(s.text, "\n"); {
		case n > most:
			t.Errorf("%s has %d lines, the most is %d: split it", s.path, n, most)
		case n > aim:
			t.Logf("%s has %d lines, over the aim of %d", s.path, n, aim)
		}
	}
}

// TestNoInit: nothing registers itself; tables are literals.
func TestNoInit(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has an init function: use a literal table or a constructor", s.path)
			}
		}
	}
}

// direct are the dependencies that an importer may get; a new one needs a reason.
var direct = []string{
	"github.com/ebitengine/purego", "github.com/google/go-cmp", "github.com/prometheus/client_golang",
	"github.com/prometheus/client_model", "github.com/prometheus/common", "go.etcd.io/bbolt",
	"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/trace", // the second's API needs the first's attributes and status codes
	"go.uber.org/goleak", "golang.org/x/sys", "golang.org/x/text", "pgregory.net/rapid",
}

func TestDependencies(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(golden.Root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^\s+(\S+) v\S+( // indirect)?$`)
	for _, m := range line.FindAllStringSubmatch(string(b), -1) {
		if m[2] == "" && sort.SearchStrings(direct, m[1]) == len(direct) || m[2] == "" && direct[sort.SearchStrings(direct, m[1])] != m[1] {
			t.Errorf("go.mod requires %s, which is not in the list of dependencies", m[1])
		}
	}
}
