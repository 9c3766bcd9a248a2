package hf

import "slices"

var (
	llamaNames = slices.Concat(outer, pairAttention, ffnNorm, dense)

	graniteKeys = []key{
		{"embedding_multiplier", "embedding_scale", positive, false},
		{"residual_multiplier", "residual_scale", positive, false},
		{"attention_multiplier", "attention.scale", positive, false},
		{"logits_scaling", "logit_scale", positive, false},
	}
)

// llamas are Llama and what has its block.
var llamas = []family{
	{class: "LlamaForCausalLM", arch: "llama", names: llamaNames, must: []must{silu}, keys: rmsNorm, rotates: true},
	{class: "MistralForCausalLM", arch: "llama", names: llamaNames, must: []must{silu}, keys: rmsNorm, rotates: true, window: allLayers},
	{class: "GraniteForCausalLM", arch: "granite", names: llamaNames, must: []must{silu}, keys: slices.Concat(rmsNorm, graniteKeys), rotates: true},
	{class: "SmolLM3ForCausalLM", arch: "smollm3", names: llamaNames, must: []must{silu, {"use_sliding_window", []string{"false"}}}, keys: rmsNorm, rotates: true, more: everyFourthStill,
		absent: map[string]string{"tie_word_embeddings": "true"}},
}
