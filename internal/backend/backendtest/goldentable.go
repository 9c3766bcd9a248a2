package backendtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// The gates that the golden data's README recommends for our arithmetic.
const (
	floatGate   = 1e-3 // f32 activations
	geluGate    = 5e-3 // the same, with GELU, which the peer reads from a table of halves
	roundedGate = 5e-3 // 8-bit activations in the peer's own blocks
)

// Goldens lists the golden files of models that generate: all architectures that
// there are, and all formats.
func Goldens(t testing.TB) []Golden { return append(Models(t), Quants...) }

// Models lists the golden models that generate, whatever their architecture: one
// that is not supported fails its row. The gate follows from what a model does.
func Models(t testing.TB) []Golden {
	dir := golden.Dir(t)
	paths, err := filepath.Glob(filepath.Join(dir, "models", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d golden models: %v", len(paths), err)
	}
	var list []Golden
	for _, path := range paths {
		var about struct{ Kind string }
		if data, err := os.ReadFile(path); err != nil || json.Unmarshal(data, &about) != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if about.Kind == "generate" {
			list = append(list, Golden{Path: "models/" + strings.TrimSuffix(filepath.Base(path), ".json"), Gate: floatGate})
		}
	}
	return list
}

// fit sets the gate of a model by its program and its weights.
func (g *Golden) fit(m *Random) {
	if !strings.HasPrefix(g.Path, "models/") {
		return
	}
	for _, w := range m.Prog.Weights {
		f, ok := quant.Lookup(m.tensors[w.Tensor].Type)
		g.Rounded = g.Rounded || ok && w.Kind == prog.Matrix && f.Act != quant.ActF32
	}
	switch {
	case g.Rounded:
		g.Gate = roundedGate
	case slices.ContainsFunc(m.Prog.Ops, gelu):
		g.Gate = geluGate
	}
}

func gelu(op prog.Op) bool {
	switch o := op.(type) {
	case prog.GateMul:
		return o.Act == prog.GELU
	case prog.Activate:
		return o.Act == prog.GELU
	case prog.Experts:
		return o.Act == prog.ExpertGELU
	}
	return false
}

// Quants lists the golden files of the formats: f32 activations for F32 and F16
// weights, bf16 for BF16, the peer's own blocks of 8-bit activations for the rest.
var Quants = []Golden{
	{"quants/F32", false, 1e-3, false},
	{"quants/F16", true, 1e-3, false},
	{"quants/BF16", true, 0.25, false},
	{"quants/Q8_0", false, roundedGate, true},
	{"quants/Q4_0", false, roundedGate, true},
	{"quants/Q4_1", false, roundedGate, true},
	{"quants/Q5_0", false, roundedGate, true},
	{"quants/Q5_1", false, roundedGate, true},
	{"quants/Q2_K", false, roundedGate, true},
	{"quants/Q3_K_S", false, roundedGate, true},
	{"quants/Q3_K_M", false, roundedGate, true},
	{"quants/Q4_K_S", false, roundedGate, true},
	{"quants/Q4_K_M", false, roundedGate, true},
	{"quants/Q5_K_S", false, roundedGate, true},
	{"quants/Q5_K_M", false, roundedGate, true},
	{"quants/Q6_K", false, roundedGate, true},
	{"quants/IQ3_S", false, roundedGate, true},
	{"quants/IQ4_NL", false, roundedGate, true},
	{"quants/IQ4_XS", false, roundedGate, true},
	{"quants/MXFP4", false, roundedGate, true},
	{"quants/NVFP4", false, roundedGate, true},
	{"quants/TQ1_0", false, roundedGate, true},
	{"quants/TQ2_0", false, roundedGate, true},
}

// Weights lists the quantised files for arithmetic that leaves activations
// alone.
var Weights = []Golden{
	{"quants/F32", false, 1e-3, false}, // has no weights to expand, and one reference
	{"quants/F16", true, 1e-3, false},
	{"quants/BF16", true, 1e-3, false},
	{"quants/Q8_0", true, 1e-3, false},
	{"quants/Q4_0", true, 1e-3, false},
	{"quants/Q4_1", true, 1e-3, false},
	{"quants/Q5_0", true, 1e-3, false},
	{"quants/Q5_1", true, 1e-3, false},
	{"quants/Q2_K", true, 1e-3, false},
	{"quants/Q3_K_S", true, 1e-3, false},
	{"quants/Q3_K_M", true, 1e-3, false},
	{"quants/Q4_K_S", true, 1e-3, false},
	{"quants/Q4_K_M", true, 1e-3, false},
	{"quants/Q5_K_S", true, 1e-3, false},
	{"quants/Q5_K_M", true, 1e-3, false},
	{"quants/Q6_K", true, 1e-3, false},
	{"quants/IQ3_S", true, 1e-3, false},
	{"quants/IQ4_NL", true, 1e-3, false},
	{"quants/IQ4_XS", true, 1e-3, false},
	{"quants/MXFP4", true, 1e-3, false},
	{"quants/NVFP4", true, 1e-3, false},
	{"quants/TQ1_0", true, 1e-3, false},
	{"quants/TQ2_0", true, 1e-3, false},
}
