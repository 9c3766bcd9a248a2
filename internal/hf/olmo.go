package hf

import "slices"

// The norms are those of the halves' outputs.
var olmoNames = slices.Concat(outer, attention[1:], headNorms, dense, []name{
	{"layers.#.post_attention_layernorm", "blk.#.post_attention_norm", nil},
	{"layers.#.post_feedforward_layernorm", "blk.#.post_ffw_norm", nil},
})

// olmos are OLMo 2 and 3.
var olmos = []family{
	{class: "Olmo2ForCausalLM", arch: "olmo2", names: olmoNames, must: []must{silu}, keys: rmsNorm, rotates: true},
	{class: "Olmo3ForCausalLM", arch: "olmo2", names: olmoNames, must: []must{silu}, absent: map[string]string{"sliding_window": "4096"},
		keys: rmsNorm, rotates: true, unstretched: true, window: someLayers},
}
