package session_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/hf"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/quant"
)

// scalingOf is a rope_scaling as configs have it, of a golden file's keys.
func (r *refolder) scalingOf(kind string, more map[string]any) map[string]any {
	s := map[string]any{"rope_type": kind}
	if kind != "longrope" {
		s["factor"] = r.number("rope.scaling.factor")
	}
	if n := r.count("rope.scaling.original_context_length"); n > 0 && kind == "yarn" {
		s["original_max_position_embeddings"] = n
	}
	maps.Copy(s, more)
	return s
}

// less takes 1 from the norms, which the class multiplies by 1 + w.
func (r *refolder) less() {
	r.t.Helper()
	for name, x := range r.out {
		if !strings.HasSuffix(name, "norm.weight") {
			continue
		}
		values := make([]float32, x.shape[0])
		format, _ := quant.Lookup(quant.F32)
		format.Decode(values, x.data)
		for i, v := range values {
			if values[i] = v - 1; values[i]+1 != v {
				r.t.Fatalf("%s: no float32 is %v less 1", name, v)
			}
		}
		_, b := encoded(quant.F32)("", values)
		r.out[name] = theirs{x.dtype, x.shape, b}
	}
}

// halved puts the rows of queries and keys where a class has them that rotates halves.
func (r *refolder) halved() {
	for name, heads := range map[string]uint32{"q_proj": r.count("attention.head_count"), "k_proj": r.count("attention.head_count_kv")} {
		for full, x := range r.out {
			if strings.Contains(full, "self_attn."+name) {
				r.out[full] = theirs{x.dtype, x.shape, untwist(x.data, int(heads), int(x.shape[0]))}
			}
		}
	}
}

var decoderFeed = map[string]string{"ffn_gate": "model.layers.#.mlp.gate_proj", "ffn_up": "model.layers.#.mlp.up_proj", "ffn_down": "model.layers.#.mlp.down_proj"}

func gemma1(r *refolder) map[string]any {
	config := r.decoderConfig("GemmaForCausalLM")
	delete(config, "tie_word_embeddings") // as files of a class have it that is tied by default
	config["head_dim"], config["hidden_act"], config["hidden_activation"] = r.count("attention.key_length"), "gelu", nil
	r.move(decoderOuter, decoderNorms)
	r.move(nil, decoderHeads)
	r.move(nil, decoderFeed)
	r.less()
	return config
}

// gemmaLayers are Gemma 2 and 3 but for the config's keys of their own.
func gemmaLayers(r *refolder, class string) map[string]any {
	config := r.decoderConfig(class)
	delete(config, "tie_word_embeddings")
	delete(config, "hidden_act")
	config["hidden_activation"], config["head_dim"] = "gelu_pytorch_tanh", r.count("attention.key_length")
	config["query_pre_attn_scalar"], config["sliding_window"] = config["head_dim"], r.count("attention.sliding_window")
	const l = "model.layers.#."
	r.move(decoderOuter, decoderHeads)
	r.move(nil, decoderFeed)
	r.move(nil, map[string]string{"attn_norm": l + "input_layernorm", "post_attention_norm": l + "post_attention_layernorm", "ffn_norm": l + "pre_feedforward_layernorm",
		"post_ffw_norm": l + "post_feedforward_layernorm", "attn_q_norm": l + "self_attn.q_norm", "attn_k_norm": l + "self_attn.k_norm"})
	r.less()
	return config
}

func gemma2(r *refolder) map[string]any {
	config := gemmaLayers(r, "Gemma2ForCausalLM")
	config["attn_logit_softcapping"], config["final_logit_softcapping"] = r.number("attn_logit_softcapping"), r.number("final_logit_softcapping")
	return config
}

func gemma3(r *refolder) map[string]any {
	config := gemmaLayers(r, "Gemma3ForCausalLM")
	config["rope_local_base_freq"], config["sliding_window_pattern"] = r.number("rope.freq_base_swa"), 6
	config["attn_logit_softcapping"], config["final_logit_softcapping"] = nil, nil
	config["rope_scaling"] = r.scalingOf("linear", nil)
	return config
}

// gemma3Images is Gemma 3 beside a part that reads images, and its config as newer
// versions write it.
func gemma3Images(r *refolder) map[string]any {
	text := gemma3(r)
	delete(text, "sliding_window_pattern")
	delete(text, "rope_local_base_freq")
	delete(text, "rope_scaling")
	for l := range r.layers {
		text["layer_types"] = append(typesOf(text), map[bool]string{true: "full_attention", false: "sliding_attention"}[l%6 == 5])
	}
	text["rope_parameters"] = map[string]any{
		"full_attention":    r.scalingOf("linear", map[string]any{"rope_theta": text["rope_theta"]}),
		"sliding_attention": map[string]any{"rope_type": "default", "rope_theta": r.number("rope.freq_base_swa")},
	}
	delete(text, "rope_theta")
	config := beside(r, text, "Gemma3ForConditionalGeneration")
	config["boi_token_index"] = 3
	return config
}

func typesOf(config map[string]any) []string {
	list, _ := config["layer_types"].([]string)
	return list
}

// beside puts a text model's folder into one of a class that reads images too.
func beside(r *refolder, text map[string]any, class string) map[string]any {
	for name, x := range maps.Clone(r.out) {
		delete(r.out, name)
		r.out["language_model."+name] = x
	}
	image := theirs{"F32", []uint64{2, 3, 2, 2}, make([]byte, 96)} // a convolution of patches
	r.out["vision_tower.embeddings.patch_embedding.weight"] = image
	r.out["multi_modal_projector.linear_1.weight"] = theirs{"F32", []uint64{2, 2}, make([]byte, 16)}
	delete(text, "architectures")
	return map[string]any{"architectures": []string{class}, "text_config": text, "vision_config": map[string]any{"hidden_size": 2, "num_hidden_layers": 1}}
}

func phi2(r *refolder) map[string]any {
	config := r.decoderConfig("PhiForCausalLM")
	delete(config, "rms_norm_eps")
	config["layer_norm_eps"], config["hidden_act"] = r.number("attention.layer_norm_epsilon"), "gelu_new"
	config["num_key_value_heads"], config["qk_layernorm"] = nil, false
	config["partial_rotary_factor"] = float64(r.count("rope.dimension_count")) / float64(r.count("embedding_length")/r.count("attention.head_count"))
	const l = "model.layers.#."
	r.move(map[string]string{"token_embd": "model.embed_tokens", "output_norm": "model.final_layernorm", "output": "lm_head"},
		map[string]string{"attn_norm": l + "input_layernorm", "attn_q": l + "self_attn.q_proj", "attn_k": l + "self_attn.k_proj", "attn_v": l + "self_attn.v_proj",
			"attn_output": l + "self_attn.dense", "ffn_up": l + "mlp.fc1", "ffn_down": l + "mlp.fc2"})
	return config
}

func phi3(r *refolder) map[string]any {
	config := r.decoderConfig("Phi3ForCausalLM")
	config["original_max_position_embeddings"] = r.count("rope.scaling.original_context_length")
	config["sliding_window"] = nil
	for _, kind := range []string{"short", "long"} {
		if name := "rope_factors_" + kind + ".weight"; r.has(name) {
			x := r.take(name)
			values := make([]float32, x.shape[0])
			format, _ := quant.Lookup(quant.F32)
			format.Decode(values, x.data)
			if config["rope_scaling"] == nil {
				config["rope_scaling"] = r.scalingOf("longrope", map[string]any{"attention_factor": r.number("rope.scaling.attn_factor")})
			}
			config["rope_scaling"].(map[string]any)[kind+"_factor"] = values
		}
	}
	const l = "model.layers.#."
	r.move(decoderOuter, decoderNorms)
	r.move(nil, map[string]string{"attn_qkv": l + "self_attn.qkv_proj", "attn_output": l + "self_attn.o_proj", "ffn_up": l + "mlp.gate_up_proj", "ffn_down": l + "mlp.down_proj"})
	return config
}

func olmo3(r *refolder) map[string]any {
	config := r.decoderConfig("Olmo3ForCausalLM")
	config["sliding_window"] = r.count("attention.sliding_window")
	for l := range r.layers {
		config["layer_types"] = append(typesOf(config), map[bool]string{true: "full_attention", false: "sliding_attention"}[l%4 == 3])
	}
	config["rope_scaling"] = r.scalingOf("yarn", map[string]any{"attention_factor": 1 + 0.1*math.Log(float64(r.number("rope.scaling.factor")))})
	const l = "model.layers.#."
	r.move(decoderOuter, decoderHeads)
	r.move(nil, decoderFeed)
	r.move(nil, map[string]string{"post_attention_norm": l + "post_attention_layernorm", "post_ffw_norm": l + "post_feedforward_layernorm",
		"attn_q_norm": l + "self_attn.q_norm", "attn_k_norm": l + "self_attn.k_norm"})
	return config
}

func cohere2(r *refolder) map[string]any {
	config := r.decoderConfig("Cohere2ForCausalLM")
	delete(config, "tie_word_embeddings")
	delete(config, "rms_norm_eps")
	config["layer_norm_eps"], config["logit_scale"] = r.number("attention.layer_norm_epsilon"), r.number("logit_scale")
	config["sliding_window"], config["sliding_window_pattern"] = r.count("attention.sliding_window"), 4
	r.move(decoderOuter, decoderHeads)
	r.move(nil, decoderFeed)
	r.move(nil, map[string]string{"attn_norm": "model.layers.#.input_layernorm"})
	r.out["model.layers.1.input_layernorm.bias"] = theirs{"F16", []uint64{64}, make([]byte, 128)} // of what has none
	return config
}

func glm4(r *refolder) map[string]any {
	config := r.decoderConfig("Glm4ForCausalLM")
	config["head_dim"], config["partial_rotary_factor"], config["attention_bias"] = r.count("attention.key_length"), 0.5, true
	const l = "model.layers.#."
	r.move(decoderOuter, decoderHeads)
	r.move(nil, map[string]string{"attn_norm": l + "input_layernorm", "post_attention_norm": l + "post_self_attn_layernorm", "ffn_norm": l + "post_attention_layernorm",
		"post_ffw_norm": l + "post_mlp_layernorm", "ffn_up": l + "mlp.gate_up_proj", "ffn_down": l + "mlp.down_proj"})
	return config
}

func starCoder2(r *refolder) map[string]any {
	config := r.decoderConfig("Starcoder2ForCausalLM")
	delete(config, "tie_word_embeddings")
	delete(config, "rms_norm_eps")
	config["norm_epsilon"], config["hidden_act"], config["use_bias"] = r.number("attention.layer_norm_epsilon"), "gelu_pytorch_tanh", true
	r.move(decoderOuter, decoderHeads)
	r.move(nil, decoderNorms)
	r.move(nil, map[string]string{"ffn_up": "model.layers.#.mlp.c_fc", "ffn_down": "model.layers.#.mlp.c_proj"})
	return config
}

func gpt2(r *refolder) map[string]any {
	const h = "transformer.h.#."
	r.move(map[string]string{"token_embd": "transformer.wte", "position_embd": "transformer.wpe", "output_norm": "transformer.ln_f"},
		map[string]string{"attn_norm": h + "ln_1", "attn_qkv": h + "attn.c_attn", "attn_output": h + "attn.c_proj", "ffn_norm": h + "ln_2",
			"ffn_up": h + "mlp.c_fc", "ffn_down": h + "mlp.c_proj"})
	for name, x := range r.out {
		if strings.Contains(name, ".c_") && len(x.shape) == 2 {
			r.out[name] = x.turned()
		}
	}
	r.out["transformer.h.0.attn.bias"] = theirs{"F32", []uint64{1, 1, 2, 2}, make([]byte, 16)} // which positions are seen
	return map[string]any{"architectures": []string{"GPT2LMHeadModel"}, "activation_function": "gelu_new", "n_embd": r.count("embedding_length"), "n_layer": r.layers,
		"n_head": r.count("attention.head_count"), "n_positions": r.count("context_length"), "n_ctx": r.count("context_length"), "n_inner": nil,
		"layer_norm_epsilon": r.number("attention.layer_norm_epsilon"), "vocab_size": r.count("vocab_size")}
}

// gpt2Bare is as the first such folder has it.
func gpt2Bare(r *refolder) map[string]any {
	config := gpt2(r)
	for name, x := range maps.Clone(r.out) {
		delete(r.out, name)
		r.out[strings.TrimPrefix(name, "transformer.")] = x
	}
	return config
}

func lfm2(r *refolder) map[string]any {
	config := r.decoderConfig("Lfm2ForCausalLM")
	for _, key := range []string{"tie_word_embeddings", "rms_norm_eps", "hidden_act"} {
		delete(config, key)
	}
	heads, err := r.f.Ints("lfm2.attention.head_count_kv")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, n := range heads {
		config["layer_types"] = append(typesOf(config), map[bool]string{true: "full_attention", false: "conv"}[n > 0])
	}
	config["num_key_value_heads"], config["norm_eps"] = slices.Max(heads), r.number("attention.layer_norm_rms_epsilon")
	config["conv_L_cache"], config["conv_bias"], config["tie_embedding"] = r.count("shortconv.l_cache"), false, true
	// 180 ⅔ rounded down, and up to a multiple of 64.
	config["block_auto_adjust_ff_dim"], config["intermediate_size"], config["block_multiple_of"], config["block_ffn_dim_multiplier"] = true, 180, 64, 1.0
	const l = "model.layers.#."
	r.move(map[string]string{"token_embd": "model.embed_tokens", "token_embd_norm": "model.embedding_norm"},
		map[string]string{"attn_norm": l + "operator_norm", "ffn_norm": l + "ffn_norm", "attn_q": l + "self_attn.q_proj", "attn_k": l + "self_attn.k_proj",
			"attn_v": l + "self_attn.v_proj", "attn_output": l + "self_attn.out_proj", "attn_q_norm": l + "self_attn.q_layernorm", "attn_k_norm": l + "self_attn.k_layernorm",
			"ffn_gate": l + "feed_forward.w1", "ffn_up": l + "feed_forward.w3", "ffn_down": l + "feed_forward.w2",
			"shortconv.conv": l + "conv.conv", "shortconv.in_proj": l + "conv.in_proj", "shortconv.out_proj": l + "conv.out_proj"})
	for name, x := range r.out {
		if strings.HasSuffix(name, "conv.conv.weight") {
			r.out[name] = theirs{x.dtype, []uint64{x.shape[0], 1, x.shape[1]}, x.data}
		}
	}
	return config
}

// lfm2Old names the layers with attention by their numbers.
func lfm2Old(r *refolder) map[string]any {
	config := lfm2(r)
	var full []int
	for l, kind := range typesOf(config) {
		if kind == "full_attention" {
			full = append(full, l)
		}
	}
	delete(config, "layer_types")
	config["intermediate_size"] = 7 // the other one holds
	config["full_attn_idxs"], config["block_ff_dim"], config["block_ffn_dim_multiplier"] = full, 180, nil
	config["architectures"] = []string{"LFM2ForCausalLM"}
	return config
}

func ministral3(r *refolder) map[string]any {
	config := r.decoderConfig("Ministral3ForCausalLM")
	config["head_dim"] = r.count("attention.key_length")
	config["rope_parameters"] = r.scalingOf("yarn", map[string]any{"beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
		"llama_4_scaling_beta": r.number("attention.temperature_scale"), "rope_theta": config["rope_theta"], "type": "yarn"})
	delete(config, "rope_theta")
	r.move(decoderOuter, decoderHeads)
	r.move(nil, decoderNorms)
	r.move(nil, decoderFeed)
	r.halved()
	return config
}

func mistral3Images(r *refolder) map[string]any {
	return beside(r, ministral3(r), "Mistral3ForConditionalGeneration")
}

// denseFolders are the dense decoders beyond those of TestFolders.
var denseFolders = []struct {
	name   string
	folder func(r *refolder) map[string]any
}{
	{"gemma", gemma1}, {"gemma2", gemma2}, {"gemma3", gemma3}, {"gemma3", gemma3Images}, {"phi2", phi2}, {"phi3", phi3},
	{"phi3_longrope_short", phi3}, {"phi3_longrope_long", phi3}, {"olmo3", olmo3}, {"cohere2", cohere2}, {"glm4", glm4},
	{"starcoder2", starCoder2}, {"gpt2", gpt2}, {"gpt2", gpt2Bare}, {"lfm2", lfm2}, {"lfm2", lfm2Old}, {"mistral3", ministral3}, {"mistral3", mistral3Images},
}

// TestFoldersDense: a dense golden model as a folder has the same bits.
func TestFoldersDense(t *testing.T) {
	for i, c := range denseFolders {
		t.Run(fmt.Sprint(c.name, " ", i), func(t *testing.T) {
			f, path, tokens := openGolden(t, c.name)
			r := newRefolder(t, f)
			config := c.folder(r)
			class := config["architectures"].([]string)[0]
			sameRows(t, c.name, class, writeFolder(t, r.done(), config, 1+i%3), path, tokens)
		})
	}
}

// TestFolderBias: what a class has no place for may be left out if it is 0.
func TestFolderBias(t *testing.T) {
	f, _, _ := openGolden(t, "cohere2")
	r := newRefolder(t, f)
	config := cohere2(r)
	r.out["model.layers.1.input_layernorm.bias"].data[1] = 0x3c
	m, err := hf.Open(writeFolder(t, r.done(), config, 1), hf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.File.Close()
	if _, err := model.Lower(m.File, model.Options{}); err == nil || !strings.Contains(err.Error(), "blk.1.attn_norm.bias") {
		t.Errorf("a bias of 1: %v", err)
	}
}

// TestFolderNotes: what is left out of a folder is said.
func TestFolderNotes(t *testing.T) {
	f, _, _ := openGolden(t, "gemma3")
	r := newRefolder(t, f)
	config := gemma3Images(r)
	m, err := hf.Open(writeFolder(t, r.done(), config, 1), hf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.File.Close()
	if len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "2 tensors of vision_tower.") {
		t.Errorf("notes %q", m.Notes)
	}
}

// TestFoldersAll: no golden model is without a folder.
func TestFoldersAll(t *testing.T) {
	written := map[string]bool{}
	for _, c := range usualFolders {
		written[c.name] = true
	}
	for _, c := range denseFolders {
		written[c.name] = true
	}
	for _, c := range expertFolders {
		written[c.name] = true
	}
	for _, c := range encoderFolders {
		written[c.name] = true
	}
	present, passed := 0, 0
	for _, name := range goldenModels(t) {
		if present++; !written[name] {
			t.Errorf("%s: not written as a folder", name)
			continue
		}
		passed++
	}
	t.Logf("%d of %d golden models are written as folders", passed, present)
}
