package hf_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/internal/bounded"
	"github.com/paddock-go/paddock/internal/hf"
	"github.com/paddock-go/paddock/internal/model"
)

// smallOf is a folder of one layer of another class: its own keys and tensors over
// what all have.
func smallOf(class string, config map[string]any, outer, layer map[string][]int) *folder {
	f := &folder{
		config: map[string]any{"architectures": []string{class}, "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2,
			"intermediate_size": 32, "max_position_embeddings": 64, "vocab_size": 512, "rms_norm_eps": 1e-6, "tie_word_embeddings": true, "num_experts_per_tok": 1},
		tensors: maps.Clone(outer), types: map[string]string{}, files: map[string]string{},
	}
	if f.tensors == nil {
		f.tensors = map[string][]int{"model.embed_tokens.weight": {512, 64}, "model.norm.weight": {64}}
	}
	maps.Copy(f.config, config)
	for name, shape := range layer {
		f.tensors["model.layers.0."+name] = shape
	}
	return f
}

const moe = "model.layers.0.mlp.experts."

func smallGPTOSS() *folder {
	f := smallOf("GptOssForCausalLM", map[string]any{"head_dim": 32, "num_local_experts": 2}, nil, map[string][]int{
		"input_layernorm.weight": {64}, "post_attention_layernorm.weight": {64}, "self_attn.sinks": {2}, "mlp.router.weight": {2, 64}, "mlp.router.bias": {2},
		"mlp.experts.gate_up_proj_blocks": {2, 64, 2, 16}, "mlp.experts.gate_up_proj_scales": {2, 64, 2}, "mlp.experts.gate_up_proj_bias": {2, 64},
		"mlp.experts.down_proj_blocks": {2, 64, 1, 16}, "mlp.experts.down_proj_scales": {2, 64, 1}, "mlp.experts.down_proj_bias": {2, 64}})
	for _, p := range []string{"q_proj", "k_proj", "v_proj", "o_proj"} {
		f.tensors["model.layers.0.self_attn."+p+".weight"], f.tensors["model.layers.0.self_attn."+p+".bias"] = []int{64, 64}, []int{64}
	}
	for name := range f.tensors {
		if strings.HasSuffix(name, "_blocks") || strings.HasSuffix(name, "_scales") {
			f.types[name] = "U8"
		}
	}
	return f
}

func smallDeepSeek() *folder {
	f := smallOf("DeepseekV3ForCausalLM", map[string]any{"q_lora_rank": nil, "kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16,
		"n_routed_experts": 4, "n_shared_experts": 1, "moe_intermediate_size": 32, "first_k_dense_replace": 0, "n_group": 2, "topk_group": 1, "norm_topk_prob": true,
		"routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "topk_method": "noaux_tc", "rope_theta": 10000,
		"rope_scaling": map[string]any{"type": "yarn", "factor": 4, "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 32}}, nil,
		map[string][]int{"input_layernorm.weight": {64}, "post_attention_layernorm.weight": {64}, "self_attn.q_proj.weight": {48, 64},
			"self_attn.kv_a_proj_with_mqa.weight": {40, 64}, "self_attn.kv_a_layernorm.weight": {32}, "self_attn.kv_b_proj.weight": {64, 32},
			"self_attn.o_proj.weight": {64, 32}, "mlp.gate.weight": {4, 64}, "mlp.gate.e_score_correction_bias": {4},
			"mlp.shared_experts.gate_proj.weight": {32, 64}, "mlp.shared_experts.up_proj.weight": {32, 64}, "mlp.shared_experts.down_proj.weight": {64, 32}})
	for e := range 4 {
		name := fmt.Sprint(moe, e)
		f.tensors[name+".gate_proj.weight"], f.tensors[name+".up_proj.weight"], f.tensors[name+".down_proj.weight"] = []int{32, 64}, []int{32, 64}, []int{64, 32}
	}
	return f
}

func smallGranite() *folder {
	return smallOf("GraniteMoeSharedForCausalLM", map[string]any{"num_local_experts": 2, "shared_intermediate_size": 32}, nil, map[string][]int{
		"input_layernorm.weight": {64}, "post_attention_layernorm.weight": {64}, "self_attn.q_proj.weight": {64, 64}, "self_attn.k_proj.weight": {64, 64},
		"self_attn.v_proj.weight": {64, 64}, "self_attn.o_proj.weight": {64, 64}, "block_sparse_moe.router.layer.weight": {2, 64},
		"block_sparse_moe.input_linear.weight": {2, 64, 64}, "block_sparse_moe.output_linear.weight": {2, 64, 32},
		"shared_mlp.input_linear.weight": {64, 64}, "shared_mlp.output_linear.weight": {64, 32}})
}

// lowered opens a folder as far as its program, and reads every tensor.
func lowered(files fstest.MapFS, o hf.Options) error {
	m, err := hf.OpenFS(files, "m", o)
	if err != nil {
		return err
	}
	if _, err = model.Lower(m.File, model.Options{}); err == nil {
		for _, x := range m.File.Tensors {
			if err == nil {
				err = m.File.ReadTensor(x, func([]byte) error { return nil })
			}
		}
	}
	if closed := m.File.Close(); err == nil {
		err = closed
	}
	return err
}

type change struct {
	make func() *folder
	edit func(f *folder)
	in   string // of the error's text; "": it opens
}

// try makes one change each to a good folder.
func try(t *testing.T, changes map[string]change) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(changes)) {
		c := changes[what]
		f := c.make()
		if err := lowered(f.fs(t), hf.Options{}); err != nil {
			t.Fatalf("%s: before the change: %v", what, err)
		}
		c.edit(f)
		err := lowered(f.fs(t), hf.Options{Q8_0: true})
		if c.in == "" && err != nil || c.in != "" && (err == nil || !strings.Contains(err.Error(), c.in)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func set(key string, v any) func(*folder) { return func(f *folder) { f.config[key] = v } }

func shape(name string, dims ...int) func(*folder) {
	return func(f *folder) {
		if f.tensors[name] = dims; dims == nil {
			delete(f.tensors, name)
		}
	}
}

// TestRefusedExperts: what the classes with experts do not have, or have otherwise.
func TestRefusedExperts(t *testing.T) {
	const kvb = "model.layers.0.self_attn.kv_b_proj.weight"
	yarn := func(key string, v any) func(f *folder) {
		return func(f *folder) {
			r := maps.Clone(f.config["rope_scaling"].(map[string]any))
			if r[key] = v; v == nil {
				delete(r, key)
			}
			f.config["rope_scaling"] = r
		}
	}
	next := func(f *folder) {
		f.tensors["model.layers.1.eh_proj.weight"] = []int{64, 128}
		f.tensors["model.layers.1.self_attn.o_proj.weight"] = []int{64, 32}
	}
	v2 := func(f *folder) {
		f.config["architectures"] = []string{"DeepseekV2ForCausalLM"}
		maps.Copy(f.config, map[string]any{"norm_topk_prob": false, "scoring_func": "softmax", "topk_method": "greedy"})
	}
	try(t, map[string]change{
		"no change: gpt-oss":      {smallGPTOSS, func(*folder) {}, ""},
		"no change: DeepSeek":     {smallDeepSeek, func(*folder) {}, ""},
		"no change: Granite":      {smallGranite, func(*folder) {}, ""},
		"no experts":              {smallGPTOSS, func(f *folder) { delete(f.config, "num_local_experts") }, "num_local_experts"},
		"blocks without scales":   {smallGPTOSS, shape(moe + "down_proj_scales"), "no scales"},
		"scales of another shape": {smallGPTOSS, shape(moe+"down_proj_scales", 2, 32, 2), "down_proj_scales"},
		"scales of another type":  {smallGPTOSS, func(f *folder) { delete(f.types, moe+"down_proj_scales") }, "down_proj_scales"},
		"blocks of 8":             {smallGPTOSS, shape(moe+"down_proj_blocks", 2, 64, 2, 8), "16"},
		"blocks of three":         {smallGPTOSS, shape(moe+"down_proj_blocks", 2, 64, 16), "four dimensions"},
		"an odd row": {smallGPTOSS, func(f *folder) {
			shape(moe+"gate_up_proj_blocks", 2, 63, 2, 16)(f)
			shape(moe+"gate_up_proj_scales", 2, 63, 2)(f)
		}, "63 rows"},
		"biases of one expert": {smallGPTOSS, shape(moe+"gate_up_proj_bias", 64), "gate_up_proj_bias"},
		"bytes elsewhere": {smallGPTOSS, func(f *folder) {
			f.types["model.layers.0.self_attn.o_proj.weight"] = "U8"
		}, "U8"},
		"both blocks and numbers": {smallGPTOSS, shape(moe+"down_proj", 2, 32, 64), "as f32"},
		"another limit":           {smallGPTOSS, set("swiglu_limit", 6.5), "swiglu_limit"},
		"another layer type":      {smallGPTOSS, set("layer_types", []string{"chunked_attention"}), "chunked_attention"},
		"too many layer types":    {smallGPTOSS, set("layer_types", []string{"full_attention", "full_attention"}), "layer_types"},

		"a next token's layer":       {smallDeepSeek, func(f *folder) { next(f); f.config["num_nextn_predict_layers"] = 1 }, ""},
		"a layer behind without it":  {smallDeepSeek, next, "layers.1"},
		"a huge number of layers":    {smallDeepSeek, set("num_nextn_predict_layers", int64(1)<<40), "num_nextn_predict_layers"},
		"keys and values of others":  {smallDeepSeek, shape(kvb, 32, 64), "kv_b_proj"},
		"keys and values in a line":  {smallDeepSeek, shape(kvb, 2048), "kv_b_proj"},
		"halves that rotate":         {smallDeepSeek, set("rope_interleave", false), "rope_interleave"},
		"a bias of the attention":    {smallDeepSeek, set("attention_bias", true), "attention_bias"},
		"fewer heads of keys":        {smallDeepSeek, set("num_key_value_heads", 1), "num_key_value_heads"},
		"a softmax in the third":     {smallDeepSeek, set("scoring_func", "softmax"), "scoring_func"},
		"another choice":             {smallDeepSeek, set("topk_method", "group_limited_greedy"), "topk_method"},
		"groups that do not divide":  {smallDeepSeek, set("n_group", 3), "expert_group_count"},
		"more dense layers than all": {smallDeepSeek, set("first_k_dense_replace", 2), "first_k_dense_replace"},
		"experts in some layers":     {smallDeepSeek, set("moe_layer_freq", 2), "moe_layer_freq"},
		"no magnitude":               {smallDeepSeek, yarn("mscale_all_dim", nil), "mscale_all_dim"},
		"two magnitudes":             {smallDeepSeek, yarn("mscale", 0.7), "mscale"},
		"a huge number of experts":   {smallDeepSeek, set("n_routed_experts", 1<<20), "n_routed_experts"},
		"an expert less":             {smallDeepSeek, shape(moe + "3.up_proj.weight"), "expert 3 of 4"},
		"an expert more":             {smallDeepSeek, shape(moe+"4.up_proj.weight", 32, 64), "experts.4"},
		"an expert of another shape": {smallDeepSeek, shape(moe+"2.up_proj.weight", 64, 32), "another expert"},
		"the second version":         {smallDeepSeek, v2, ""},
		"its groups by the best":     {smallDeepSeek, func(f *folder) { v2(f); f.config["topk_method"] = "group_limited_greedy" }, "topk_method"},
		"its weights made to sum":    {smallDeepSeek, func(f *folder) { v2(f); f.config["norm_topk_prob"] = true }, "norm_topk_prob"},

		"a vector in FP8": {smallGranite, func(f *folder) {
			const norm = "model.layers.0.input_layernorm.weight"
			f.types[norm], f.tensors[norm+"_scale"] = "F8_E4M3", []int{1}
		}, "matrices"},
		"scales of other experts": {smallGranite, func(f *folder) {
			const down = "model.layers.0.block_sparse_moe.output_linear.weight"
			f.types[down], f.tensors[down+"_scale"] = "F8_E4M3", []int{3, 1, 1}
		}, "output_linear"},
		"gate without up":     {smallGranite, shape("model.layers.0.block_sparse_moe.input_linear.weight", 2, 63, 64), "63 rows"},
		"experts in a line":   {smallGranite, shape("model.layers.0.block_sparse_moe.input_linear.weight", 128), "input_linear"},
		"a shared one less":   {smallGranite, shape("model.layers.0.shared_mlp.output_linear.weight"), "ffn_down_shexp"},
		"a shared one unsaid": {smallGranite, set("shared_intermediate_size", 0), "shexp"},
	})
}

// TestExpertsOfNone: a config that promises experts by the thousand in every layer takes
// no more memory than the tensors that are there.
func TestExpertsOfNone(t *testing.T) {
	f := small()
	f.config["architectures"] = []string{"Qwen3MoeForCausalLM"}
	f.config["num_hidden_layers"], f.config["num_experts"], f.config["num_experts_per_tok"] = 400, 4096, 1
	for _, dense := range []string{"gate", "up", "down"} {
		delete(f.tensors, "model.layers.0.mlp."+dense+"_proj.weight")
	}
	for l := range 400 {
		f.tensors[fmt.Sprintf("model.layers.%d.mlp.experts.0.up_proj.weight", l)] = []int{1, 32}
	}
	files := f.fs(t)
	size := len(files["m/model.safetensors"].Data)
	var err error
	bounded.Hold(t, bounded.Bytes{Base: 4 << 20, Each: 64}, size, func() { _, err = hf.OpenFS(files, "m", hf.Options{}) })
	if err == nil || !strings.Contains(err.Error(), "expert 1 of 4096 is missing") {
		t.Errorf("opened with %v", err)
	}
}

// TestExpertTwice: one expert under two names is not another expert.
func TestExpertTwice(t *testing.T) {
	f := smallDeepSeek()
	const up = "layers.0.mlp.experts.1.up_proj.weight"
	f.tensors[up] = f.tensors["model."+up]
	if f.tensors[up] == nil {
		t.Fatal("the test names no expert")
	}
	if err := lowered(f.fs(t), hf.Options{}); err == nil || !strings.Contains(err.Error(), "is the same tensor") {
		t.Errorf("opened with %v", err)
	}
}

// FuzzExperts: any config.json beside good weights of a class with experts, and any
// files of sentence-transformers beside it, are taken or refused.
func FuzzExperts(f *testing.F) {
	folders := []func() *folder{smallGPTOSS, smallDeepSeek, smallGranite, smallBert}
	for i, small := range folders {
		config, err := json.Marshal(small().config)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), config, "", "")
		f.Add(uint8(i), config, oneDense, `{"pooling_mode_lasttoken":true}`)
	}
	f.Fuzz(func(t *testing.T, i uint8, config []byte, modules, pooling string) {
		files := folders[int(i)%len(folders)]().fs(t)
		files["m/config.json"] = &fstest.MapFile{Data: config}
		if modules != "" {
			files["m/modules.json"] = &fstest.MapFile{Data: []byte(modules)}
			files["m/1_Pooling/config.json"] = &fstest.MapFile{Data: []byte(pooling)}
		}
		bounded.Hold(t, bounded.Bytes{Base: 8 << 20, Each: 64}, len(config)+len(modules)+len(pooling), func() { _ = lowered(files, hf.Options{Q8_0: true}) })
	})
}
