package hf

import (
	"fmt"
	"math"
	"slices"
)

var (
	gemmaNorms = []string{"norm", "layers.#.input_layernorm", "layers.#.post_attention_layernorm",
		"layers.#.pre_feedforward_layernorm", "layers.#.post_feedforward_layernorm", "layers.#.self_attn.q_norm", "layers.#.self_attn.k_norm"}

	gemmaNames  = with(slices.Concat(outer, attention, ffnNorm, dense), plusOne, gemmaNorms...)
	gemma2Names = with(slices.Concat(outer, attention, dense, []name{
		{"layers.#.post_attention_layernorm", "blk.#.post_attention_norm", nil},
		{"layers.#.pre_feedforward_layernorm", "blk.#.ffn_norm", nil},
		{"layers.#.post_feedforward_layernorm", "blk.#.post_ffw_norm", nil},
	}), plusOne, gemmaNorms...)
	gemma3Names = slices.Concat(gemma2Names, with(headNorms, plusOne, gemmaNorms...))

	// tanhGELU is GELU by tanh, whatever the first Gemma called it.
	tanhGELU = []must{
		{"hidden_act", []string{`"gelu_pytorch_tanh"`, `"gelu_new"`, `"gelu"`}},
		{"hidden_activation", []string{`"gelu_pytorch_tanh"`}},
		{"use_bidirectional_attention", []string{"false"}},
	}

	// What the classes have where a config is silent, as those beside images often are.
	gemmaAbsent = map[string]string{"tie_word_embeddings": "true", "head_dim": "256", "rms_norm_eps": "1e-6", "max_position_embeddings": "8192"}

	gemma2Absent = map[string]string{"tie_word_embeddings": "true", "head_dim": "256", "rms_norm_eps": "1e-6", "max_position_embeddings": "8192",
		"sliding_window": "4096", "query_pre_attn_scalar": "256", "attn_logit_softcapping": "50", "final_logit_softcapping": "30"}

	gemma3Absent = map[string]string{"tie_word_embeddings": "true", "head_dim": "256", "rms_norm_eps": "1e-6", "max_position_embeddings": "131072",
		"num_attention_heads": "8", "num_key_value_heads": "4", "hidden_size": "2304", "intermediate_size": "9216", "num_hidden_layers": "26",
		"sliding_window": "4096", "query_pre_attn_scalar": "256", "rope_theta": "1000000"}

	gemma2Keys = slices.Concat(rmsNorm, []key{
		{"attn_logit_softcapping", "attn_logit_softcapping", positive, true},
		{"final_logit_softcapping", "final_logit_softcapping", positive, true},
	})
	gemma3Keys = slices.Concat(rmsNorm, []key{
		{"final_logit_softcapping", "final_logit_softcapping", positive, false},
		{"rope_local_base_freq", "rope.freq_base_swa", positive, false},
	})
	gemma3Must = slices.Concat(tanhGELU, []must{{"attn_logit_softcapping", nil}})
)

// gemmas are Gemma 1 to 3, whose norms multiply by 1 + w.
var gemmas = []family{
	{class: "GemmaForCausalLM", arch: "gemma", names: gemmaNames, must: tanhGELU, absent: gemmaAbsent, keys: rmsNorm, rotates: true},
	{class: "Gemma2ForCausalLM", arch: "gemma2", names: gemma2Names, must: tanhGELU, absent: gemma2Absent, keys: gemma2Keys, rotates: true,
		window: someLayers, more: gemmaScale(46)},
	{class: "Gemma3ForCausalLM", arch: "gemma3", names: gemma3Names, must: gemma3Must, absent: gemma3Absent, keys: gemma3Keys, rotates: true,
		localBase: true, unstretched: true, window: someLayers, more: gemmaScale(62)},
	{class: "Gemma3ForConditionalGeneration", arch: "gemma3", nested: "text_config", roots: besideImages, skips: imageParts, names: gemma3Names,
		must: gemma3Must, absent: gemma3Absent, keys: gemma3Keys, rotates: true, localBase: true, unstretched: true, window: someLayers, more: gemmaScale(62)},
}

// Beside a part that reads images, the text model's tensors begin so, and that part's so.
var (
	besideImages = []string{"language_model.model.", "model.language_model.", "language_model."}
	imageParts   = []string{"vision_tower.", "model.vision_tower.", "multi_modal_projector.", "model.multi_modal_projector."}
)

// gemmaScale holds query_pre_attn_scalar, whose root divides scores, against what the
// architecture takes for it: the width of a head, and of the largest model, which is
// told by its layers, the stream's share of a head.
func gemmaScale(largest int64) func(c *config, h *header) {
	return func(c *config, _ *header) {
		want := c.headDim
		if c.layers == largest {
			want = c.hidden / c.heads
		}
		if got := c.numberOr("query_pre_attn_scalar", float64(want)); got != float64(want) || math.IsNaN(got) {
			c.refuse("query_pre_attn_scalar", fmt.Sprintf("is %v, must be %d for this size of model", got, want), ErrUnsupported)
		}
	}
}
