package access

import (
	_ "embed"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http/httptest"
	"testing"
)

// A listener of both IP versions reports a peer on 127.0.0.1 as ::ffff:127.0.0.1.
func TestUpstreamMapped_IPv4LoopbackIsLocal(t *testing.T) {
	for peer, want := range map[string]bool{
		"[::ffff:127.0.0.1]:4000": true, "[::ffff:127.9.9.9]:4000": true, "[::ffff:7f00:1]:4000": true,
		"[::ffff:10.0.0.1]:4000": false, "[::127.0.0.1]:4000": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = peer
		if got := Loopback(r); got != want {
			t.Errorf("%s: %v, want %v", peer, got, want)
		}
	}
}

//go:embed access.go
var source string // what is compiled, which internal/faults changes

// Keys are compared in constant time. A clock can't show that soundly, so the code
// is looked at: Key decides by crypto/subtle, and by comparing no text but that of
// the scheme.
func TestUpstreamKey_ComparedInConstantTime(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "access.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	constant := false
	ast.Inspect(f, func(n ast.Node) bool {
		fn, ok := n.(*ast.FuncDecl)
		if !ok || fn.Name.Name != "Key" {
			return true
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				constant = constant || n.Sel.Name == "ConstantTimeCompare"
			case *ast.BinaryExpr:
				if n.Op != token.EQL && n.Op != token.NEQ {
					break
				}
				if lit, ok := n.Y.(*ast.BasicLit); !ok || lit.Value != `""` && lit.Value != "1" {
					t.Errorf("at byte %d two values are compared", n.OpPos)
				}
			}
			return true
		})
		return false
	})
	if !constant {
		t.Error("Key does not use crypto/subtle")
	}
}
