package engine

import (
	"strings"
	"testing"

	"github.com/paddock-go/paddock/metrics"
)

// TestCard holds a card against what is known of a made-up model.
func TestCard(t *testing.T) {
	c := needs(t, synthFile(t, "tiny-llama"), "m.gguf", Options{Threads: 1, MaxContext: 700, KVPages: 50, KVType: KVF16, Spec: Spec{NGram: 3}})
	// 3 layers of 256, 4 heads and 2 of keys and values of 64, 512 between gate and down, 512 tokens, not tied.
	const params = 512*256*2 + 256 + 3*(2*256+2*256*256+2*128*256+3*512*256)
	if c.Params != params || c.ActiveParams != params || c.Size != "2.0M" {
		t.Errorf("%d parameters, %d active, %s; want %d", c.Params, c.ActiveParams, c.Size, params)
	}
	if c.Arch != "llama" || c.Name != "m" || c.File.Kind != "GGUF" || c.File.Parts != 1 || c.Vocab != 512 || c.Tokenizer != "byte-level BPE (gpt-2)" || c.Template {
		t.Errorf("%+v", c)
	}
	if c.Context != 700 || c.FileContext != 1024 || c.ContextWhy != "Options.MaxContext" {
		t.Errorf("context %d of %d: %s", c.Context, c.FileContext, c.ContextWhy)
	}
	if want := (Dims{Layers: 3, Embd: 256, Heads: 4, KVHeads: 2, HeadDim: 64, ValueDim: 64, FFN: 512}); c.Dims != want {
		t.Errorf("%+v", c.Dims)
	}
	if want := int64(3 * 2 * 2 * 64 * 2); c.KV.Type != KVF16 || c.KV.PerToken != want || len(c.KV.Groups) != 1 || c.KV.Groups[0].Layers != 3 || c.KV.Pages != 50 || c.KV.TotalTokens != 800 {
		t.Errorf("%+v, want %d a token", c.KV, want)
	}
	if c.Memory.KV != 800*c.KV.PerToken+50*recordBytes {
		t.Errorf("%+v", c.Memory)
	}
	var file, memory int64
	for i, f := range c.Formats {
		file, memory = file+f.FileBytes, memory+f.MemoryBytes
		if i > 0 && f.MemoryBytes > c.Formats[i-1].MemoryBytes {
			t.Errorf("not sorted: %+v", c.Formats)
		}
	}
	if len(c.Formats) != 2 || c.Formats[0].Format != "q8_0" || c.Formats[0].Tensors != 23 || c.Formats[1].Format != "f32" || memory != c.Memory.Weights || file > c.File.Bytes || file < c.File.Bytes*9/10 {
		t.Errorf("%+v in %d of %d bytes", c.Formats, file, c.File.Bytes)
	}
	text := c.String()
	for _, want := range []string{"llama 2.0M, 2,", "700 tokens (Options.MaxContext); the file's is 1024", "q8_0       23 tensors", "50 pages of 16 tokens, 1.5 KiB a token in f16", "KV type     f16: Options.KVType", "KV pages    50: Options.KVPages",
		"threads     1: Options.Threads", "drafts      at most 3 tokens", "serves      text_completion"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "%!") {
		t.Error(text)
	}
}

// TestCardKinds asks of folders, whose weights may be quantised, and of why the pages
// are as many as they are.
func TestCardKinds(t *testing.T) {
	kept := needs(t, smallFolder(t), "m", Options{Threads: 1})
	q8 := needs(t, smallFolder(t), "m", Options{Threads: 1, Weights: WeightsQ8_0})
	if kept.File.Kind != "folder of safetensors" || !kept.Template || kept.Formats[0].Format != "f32" || q8.Formats[0].Format != "q8_0" || kept.Params != q8.Params || kept.Memory.Weights <= q8.Memory.Weights {
		t.Errorf("%s\n%s", kept, q8)
	}
	if kept.Memory.Load <= 0 || q8.Memory.Load <= q8.Memory.Weights { // what is made to be read comes on top
		t.Errorf("%d bytes to quantise, %d to keep", q8.Memory.Load, kept.Memory.Load)
	}
	why := func(c Card) string {
		for _, x := range c.Choices {
			if x.What == "KV pages" {
				return x.Why
			}
		}
		return ""
	}
	if w := why(kept); w != "a full context for each of 64 sequences" || kept.KV.Pages != 64*4 {
		t.Errorf("%d pages: %s", kept.KV.Pages, w)
	}
	files := synthFile(t, "tiny-llama")
	for _, c := range []struct {
		avail int64
		want  string
	}{{11 << 20, "one full context; half of "}, {64 << 20, "half of the "}, {1 << 40, "a full context for each of 64"}} {
		e, err := OpenFS(files, "m.gguf", have(c.avail, nil, Options{Threads: 1}))
		if err != nil {
			t.Fatal(err)
		}
		m := e.Model()
		if w := why(m); !strings.HasPrefix(w, c.want) {
			t.Errorf("%d available: %d pages, %s", c.avail, m.KV.Pages, w)
		}
		if m.KV.Pages < 64 || m.Memory.Weights+m.Memory.KV+m.Memory.Scratch > c.avail {
			t.Errorf("%d available: %s", c.avail, m)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCardExperts asks how many parameters a token goes through.
func TestCardExperts(t *testing.T) {
	var c Card
	if e := openSynth(t, "granitemoe"); e != nil {
		c = e.Model()
	}
	// 8 layers of 24 experts, of which 4 are used: three matrices of 512 by 256.
	if idle := int64(8 * 20 * 3 * 512 * 256); c.Params-c.ActiveParams != idle || c.Dims.Experts != 24 || c.Dims.Used != 4 {
		t.Errorf("%d parameters, %d active, want %d idle; %d of %d experts", c.Params, c.ActiveParams, idle, c.Dims.Used, c.Dims.Experts)
	}
	if !strings.Contains(c.String(), "4 of 24 experts") || !strings.Contains(c.String(), "of them a token's") {
		t.Error(c)
	}
}

func openSynth(t *testing.T, shape string) *Engine {
	t.Helper()
	e, err := OpenFS(synthFile(t, shape), "m.gguf", Options{Threads: 1, KVPages: 512, Metrics: metrics.NewRecorder(metrics.RecorderOptions{})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}
