package cuda_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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
// continuations. Work runs at any time after its call. TestArchitectures has the other
// models.
func TestGolden(t *testing.T) {
	d, _ := simulated(t, fakedriver.Options{Seed: 3, Pace: fakedriver.Whenever}, cuda.Options{})
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

// refusedGoldens are the golden models that the device does not take, and why;
// leastGoldens is how many it does.
var refusedGoldens = map[string]string{"models/gptoss_mxfp4": "format of weights mxfp4"}

const leastGoldens = 32

// supported are the golden models of architectures whose ops the device has.
func supported(t *testing.T, d *cuda.Device) (table []backendtest.Golden) {
	left := 0
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
		} else if why, ok := refusedGoldens[g.Path]; !ok || !strings.Contains(err.Error(), why) {
			t.Errorf("%s is refused: %v; expected was %q", g.Path, err, why)
		} else {
			left++
		}
	}
	if left != len(refusedGoldens) || len(table) < leastGoldens {
		t.Errorf("%d golden models are refused, expected %d; %d run, at least %d must", left, len(refusedGoldens), len(table), leastGoldens)
	}
	return table
}
