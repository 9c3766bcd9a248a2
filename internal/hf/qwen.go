package hf

import "slices"

var (
	qwen2Names = slices.Concat(outer, attention, ffnNorm, dense)
	qwen3Names = slices.Concat(qwen2Names, headNorms)

	olmoNames = slices.Concat(outer, attention[1:], headNorms, dense, []name{
		{"layers.#.post_attention_layernorm", "blk.#.post_attention_norm", nil},
		{"layers.#.post_feedforward_layernorm", "blk.#.post_ffw_norm", nil},
	})
)

// qwens are the dense Qwens and what rotates halves as they do.
var qwens = []family{
	{class: "Qwen2ForCausalLM", arch: "qwen2", names: qwen2Names, must: []must{silu}, keys: rmsNorm, rotates: true},
	{class: "Qwen3ForCausalLM", arch: "qwen3", names: qwen3Names, must: []must{silu}, keys: rmsNorm, rotates: true},
	{class: "Olmo2ForCausalLM", arch: "olmo2", names: olmoNames, must: []must{silu}, keys: rmsNorm, rotates: true},
}
