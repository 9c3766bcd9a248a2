package repo

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// TestArchitecturesAreNamedOnce asks that the name of an architecture stands in the
// table of internal/model and nowhere else where models run: whatever depends on the
// architecture is in its program.
func TestArchitecturesAreNamedOnce(t *testing.T) {
	all := sources(t)
	names := map[string]bool{}
	for _, s := range all {
		if s.path != "internal/model/arch.go" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			row, ok := n.(*ast.CompositeLit)
			if !ok || row.Type != nil || len(row.Elts) == 0 {
				return true
			}
			if name, ok := row.Elts[0].(*ast.BasicLit); ok && name.Kind == token.STRING {
				text, err := strconv.Unquote(name.Value)
				if err != nil {
					t.Fatal(err)
				}
				names[text] = true
			}
			return true
		})
	}
	if len(names) < 3 {
		t.Fatalf("%d architectures in internal/model/arch.go: the table has another form than this test knows", len(names))
	}
	for _, s := range all {
		if !runsModels(s) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(lit.Value); err == nil && names[text] {
				t.Errorf("%s names the architecture %q: what it does belongs into its own file below internal/model", s.path, text)
			}
			return true
		})
	}
}

// runsModels tells the packages between a file and its tokens. Tokenizers and the
// makers of files have names of their own that are spelt alike.
func runsModels(s source) bool {
	for _, dir := range []string{"engine", "sched", "kvcache", "internal/prog", "internal/session", "internal/backend"} {
		if s.dir == dir || strings.HasPrefix(s.dir, dir+"/") {
			return true
		}
	}
	return s.dir == "internal/model" && s.path != "internal/model/arch.go"
}
