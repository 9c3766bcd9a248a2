package hf

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/internal/filemap"
)

// headerOf reads a config.json alone.
func headerOf(config string) (*config, map[string]any, *header, error) {
	fsys := fstest.MapFS{"config.json": {Data: []byte(config)}}
	c, err := readConfig(func(name string) (*filemap.Map, error) { return filemap.OpenFS(fsys, name) })
	if err != nil {
		return nil, nil, nil, err
	}
	h, err := c.header()
	if err != nil {
		return nil, nil, nil, err
	}
	keys := map[string]any{}
	for _, kv := range h.kvs {
		keys[strings.TrimPrefix(kv.Key, h.arch+".")] = kv.Value
	}
	return c, keys, h, nil
}

// list is n numbers as JSON.
func list(n int, x float64) string {
	return "[" + strings.TrimSuffix(strings.Repeat(fmt.Sprint(x, ","), n), ",") + "]"
}

// sizes are the keys that are the same in all of TestConfigs.
const sizes = `"hidden_size":3072,"num_hidden_layers":4,"num_attention_heads":24,"num_key_value_heads":8,"intermediate_size":8192,"vocab_size":1000,"rms_norm_eps":1e-5,`

// grown is YaRN's magnitude of a stretch.
func grown(f float64) float64 { return 1 + 0.1*math.Log(f) }

// configs are such as models in use have, cut to what is read, and the keys they come to.
var configs = []struct {
	what, config string
	keys         map[string]any // nil: not there
	made         map[string]int
	note         string
}{
	{"Gemma 3 of 4 B, whose text_config leaves most open", `{"architectures":["Gemma3ForConditionalGeneration"],"eos_token_id":[1,106],"text_config":{"hidden_size":2560,
		"intermediate_size":10240,"model_type":"gemma3_text","num_hidden_layers":34,"rope_scaling":{"factor":8.0,"rope_type":"linear"},"sliding_window":1024},"vision_config":{"hidden_size":1152}}`,
		map[string]any{"context_length": uint32(131072), "attention.head_count": uint32(8), "attention.head_count_kv": uint32(4), "attention.key_length": uint32(256),
			"attention.sliding_window": uint32(1024), "rope.freq_base": float32(1e6), "rope.scaling.type": "linear", "rope.scaling.factor": float32(8),
			"rope.freq_base_swa": nil, "attention.layer_norm_rms_epsilon": float32(1e-6), "attention.sliding_window_pattern": nil, "final_logit_softcapping": nil}, nil, ""},
	{"Phi 4 mini", `{"architectures":["Phi3ForCausalLM"],` + sizes + `"hidden_act":"silu","max_position_embeddings":131072,"original_max_position_embeddings":4096,
		"partial_rotary_factor":0.75,"rope_theta":10000.0,"sliding_window":262144,"tie_word_embeddings":true,"rope_scaling":{"type":"longrope","long_factor":` + list(48, 2.5) + `,"short_factor":` + list(48, 1) + `}}`,
		map[string]any{"rope.dimension_count": uint32(96), "attention.sliding_window": uint32(262144), "rope.scaling.original_context_length": uint32(4096),
			"rope.scaling.attn_factor": float32(math.Sqrt(1 + math.Log(32)/math.Log(4096))), "rope.scaling.type": nil},
		map[string]int{longName: 48, shortName: 48}, ""},
	{"OLMo 3", `{"architectures":["Olmo3ForCausalLM"],` + sizes + `"max_position_embeddings":65536,"rope_theta":500000,"sliding_window":4096,"hidden_act":"silu",
		"layer_types":["sliding_attention","sliding_attention","sliding_attention","full_attention"],"rope_scaling":{"attention_factor":1.2079441541679836,"beta_fast":32,"beta_slow":1,
		"factor":8.0,"original_max_position_embeddings":8192,"rope_type":"yarn"}}`,
		map[string]any{"attention.sliding_window": uint32(4096), "attention.sliding_window_pattern": []bool{true, true, true, false}, "rope.scaling.factor": float32(8),
			"rope.scaling.original_context_length": uint32(8192), "rope.scaling.attn_factor": nil, "context_length": uint32(65536)}, nil, ""},
	{"Devstral 2", `{"architectures":["Mistral3ForConditionalGeneration"],"quantization_config":{"activation_scheme":"static","quant_method":"fp8","weight_block_size":null},
		"text_config":{` + sizes + `"head_dim":128,"hidden_act":"silu","max_position_embeddings":393216,"model_type":"ministral3","sliding_window":null,"rope_parameters":{"beta_fast":32.0,"beta_slow":1.0,
		"factor":48.0,"llama_4_scaling_beta":0.1,"mscale":1.0,"mscale_all_dim":1.0,"original_max_position_embeddings":8192,"rope_theta":100000000.0,"rope_type":"yarn","type":"yarn"}}}`,
		map[string]any{"rope.freq_base": float32(1e8), "rope.scaling.factor": float32(48), "rope.scaling.yarn_log_multiplier": float32(1), "rope.scaling.attn_factor": nil,
			"attention.temperature_scale": float32(0.1), "rope.scaling.original_context_length": uint32(8192)}, nil, ""},
	{"YaRN of an odd magnitude", `{"architectures":["LlamaForCausalLM"],` + sizes + `"max_position_embeddings":4096,"rope_scaling":{"type":"yarn","factor":40,"mscale":0.5,"mscale_all_dim":2}}`,
		map[string]any{"rope.scaling.yarn_log_multiplier": float32(2), "rope.scaling.attn_factor": float32((1 + 0.05*math.Log(40)) / grown(40)),
			"rope.scaling.original_context_length": uint32(4096)}, nil, ""},
	{"YaRN of a stated magnitude", `{"architectures":["Qwen3ForCausalLM"],` + sizes + `"max_position_embeddings":4096,"rope_scaling":{"type":"yarn","factor":4,"attention_factor":1.5}}`,
		map[string]any{"rope.scaling.yarn_log_multiplier": nil, "rope.scaling.attn_factor": float32(1.5 / grown(4))}, nil, ""},
	{"LFM 2 of 350 M", `{"architectures":["Lfm2ForCausalLM"],"block_auto_adjust_ff_dim":true,"block_dim":1024,"block_ff_dim":6656,"block_ffn_dim_multiplier":1.0,"block_multiple_of":256,
		"conv_L_cache":3,"conv_bias":false,"full_attn_idxs":[1,3],"hidden_size":1024,"max_position_embeddings":128000,"norm_eps":1e-5,"num_attention_heads":16,"num_heads":16,
		"num_hidden_layers":4,"num_key_value_heads":8,"rope_theta":1000000.0,"tie_embedding":true,"vocab_size":65536}`,
		map[string]any{"feed_forward_length": uint32(4608), "attention.head_count_kv": []int32{0, 8, 0, 8}, "shortconv.l_cache": uint32(3), "attention.sliding_window": nil}, nil, ""},
	{"GLM 4 as newer versions write it", `{"architectures":["Glm4ForCausalLM"],` + sizes + `"head_dim":128,"hidden_act":"silu","max_position_embeddings":32768,"rope_parameters":{"partial_rotary_factor":0.5,
		"rope_theta":10000.0,"rope_type":"default"}}`, map[string]any{"rope.dimension_count": uint32(64)}, nil, ""},
	{"Command R7B", `{"architectures":["Cohere2ForCausalLM"],"hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"intermediate_size":14336,
		"hidden_act":"silu","layer_norm_eps":1e-05,"layer_switch":4,"logit_scale":0.25,"max_position_embeddings":132096,"position_embedding_type":"rope_gptj","rope_scaling":null,"rope_theta":50000,
		"sliding_window":4096,"sliding_window_pattern":4,"use_qk_norm":false,"vocab_size":256000}`,
		map[string]any{"logit_scale": float32(0.25), "attention.sliding_window": uint32(4096), "attention.sliding_window_pattern": uint32(4), "rope.freq_base": float32(50000)}, nil, ""},
	{"GPT-2", `{"architectures":["GPT2LMHeadModel"],"activation_function":"gelu_new","layer_norm_epsilon":1e-05,"n_ctx":1024,"n_embd":768,"n_head":12,"n_layer":12,"n_positions":1024,"vocab_size":50257}`,
		map[string]any{"feed_forward_length": uint32(3072), "context_length": uint32(1024), "rope.freq_base": nil, "attention.layer_norm_epsilon": float32(1e-5)}, nil, ""},
	{"Mistral 7B of 2023", `{"architectures":["MistralForCausalLM"],` + sizes + `"hidden_act":"silu","max_position_embeddings":32768,"sliding_window":4096}`,
		map[string]any{"context_length": uint32(32768), "attention.sliding_window": uint32(4096), pattern: uint32(0)}, nil, ""},
	{"windows above some layers", `{"architectures":["Qwen2ForCausalLM"],` + sizes + `"max_position_embeddings":32768,"sliding_window":4096,"use_sliding_window":true,"max_window_layers":3}`,
		map[string]any{"attention.sliding_window": uint32(4096), pattern: []bool{false, false, false, true}}, nil, ""},
	{"a window that the class does not know", `{"architectures":["LlamaForCausalLM"],` + sizes + `"max_position_embeddings":32768,"sliding_window":4096}`,
		map[string]any{"context_length": uint32(32768), "attention.sliding_window": nil}, nil, ""},
	{"windows that are switched off", `{"architectures":["Qwen2ForCausalLM"],` + sizes + `"max_position_embeddings":32768,"sliding_window":4096,"use_sliding_window":false}`,
		map[string]any{"context_length": uint32(32768), "attention.sliding_window": nil}, nil, ""},
	{"windows in no layer", `{"architectures":["Qwen2ForCausalLM"],` + sizes + `"max_position_embeddings":32768,"sliding_window":4096,"use_sliding_window":true,"layer_types":["full_attention","full_attention","full_attention","full_attention"]}`,
		map[string]any{pattern: []bool{false, false, false, false}}, nil, ""},
	{"a stretch that no sequence reaches", `{"architectures":["LlamaForCausalLM"],` + sizes + `"max_position_embeddings":4096,"rope_scaling":{"type":"dynamic","factor":2.0}}`,
		map[string]any{"rope.scaling.type": nil, "context_length": uint32(4096)}, nil, "dynamic"},
}

// ConfigSeeds are the texts of configs.
func ConfigSeeds() (list [][]byte) {
	for _, x := range configs {
		list = append(list, []byte(x.config))
	}
	return list
}

// TestConfigs: what configs of models in use say comes to these keys.
func TestConfigs(t *testing.T) {
	for _, x := range configs {
		c, keys, h, err := headerOf(x.config)
		if err != nil {
			t.Errorf("%s: %v", x.what, err)
			continue
		}
		for key, want := range x.keys {
			if got := keys[key]; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %s is %v, want %v", x.what, key, got, want)
			}
		}
		for _, m := range h.made {
			if len(m.values) != x.made[m.name] {
				t.Errorf("%s: %d values of %s", x.what, len(m.values), m.name)
			}
		}
		if len(h.made) != len(x.made) {
			t.Errorf("%s: %d tensors made", x.what, len(h.made))
		}
		if said := strings.Join(c.notes, "; "); x.note == "" && said != "" || !strings.Contains(said, x.note) {
			t.Errorf("%s: notes %q", x.what, said)
		}
	}
}

// TestConfigsRefused: values that would change what is computed are named.
func TestConfigsRefused(t *testing.T) {
	for config, in := range map[string]string{
		`"architectures":["Gemma2ForCausalLM"],"query_pre_attn_scalar":144`:                                                                                       "query_pre_attn_scalar",
		`"architectures":["Gemma2ForCausalLM"],"attn_logit_softcapping":null`:                                                                                     "attn_logit_softcapping",
		`"architectures":["Gemma3ForCausalLM"],"attn_logit_softcapping":50.0`:                                                                                     "attn_logit_softcapping",
		`"architectures":["Gemma3ForCausalLM"],"use_bidirectional_attention":true`:                                                                                "use_bidirectional_attention",
		`"architectures":["Gemma3ForConditionalGeneration"],"text_config":[7],"eos_token_id":1`:                                                                   "text_config",
		`"architectures":["Gemma3ForConditionalGeneration"]`:                                                                                                      "text_config",
		`"architectures":["PhiForCausalLM"],"layer_norm_eps":1e-5,"qk_layernorm":true`:                                                                            "qk_layernorm",
		`"architectures":["Starcoder2ForCausalLM"],"hidden_act":"gelu"`:                                                                                           "hidden_act",
		`"architectures":["GPT2LMHeadModel"],"scale_attn_by_inverse_layer_idx":true`:                                                                              "scale_attn_by_inverse_layer_idx",
		`"architectures":["Cohere2ForCausalLM"],"layer_norm_eps":1e-5,"use_qk_norm":true`:                                                                         "use_qk_norm",
		`"architectures":["Lfm2ForCausalLM"]`:                                                                                                                     "layer_types",
		`"architectures":["Lfm2ForCausalLM"],"layer_types":["conv","conv","conv","mamba"]`:                                                                        "mamba",
		`"architectures":["Olmo3ForCausalLM"],"layer_types":["full_attention"]`:                                                                                   "layer_types",
		`"architectures":["Olmo3ForCausalLM"],"layer_types":["full_attention","full_attention","full_attention","chunked_attention"]`:                             "chunked_attention",
		`"architectures":["Olmo3ForCausalLM"],"rope_parameters":{"full_attention":{},"sliding_attention":{"rope_theta":7}}`:                                       "rope_theta",
		`"architectures":["Gemma3ForCausalLM"],"rope_parameters":{"full_attention":{},"sliding_attention":{"rope_type":"linear"}}`:                                "sliding_attention",
		`"architectures":["MistralForCausalLM"],"rope_parameters":{"full_attention":{"rope_type":"yarn","factor":4},"sliding_attention":{"rope_type":"default"}}`: "sliding_attention",
		`"architectures":["Gemma3ForCausalLM"],"rope_scaling":{"rope_type":"yarn","factor":4,"attention_factor":1.5}`:                                             "attention_factor",
		`"architectures":["Phi3ForCausalLM"],"partial_rotary_factor":1.5`:                                                                                         "partial_rotary_factor",
		`"architectures":["Phi3ForCausalLM"],"rope_scaling":{"type":"longrope","long_factor":[0],"short_factor":[1]},"head_dim":2`:                                "long_factor",
		`"architectures":["Phi3ForCausalLM"],"rope_scaling":{"type":"longrope","short_factor":[1]},"head_dim":2`:                                                  "long_factor",
		`"architectures":["LlamaForCausalLM"],"rope_scaling":{"type":"yarn"}`:                                                                                     "factor",
		`"architectures":["LlamaForCausalLM"],"rope_scaling":{"type":"yarn","factor":2,"attention_factor":-1}`:                                                    "attention_factor",
		`"architectures":["LlamaForCausalLM"],"rope_theta":1`:                                                                                                     "rope_theta",
		`"architectures":["LlamaForCausalLM"],"quantization_config":{"quant_method":"gptq"}`:                                                                      "gptq",
		`"architectures":["Ministral3ForCausalLM"],"rope_parameters":{"llama_4_scaling_beta":0.1,"original_max_position_embeddings":-1}`:                          "original_max_position_embeddings",
	} {
		_, _, _, err := headerOf(`{` + sizes + `"max_position_embeddings":4096,` + config + `}`)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), in) {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// TestFamilies: each class is one row, and each name there has its places.
func TestFamilies(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range families {
		if seen[f.class] {
			t.Errorf("%s: two rows", f.class)
		}
		seen[f.class] = true
		if slices.ContainsFunc(f.must, func(m must) bool { return len(m.values) > 0 && !strings.Contains(`"[0123456789tfn`, m.values[0][:1]) }) {
			t.Errorf("%s: values are JSON: %v", f.class, f.must)
		}
		c := &config{family: &f, layers: 1, experts: 1}
		for _, n := range f.names {
			theirs := strings.Replace(strings.Replace(n.theirs, "#", "0", 1), "#", "0", 1)
			if strings.HasSuffix(n.ours, ".weight") || strings.HasSuffix(n.ours, ".bias") {
				if len(f.find(theirs, c)) == 0 {
					t.Errorf("%s: %s is not found", f.class, theirs)
				}
				continue
			}
			if len(f.find(theirs+".weight", c)) == 0 {
				t.Errorf("%s: %s is not found", f.class, theirs)
			}
		}
	}
}
