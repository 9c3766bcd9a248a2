package model

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/golden"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/*.prog from this run; commit only differences you understand")

// printed maps a printout under testdata to the golden file whose lowering it
// shows: each architecture, and each feature that changes a program.
var printed = map[string]string{
	"llama":             "models/llama.gguf",
	"llama3_rope":       "models/llama3_rope.gguf",
	"llama_bias":        "models/llama_bias.gguf",
	"llama_gqa_tied":    "models/llama_gqa_tied.gguf",
	"llama_linear":      "models/llama_linear.gguf",
	"llama_mqa_headdim": "models/llama_mqa_headdim.gguf",
	"llama_yarn":        "models/llama_yarn.gguf",
	"qwen2":             "models/qwen2.gguf",
	"qwen3":             "models/qwen3.gguf",
	"one_layer":         "quants/Q8_0.gguf",
}

func open(t testing.TB, path string) *gguf.File {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestPrintouts(t *testing.T) {
	dir := golden.Dir(t)
	for name, path := range printed {
		t.Run(name, func(t *testing.T) {
			m, err := Lower(open(t, filepath.Join(dir, path)))
			if err != nil {
				t.Fatal(err)
			}
			got, file := m.Program.String(), filepath.Join("testdata", name+".prog")
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the lowering differs from %s (see -rewrite):\n%s", file, got)
			}
		})
	}
}
