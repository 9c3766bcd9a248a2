package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/golden"
)

// modulePath is what import paths of this module begin with.
const modulePath = "github.com/paddock-go/paddock"

// source is one Go file that is no test.
type source struct {
	dir  string // of its package, from the root, with slashes; "." for the root
	path string
	file *ast.File
	text string
}

// sources parses every Go file of the module but tests: all build tags and
// systems, no nested modules, no folders that the go command passes over.
func sources(t *testing.T) []source {
	t.Helper()
	root := golden.Root(t)
	var out []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if rel != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && rel != "." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		out = append(out, source{dir: filepath.ToSlash(filepath.Dir(rel)), path: filepath.ToSlash(rel), file: f, text: string(text)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("only %d files found: the walk is wrong", len(out))
	}
	return out
}

// imports are a file's imports, those of this module without the module path
// ("." for the root).
func (s source) imports(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, i := range s.file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		switch rest, own := strings.CutPrefix(p, modulePath); {
		case own && rest == "":
			p = "."
		case own && rest[0] == '/':
			p = rest[1:]
		}
		out = append(out, p)
	}
	return out
}
