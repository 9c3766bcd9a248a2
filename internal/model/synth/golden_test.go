package synth

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/golden"
)

// TestGolden asks that there is a shape of each golden model's name, of its
// architecture, and no other.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(golden.Dir(t), "models", "*.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".gguf")
		names = append(names, name)
		f, err := gguf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		arch, err := f.String("general.architecture")
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		s, none := findShape(name)
		if err != nil || none != nil || s.arch != arch {
			t.Errorf("%s is of %q, the shape of %q (%v, %v)", name, arch, s.arch, err, none)
		}
	}
	slices.Sort(names)
	if got := Golden(); !slices.Equal(got, names) {
		t.Errorf("there are shapes %v for the models %v", got, names)
	}
}
