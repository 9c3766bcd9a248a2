package ptxsim

import (
	"os"
	"path/filepath"
	"testing"
)

// TestParseCommitted: each module that the backend ships is understood.
func TestParseCommitted(t *testing.T) {
	files, err := filepath.Glob("../ptx/*.ptx")
	if err != nil || len(files) == 0 {
		t.Fatalf("no modules: %v", err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(string(src))
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(f), err)
			continue
		}
		if len(m.Kernels()) == 0 {
			t.Errorf("%s has no kernel", filepath.Base(f))
		}
	}
}
