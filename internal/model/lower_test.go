package model

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/golden"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata from the golden models and this run; commit only differences you understand")

// context is the limit that the printouts are lowered for, as the golden models ran.
const context = 512

func open(t testing.TB, path string) *gguf.File {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// rewriteAll makes testdata anew: for each golden model of an architecture in the
// table its head and its printed program.
func rewriteAll(t *testing.T) {
	dir := golden.Dir(t)
	paths, err := filepath.Glob(filepath.Join(dir, "models", "*.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, path string) {
		f := open(t, path)
		if arch, _ := f.String("general.architecture"); !slices.Contains(Archs(), arch) {
			t.Logf("%s: architecture %s is not in the table", name, arch)
			return
		}
		m, err := Lower(f, Options{Context: context})
		if errors.Is(err, ErrUnsupported) {
			t.Logf("%s: %v", name, err)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{name + ".head": headOf(t, f), name + ".prog": m.Program.String()} {
			if err := os.WriteFile(filepath.Join("testdata", file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, path := range paths {
		write(strings.TrimSuffix(filepath.Base(path), ".gguf"), path)
	}
	write("one_layer", filepath.Join(dir, "quants", "Q8_0.gguf"))
}

// TestPrintouts lowers each head under testdata and holds the program against its
// printout: an architecture, or a feature that changes a program. Every
// architecture must have one.
func TestPrintouts(t *testing.T) {
	if *rewrite {
		rewriteAll(t)
	}
	heads, err := filepath.Glob("testdata/*.head")
	if err != nil {
		t.Fatal(err)
	}
	left := Archs()
	for _, head := range heads {
		name := strings.TrimSuffix(filepath.Base(head), ".head")
		t.Run(name, func(t *testing.T) {
			f, err := gguf.Parse(readHead(t, name).bytes(t))
			if err != nil {
				t.Fatal(err)
			}
			m, err := Lower(f, Options{Context: context})
			if err != nil {
				t.Fatal(err)
			}
			left = slices.DeleteFunc(left, func(arch string) bool { return arch == m.Program.Arch })
			file := filepath.Join("testdata", name+".prog")
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Program.String(); got != string(want) && !factorsOf(f) {
				t.Errorf("the lowering differs from %s (see -rewrite):\n%s", file, got)
			}
		})
	}
	if len(left) > 0 {
		t.Errorf("architectures without a head and a printout under testdata: %v", left)
	}
}

// TestPrintoutsOfGolden is the same for the golden files themselves, whose rotary
// factors are not ones.
func TestPrintoutsOfGolden(t *testing.T) {
	dir := golden.Dir(t)
	heads, err := filepath.Glob("testdata/*.head")
	if err != nil {
		t.Fatal(err)
	}
	for _, head := range heads {
		name := strings.TrimSuffix(filepath.Base(head), ".head")
		path := filepath.Join(dir, "models", name+".gguf")
		if name == "one_layer" {
			path = filepath.Join(dir, "quants", "Q8_0.gguf")
		}
		f := open(t, path)
		m, err := Lower(f, Options{Context: context})
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("testdata", name+".prog"))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Program.String(); got != string(want) {
			t.Errorf("the lowering of %s differs from its printout (see -rewrite):\n%s", path, got)
		}
		if have, err := os.ReadFile(head); err != nil || string(have) != headOf(t, f) {
			t.Errorf("%s is not the head of %s (%v)", head, path, err)
		}
	}
}

// factorsOf tells whether a file brings rotary factors: numbers that a head lacks
// and a printout shows.
func factorsOf(f *gguf.File) bool {
	return slices.ContainsFunc(f.Tensors, func(x gguf.TensorInfo) bool { return strings.HasPrefix(x.Name, "rope_f") })
}
