package hf_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/internal/bounded"
	"github.com/paddock-go/paddock/internal/hf"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/safetensors"
	"github.com/paddock-go/paddock/internal/tokenizer"
)

// folder is a small model whose parts a test changes.
type folder struct {
	config  map[string]any
	tensors map[string][]int  // shapes of F32
	types   map[string]string // other types
	files   map[string]string
}

func small() *folder {
	f := &folder{
		config: map[string]any{"architectures": []string{"Qwen3ForCausalLM"}, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
			"num_key_value_heads": 1, "head_dim": 16, "intermediate_size": 32, "max_position_embeddings": 64, "vocab_size": 512, "rms_norm_eps": 1e-6,
			"rope_theta": 10000, "hidden_act": "silu", "tie_word_embeddings": true, "eos_token_id": 3},
		tensors: map[string][]int{"model.embed_tokens.weight": {512, 32}, "model.norm.weight": {32}},
		types:   map[string]string{}, files: map[string]string{},
	}
	for name, shape := range map[string][]int{"input_layernorm": {32}, "post_attention_layernorm": {32}, "self_attn.q_proj": {32, 32},
		"self_attn.k_proj": {16, 32}, "self_attn.v_proj": {16, 32}, "self_attn.o_proj": {32, 32}, "self_attn.q_norm": {16}, "self_attn.k_norm": {16},
		"mlp.gate_proj": {32, 32}, "mlp.up_proj": {32, 32}, "mlp.down_proj": {32, 32}} {
		f.tensors["model.layers.0."+name+".weight"] = shape
	}
	return f
}

func (f *folder) fs(t *testing.T) fstest.MapFS {
	t.Helper()
	header, at := map[string]any{}, 0
	for _, name := range slices.Sorted(maps.Keys(f.tensors)) {
		typ, n := "F32", 4
		if f.types[name] != "" {
			typ = f.types[name]
			n = map[string]int{"F8_E4M3": 1, "BF16": 2, "I32": 4, "U8": 1, "I64": 8}[typ]
		}
		for _, d := range f.tensors[name] {
			n *= d
		}
		header[name] = map[string]any{"dtype": typ, "shape": f.tensors[name], "data_offsets": []int{at, at + n}}
		at += n
	}
	head, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(f.config)
	if err != nil {
		t.Fatal(err)
	}
	weights := append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), make([]byte, at)...)
	m := fstest.MapFS{"m/config.json": {Data: config}, "m/model.safetensors": {Data: weights}}
	for name, data := range f.files {
		m["m/"+name] = &fstest.MapFile{Data: []byte(data)}
	}
	return m
}

func tokenizerJSON(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../vocab/testdata/bytes.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestText: each small file has its say.
func TestText(t *testing.T) {
	f := small()
	open := func() *hf.Model {
		t.Helper()
		m, err := hf.OpenFS(f.fs(t), "m", hf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := model.Lower(m.File, model.Options{}); err != nil {
			t.Fatal(err)
		}
		if name, err := m.File.String("general.name"); name != "m" || err != nil {
			t.Errorf("name %q %v", name, err)
		}
		return m
	}
	if m := open(); m.Text || m.Template != "" {
		t.Error("text of nothing")
	}
	f.files["tokenizer.json"] = tokenizerJSON(t)
	if m := open(); !m.Text || m.Template != "" || !slices.Equal(m.Vocab.Ends, []int32{3}) {
		t.Errorf("tokenizer.json alone: %v %q %v", m.Text, m.Template, m.Vocab.Ends)
	}
	f.files["tokenizer_config.json"] = `{"chat_template":"one","unknown":1}`
	f.files["generation_config.json"] = `{"eos_token_id":[3,null,7,100000],"temperature":0.6}`
	if m := open(); m.Template != "one" || !slices.Equal(m.Vocab.Ends, []int32{3, 7}) {
		t.Errorf("with configs: %q %v", m.Template, m.Vocab.Ends)
	}
	tok, err := tokenizer.New(open().Vocab)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[int32]bool{3: true, 7: true, 8: false} {
		if tok.IsEOG(id) != want {
			t.Errorf("token %d ends a generation: %v", id, !want)
		}
	}
	f.files["chat_template.jinja"] = "two"
	if m := open(); m.Template != "two" {
		t.Errorf("chat_template.jinja: %q", m.Template)
	}
	f.files["generation_config.json"] = `{"eos_token_id":"x"}`
	var e *hf.Error
	if _, err := hf.OpenFS(f.fs(t), "m", hf.Options{}); !errors.As(err, &e) || e.File != "generation_config.json" || strings.Contains(err.Error(), "Go ") {
		t.Errorf("a bad generation_config.json: %v", err)
	}
}

// TestSizes: of the small files no more is read than they can need.
func TestSizes(t *testing.T) {
	for _, name := range []string{"config.json", "tokenizer_config.json", "generation_config.json", "chat_template.jinja", "modules.json"} {
		f := small()
		f.files["tokenizer.json"] = tokenizerJSON(t)
		f.files[name] = strings.Repeat(" ", 16<<20+1)
		var e *hf.Error
		if _, err := hf.OpenFS(f.fs(t), "m", hf.Options{}); !errors.As(err, &e) || e.File != name || !strings.Contains(err.Error(), "16777217 bytes, at most 16777216") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFactors: Granite's four factors come through as numbers of their own.
func TestFactors(t *testing.T) {
	f := small()
	f.config["architectures"] = []string{"GraniteForCausalLM"}
	delete(f.tensors, "model.layers.0.self_attn.q_norm.weight")
	delete(f.tensors, "model.layers.0.self_attn.k_norm.weight")
	want := map[string]float32{"embedding_scale": 12, "residual_scale": 0.25, "attention.scale": 0.125, "logit_scale": 8}
	for theirs, ours := range map[string]string{"embedding_multiplier": "embedding_scale", "residual_multiplier": "residual_scale", "attention_multiplier": "attention.scale", "logits_scaling": "logit_scale"} {
		f.config[theirs] = want[ours]
	}
	m, err := hf.OpenFS(f.fs(t), "m", hf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for key, v := range want {
		if got, err := m.File.Float32("granite." + key); got != v || err != nil {
			t.Errorf("%s is %v, want %v (%v)", key, got, v, err)
		}
	}
	if _, err := model.Lower(m.File, model.Options{}); err != nil {
		t.Error(err)
	}
}

// TestRefused: one change each to a good folder.
func TestRefused(t *testing.T) {
	const q, down = "model.layers.0.self_attn.q_proj.weight", "model.layers.0.mlp.down_proj.weight"
	set := func(key string, v any) func(*folder) { return func(f *folder) { f.config[key] = v } }
	for what, c := range map[string]struct {
		edit func(f *folder)
		in   string // of the error's text
	}{
		"another class":      {set("architectures", []string{"NoSuchForCausalLM"}), "NoSuchForCausalLM"},
		"no class":           {set("architectures", []string{}), "architectures"},
		"no layers":          {set("num_hidden_layers", 0), "num_hidden_layers"},
		"heads below zero":   {set("num_attention_heads", -2), "num_attention_heads"},
		"a huge width":       {set("hidden_size", int64(1)<<40), "hidden_size"},
		"activation":         {set("hidden_act", "gelu"), "hidden_act"},
		"partial rotation":   {set("partial_rotary_factor", 0.5), "partial_rotary_factor"},
		"eps":                {set("rms_norm_eps", 0), "rms_norm_eps"},
		"unknown scaling":    {set("rope_scaling", map[string]any{"rope_type": "mirrored", "factor": 2}), "mirrored"},
		"another dynamic":    {set("rope_scaling", map[string]any{"rope_type": "dynamic", "alpha": 1000}), "alpha"},
		"tables too short":   {set("rope_scaling", map[string]any{"rope_type": "longrope", "long_factor": []int{1}, "short_factor": []int{1}}), "long_factor"},
		"llama3 incomplete":  {set("rope_scaling", map[string]any{"rope_type": "llama3", "factor": 2}), "low_freq_factor"},
		"text for a number":  {set("hidden_size", "32"), "can't be read"},
		"blocks":             {set("quantization_config", map[string]any{"weight_block_size": []int{0, 1}}), "weight_block_size"},
		"a tensor less":      {func(f *folder) { delete(f.tensors, q) }, "attn_q"},
		"an unknown tensor":  {func(f *folder) { f.tensors["model.layers.0.mlp.extra.weight"] = []int{1} }, "extra"},
		"a layer too many":   {func(f *folder) { f.tensors["model.layers.1.mlp.down_proj.weight"] = []int{32, 32} }, "layers.1"},
		"a layer named 00":   {func(f *folder) { f.tensors["model.layers.00.mlp.down_proj.weight"] = []int{32, 32} }, "layers.00"},
		"three dimensions":   {func(f *folder) { f.tensors[q] = []int{2, 16, 32} }, "shape"},
		"no values":          {func(f *folder) { f.tensors[q] = []int{0, 32} }, "shape"},
		"another shape":      {func(f *folder) { f.tensors[down] = []int{16, 64} }, "ffn_down"},
		"whole numbers":      {func(f *folder) { f.types[q] = "I32" }, "I32"},
		"FP8 without scale":  {func(f *folder) { f.types[q] = "F8_E4M3" }, "no scale"},
		"FP8 scales too few": {func(f *folder) { f.types[q] = "F8_E4M3"; f.tensors[q+"_scale"] = []int{31} }, "_scale"},
		"FP8 scales of FP8": {func(f *folder) {
			f.types[q] = "F8_E4M3"
			f.tensors[q+"_scale"] = []int{1}
			f.types[q+"_scale"] = "F8_E4M3"
		}, "_scale"},
		"factors of others": {set("residual_multiplier", 0.5), "residual_multiplier"},
		"no output matrix":  {set("tie_word_embeddings", false), "lm_head"},
		"no rotation": {func(f *folder) {
			f.config["architectures"] = []string{"SmolLM3ForCausalLM"}
			f.config["no_rope_layers"] = []int{0}
		}, "no_rope_layers"},
		"a bad tokenizer": {func(f *folder) { f.files["tokenizer.json"] = "{" }, "tokenizer.json"},
		"a bad config":    {func(f *folder) { f.files["tokenizer.json"] = tokenizerJSON(t); f.files["tokenizer_config.json"] = "[" }, "tokenizer_config.json"},
		"a llama's odd heads": {func(f *folder) {
			f.config["architectures"] = []string{"LlamaForCausalLM"}
			f.config["num_attention_heads"] = 3
			delete(f.tensors, "model.layers.0.self_attn.q_norm.weight")
			delete(f.tensors, "model.layers.0.self_attn.k_norm.weight")
		}, "heads"},
		"experts of none": {func(f *folder) { f.config["architectures"] = []string{"Qwen3MoeForCausalLM"} }, "num_experts"},
	} {
		f := small()
		c.edit(f)
		m, err := hf.OpenFS(f.fs(t), "m", hf.Options{})
		if err == nil { // the shapes are the architecture's business
			_, err = model.Lower(m.File, model.Options{})
		}
		if err == nil || !strings.Contains(err.Error(), c.in) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var e *hf.Error
	if _, err := hf.OpenFS(fstest.MapFS{"m/x": {}}, "m", hf.Options{}); !errors.As(err, &e) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no config: %v", err)
	}
	var s *safetensors.Error
	none := small().fs(t)
	delete(none, "m/model.safetensors")
	if _, err := hf.OpenFS(none, "m", hf.Options{}); !errors.As(err, &s) || !errors.Is(err, safetensors.ErrMissing) {
		t.Errorf("no weights: %v", err)
	}
}

// FuzzConfig: any config.json beside good weights is taken or refused.
func FuzzConfig(f *testing.F) {
	good, err := json.Marshal(small().config)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	for _, config := range hf.ConfigSeeds() {
		f.Add(config)
	}
	f.Add([]byte(`{"architectures":["LlamaForCausalLM"],"rope_scaling":{"rope_type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":64}}`))
	f.Fuzz(func(t *testing.T, config []byte) {
		files := small().fs(t)
		files["m/config.json"] = &fstest.MapFile{Data: config}
		var m *hf.Model
		var err error
		bounded.Hold(t, bounded.Bytes{Base: 4 << 20, Each: 64}, len(config), func() { m, err = hf.OpenFS(files, "m", hf.Options{Q8_0: true}) })
		if err != nil {
			return
		}
		if _, err := model.Lower(m.File, model.Options{}); err == nil {
			for _, x := range m.File.Tensors {
				if err := m.File.ReadTensor(x, func([]byte) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := m.File.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
