package engine

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/metrics"
)

// TestKVType opens a model with each element type of the KV cache, and asks that card
// and metrics say so, that memory is what the type takes, and that an answer comes.
func TestKVType(t *testing.T) {
	files := synthFile(t, "tiny-llama")
	for kv, c := range map[KVType]struct {
		perToken int64
		label    metrics.KVType
	}{
		KVF32: {3 * 4 * 64 * 4, metrics.KVF32}, KVF16: {3 * 4 * 64 * 2, metrics.KVF16}, KVBF16: {3 * 4 * 64 * 2, metrics.KVBF16}, KVQ8_0: {3 * 4 * 2 * 34, metrics.KVQ8_0},
	} {
		e, err := OpenFS(files, "m.gguf", have(1<<40, nil, Options{Threads: 1, KVPages: 30, KVType: kv}))
		if err != nil {
			t.Fatal(err)
		}
		card, s := e.Model(), e.Stats()
		if card.KV.Type != kv || card.KV.PerToken != c.perToken || s.KVType != c.label || s.KVType.String() != kv.String() {
			t.Errorf("%v: %+v; metrics say %v", kv, card.KV, s.KVType)
		}
		if want := 30*pageSize*c.perToken + 30*recordBytes; card.Memory.KV != want || s.Memory[metrics.MemoryKV] != want {
			t.Errorf("%v: a cache of %d bytes, metrics say %d, want %d", kv, card.Memory.KV, s.Memory[metrics.MemoryKV], want)
		}
		if got := len(collect(t, e, Request{Tokens: prompt(40, 1), MaxTokens: 5})[0]); got != 5 {
			t.Errorf("%v: %d tokens, want 5", kv, got)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestKVTypeAdvice asks that an error names the smaller types that fit, and no other.
func TestKVTypeAdvice(t *testing.T) {
	files := synthFile(t, "tiny-llama")
	o := Options{Threads: 1, KVPages: 200, KVType: KVQ8_0}
	small := needs(t, files, "m.gguf", o).Memory
	o.KVType = KVF16
	half := needs(t, files, "m.gguf", o).Memory
	for _, c := range []struct {
		available int64
		want      string
	}{
		{half.Weights + half.Scratch + half.KV, "a KVType of f16 instead of f32"},
		{half.Weights + half.Scratch + half.KV - 1, "a KVType of q8_0 instead of f32"},
		{small.Weights + small.Scratch + small.KV - 1, ""},
	} {
		o.KVType = KVF32
		var memory *MemoryError
		if _, err := OpenFS(files, "m.gguf", have(c.available, nil, o)); !errors.As(err, &memory) || !strings.Contains(err.Error(), c.want) || c.want == "" && len(memory.FitKVTypes) > 0 {
			t.Fatalf("%v, want %q", err, c.want)
		}
		for _, o.KVType = range memory.FitKVTypes {
			e, err := OpenFS(files, "m.gguf", have(c.available, nil, o))
			if err != nil {
				t.Errorf("as advised: %v", err)
				continue
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestKVTypeOfEncoders: what is used within one step is not rounded.
func TestKVTypeOfEncoders(t *testing.T) {
	e, err := Open(filepath.Join(golden.Dir(t), "models", "bert.gguf"), Options{Threads: 1, KVType: KVQ8_0, Metrics: metrics.NewRecorder(metrics.RecorderOptions{})})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if card := e.Model(); card.KV.Type != KVF32 || e.Stats().KVType != metrics.KVF32 || !strings.Contains(card.String(), "nothing is kept") {
		t.Errorf("%v", card)
	}
}
