package backendtest

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/golden"
)

// embeddingGate bounds 1 − cosine for arithmetic in float32.
const embeddingGate = 1e-6

// Embeddings lists the golden files whose rows are pooled.
var Embeddings = []string{
	"models/bert", "models/nomic_bert", "models/modern_bert", "models/gemma_embedding", "models/qwen3_embedding",
}

// RunEmbeddings holds a device against the golden embeddings and logs what passed
// of what is there.
func RunEmbeddings(t *testing.T, d backend.Device) {
	dir := golden.Dir(t)
	passed := 0
	var report strings.Builder
	for _, name := range Embeddings {
		ok := t.Run(filepath.Base(name), func(t *testing.T) {
			var file struct {
				Prompts []struct {
					Tokens []int32
					Pooled []float64
				}
			}
			readJSON(t, filepath.Join(dir, name+".json"), &file)
			if len(file.Prompts) == 0 {
				t.Fatal("no prompts")
			}
			p, m := Load(t, d, filepath.Join(dir, name+".gguf"))
			s := NewSession(t, p, m, goldenLimits(p), nil)
			worst := 0.0
			for _, r := range file.Prompts {
				seq := &Seq{}
				got := s.Step(Part{seq, r.Tokens, true})[0]
				s.Free(seq)
				far := 1 - Cosine(got, r.Pooled)
				worst = max(worst, far)
				if !(far <= embeddingGate) {
					t.Errorf("prompt of %d: 1 − cosine is %.3g, allowed %.3g", len(r.Tokens), far, embeddingGate)
				}
			}
			fmt.Fprintf(&report, "%-26s %d prompts, largest 1 − cosine %.2g of %.2g\n", name, len(file.Prompts), worst, embeddingGate)
		})
		if ok {
			passed++
		}
	}
	t.Logf("%s: %d of %d golden embedding files passed\n%s", d.Name(), passed, len(Embeddings), report.String())
}

// Cosine is the cosine of two vectors; NaN where their lengths differ.
func Cosine(a []float32, b []float64) float64 {
	if len(a) != len(b) {
		return math.NaN()
	}
	var dot, aa, bb float64
	for i := range b {
		x := float64(a[i])
		dot, aa, bb = dot+x*b[i], aa+x*x, bb+b[i]*b[i]
	}
	return dot / math.Sqrt(aa*bb)
}
