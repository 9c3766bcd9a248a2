package cuda_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/golden"
	arch "github.com/paddock-go/paddock/internal/model"
)

// goldenFormats are the golden files of the formats that the device runs.
var goldenFormats = []string{"F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_K_S", "Q4_K_M", "Q6_K"}

// wholeGolden, set to anything in the environment, runs all golden models that the
// device takes with all prompts and continuations: minutes in the interpreter.
const wholeGolden = "PADDOCK_CUDA_GOLDEN"

// TestGolden runs the golden models through the whole backend, kernels in the
// interpreter: all formats, prompts of 1, 7 and 33 tokens and the first of their
// continuations. TestArchitectures has the other models.
func TestGolden(t *testing.T) {
	d, _ := simulated(t, fakedriver.Options{Seed: 3}, cuda.Options{})
	var table []backendtest.Golden
	for _, g := range backendtest.Quants {
		if slices.Contains(goldenFormats, filepath.Base(g.Path)) {
			table = append(table, g)
		}
	}
	if os.Getenv(wholeGolden) != "" {
		backendtest.RunGolden(t, d, append(table, supported(t, d)...))
		return
	}
	backendtest.RunGoldenPart(t, d, table, 33, 2)
}

// supported are the golden models of architectures whose ops the device has.
func supported(t *testing.T, d *cuda.Device) (table []backendtest.Golden) {
	for _, g := range backendtest.Models(t) {
		f, err := gguf.Open(filepath.Join(golden.Dir(t), g.Path+".gguf"))
		if err != nil {
			t.Fatal(err)
		}
		lowered, err := arch.Lower(f, arch.Options{Context: 512})
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Plan(lowered.Program, arch.NewSource(f))
		f.Close()
		if err == nil {
			table = append(table, g)
		} else if !refused(err) {
			t.Error(err)
		} else {
			t.Logf("%s: %v", g.Path, err)
		}
	}
	return table
}
