// Package golden finds the reference data that independent engines made, which
// lies beside the checkout and not in it. Only tests use it.
package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the folder of the golden data, ../shared/golden from the
// module's root. Where it is not there the test is skipped and says so: a
// checkout alone must pass its tests. Where the variable PADDOCK_GOLDEN is
// "required", as CI sets it when the data is there, the test fails instead.
// Safe for concurrent use.
func Dir(t testing.TB) string {
	t.Helper()
	beside := func(root string) string { return filepath.Join(filepath.Dir(root), "shared", "golden") }
	dir := beside(Root(t))
	_, err := os.Stat(dir)
	if err != nil { // of a module inside another one it lies beside the outer one
		if outer := above(filepath.Dir(Root(t))); outer != "" {
			dir = beside(outer)
			_, err = os.Stat(dir)
		}
	}
	if err != nil {
		if os.Getenv("PADDOCK_GOLDEN") == "required" {
			t.Fatalf("golden data is required and not present beside the checkout: %v", err)
		}
		t.Skipf("golden data not present beside the checkout (%v): skipped", err)
	}
	return dir
}

// Root returns the module's root folder: the nearest one upwards from the
// test's working directory that holds a go.mod. Safe for concurrent use.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root := above(dir)
	if root == "" {
		t.Fatal("golden: no go.mod above the working directory")
	}
	return root
}

// above is the nearest folder from dir upwards that holds a go.mod; "": none does.
func above(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
