package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/metrics"
)

type named struct {
	name  string
	shape []int
}

// safetensorsOf is a file of made up values.
func safetensorsOf(t *testing.T, list []named) []byte {
	t.Helper()
	header, data, seed := map[string]any{}, []byte(nil), uint32(1)
	for _, x := range list {
		at, n := len(data), 1
		for _, d := range x.shape {
			n *= d
		}
		for range n {
			seed = seed*1664525 + 1013904223
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(int32(seed))/(1<<31)))
		}
		header[x.name] = map[string]any{"dtype": "F32", "shape": x.shape, "data_offsets": []int{at, len(data)}}
	}
	head, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), data...)
}

// smallFolder is a model of one layer as a folder, with a tokenizer and a template.
func smallFolder(t *testing.T) fstest.MapFS {
	t.Helper()
	const layer = "model.layers.0."
	weights := safetensorsOf(t, []named{{"model.embed_tokens.weight", []int{512, 32}}, {"model.norm.weight", []int{32}},
		{layer + "input_layernorm.weight", []int{32}}, {layer + "post_attention_layernorm.weight", []int{32}},
		{layer + "self_attn.q_proj.weight", []int{32, 32}}, {layer + "self_attn.k_proj.weight", []int{32, 32}}, {layer + "self_attn.v_proj.weight", []int{32, 32}},
		{layer + "self_attn.o_proj.weight", []int{32, 32}}, {layer + "mlp.gate_proj.weight", []int{64, 32}}, {layer + "mlp.up_proj.weight", []int{64, 32}}, {layer + "mlp.down_proj.weight", []int{32, 64}}})
	tokens, err := os.ReadFile("../internal/vocab/testdata/bytes.json")
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{
		"m/model.safetensors": {Data: weights},
		"m/config.json": {Data: []byte(`{"architectures":["LlamaForCausalLM"],"hidden_size":32,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":64,
			"max_position_embeddings":64,"vocab_size":512,"rms_norm_eps":1e-5,"tie_word_embeddings":true}`)},
		"m/tokenizer.json":         {Data: tokens},
		"m/tokenizer_config.json":  {Data: []byte(`{}`)},
		"m/generation_config.json": {Data: []byte(`{"eos_token_id":[0,1]}`)},
		"m/chat_template.jinja":    {Data: []byte(`{% for m in messages %}{{ m.content }}{% endfor %}`)},
	}
}

// TestFolder: a folder serves text and chats, from a disk and from memory, kept and as
// Q8_0; a format for its weights is refused elsewhere.
func TestFolder(t *testing.T) {
	files := smallFolder(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	answers := map[Weights][]int32{}
	for _, weights := range []Weights{WeightsKept, WeightsQ8_0} {
		for _, disk := range []bool{true, false} {
			o := Options{Threads: 1, Metrics: metrics.Off, Weights: weights, KVPages: 8}
			e, err := OpenFS(files, "m", o)
			if disk {
				if err == nil {
					err = e.Close()
				}
				if err == nil {
					e, err = Open(filepath.Join(dir, "m"), o)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			if e.Name() != "m" {
				t.Errorf("name %q", e.Name())
			}
			r, err := e.Complete(t.Context(), Request{Messages: []Message{{Role: "user", Content: "hello"}}, MaxTokens: 12, IgnoreEOS: true})
			if err != nil {
				t.Fatal(err)
			}
			var ids []int32
			for _, x := range r.Choices[0].Tokens {
				ids = append(ids, x.ID)
			}
			if len(ids) != 12 || r.Usage.PromptTokens == 0 {
				t.Errorf("%d tokens of a prompt of %d", len(ids), r.Usage.PromptTokens)
			}
			if was, ok := answers[weights]; ok && !slices.Equal(was, ids) {
				t.Errorf("weights %d: %v from memory, %v from disk", weights, ids, was)
			}
			answers[weights] = ids
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var wrong *OptionsError
	if _, err := OpenFS(files, "m", Options{Metrics: metrics.Off, Weights: 9}); !errors.As(err, &wrong) {
		t.Errorf("unknown weights: %v", err)
	}
}
