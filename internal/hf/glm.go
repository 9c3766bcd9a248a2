package hf

import "slices"

// glms are GLM 4 of 2025: norms around both halves, gate and up in one matrix.
var glms = []family{
	{class: "Glm4ForCausalLM", arch: "glm4", must: []must{silu}, absent: map[string]string{"partial_rotary_factor": "0.5"}, keys: rmsNorm,
		rotates: true, partial: true, names: slices.Concat(outer, attention, []name{
			{"layers.#.post_self_attn_layernorm", "blk.#.post_attention_norm", nil},
			{"layers.#.post_attention_layernorm", "blk.#.ffn_norm", nil},
			{"layers.#.post_mlp_layernorm", "blk.#.post_ffw_norm", nil},
			{"layers.#.mlp.gate_up_proj", "blk.#.ffn_up", nil},
			{"layers.#.mlp.down_proj", "blk.#.ffn_down", nil},
		})},
}
