package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/golden"
)

// TestGoldenEmbeddings holds the pooled rows of the models that embed, and asks
// such a model what it can't answer.
func TestGoldenEmbeddings(t *testing.T) {
	dir := golden.Dir(t)
	d := openDoor(t)
	names := []string{"bert", "nomic_bert", "modern_bert", "gemma_embedding", "qwen3_embedding"}
	passed := 0
	for _, name := range names {
		var f struct {
			Prompts []struct {
				Tokens []int32
				Pooled []float64
			}
		}
		readJSON(t, filepath.Join(dir, "models", name+".json"), &f)
		if len(f.Prompts) != 4 {
			t.Fatalf("%s: %d prompts", name, len(f.Prompts))
		}
		worst := 0.0
		for _, ref := range f.Prompts {
			var got struct{ Embedding []float64 }
			if msg := d.ask(map[string]any{"op": "embed", "model": filepath.Join(dir, "models", name+".gguf"), "tokens": ref.Tokens}, &got); msg != "" {
				t.Fatalf("%s: %s", name, msg)
			}
			worst = max(worst, far(got.Embedding, ref.Pooled))
		}
		if worst <= 1e-6 {
			passed++
		} else {
			t.Errorf("%s: 1 − cosine is %.2g, allowed 1e-6", name, worst)
		}
		t.Logf("%-16s largest 1 − cosine %.1e of 1e-06", name, worst)
	}
	t.Logf("embeddings: %d of %d passed", passed, len(names))

	for _, q := range []struct{ op, model, want string }{
		{"logits", "bert", "ask embed"}, {"nll", "bert", "ask embed"}, {"embed", "llama", "pooling_type"},
	} {
		msg := d.ask(map[string]any{"op": q.op, "model": filepath.Join(dir, "models", q.model+".gguf"), "tokens": []int32{2, 3}}, new(any))
		if !strings.Contains(msg, q.want) {
			t.Errorf("%s of %s: %q, want an error with %q", q.op, q.model, msg, q.want)
		}
	}
}

// far is 1 − cosine; lengths that differ are as far as can be.
func far(a, b []float64) float64 {
	if len(a) != len(b) {
		return 2
	}
	var dot, aa, bb float64
	for i := range a {
		dot, aa, bb = dot+a[i]*b[i], aa+a[i]*a[i], bb+b[i]*b[i]
	}
	return 1 - dot/math.Sqrt(aa*bb)
}
