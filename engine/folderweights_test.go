package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/metrics"
)

// TestWeightsOfFolders: Q8_0 is made of a folder's matrices and takes less memory; of a
// GGUF file it is refused by a typed error, from a disk and from memory, and nothing of
// the file stays open.
func TestWeightsOfFolders(t *testing.T) {
	files := smallFolder(t)
	var bytes [2]int64
	for i, w := range []Weights{WeightsKept, WeightsQ8_0} {
		e, err := OpenFS(files, "m", Options{Threads: 1, Metrics: metrics.Off, Weights: w, KVPages: 8})
		if err != nil {
			t.Fatal(err)
		}
		bytes[i] = e.Stats().Memory[metrics.MemoryWeights]
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// 512×32, 4 of 32×32 and 3 of 64×32 matrices, of 4 bytes and of 34 for 32 values.
	if saved := bytes[0] - bytes[1]; saved < (512*32+4*32*32+3*64*32)*2 {
		t.Errorf("%d bytes kept, %d as Q8_0", bytes[0], bytes[1])
	}
	dir := golden.Dir(t)
	var wrong *OptionsError
	for _, w := range []Weights{WeightsQ8_0, WeightsQ8_0 + 1} {
		if _, err := Open(filepath.Join(dir, "models", "llama.gguf"), Options{Metrics: metrics.Off, Weights: w}); !errors.As(err, &wrong) {
			t.Errorf("weights %d of a GGUF file: %v", w, err)
		}
		if _, err := OpenFS(os.DirFS(dir), "models/llama.gguf", Options{Metrics: metrics.Off, Weights: w}); !errors.As(err, &wrong) {
			t.Errorf("weights %d of a GGUF file in memory: %v", w, err)
		}
	}
}
