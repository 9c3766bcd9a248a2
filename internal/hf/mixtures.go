package hf

import "slices"

var (
	mixtralNames = []name{
		{"layers.#.block_sparse_moe.gate", "blk.#.ffn_gate_inp", nil},
		{"layers.#.block_sparse_moe.experts.#.w1", "blk.#.ffn_gate_exps", nil},
		{"layers.#.block_sparse_moe.experts.#.w3", "blk.#.ffn_up_exps", nil},
		{"layers.#.block_sparse_moe.experts.#.w2", "blk.#.ffn_down_exps", nil},
	}
	expertNames = []name{
		{"layers.#.mlp.gate", "blk.#.ffn_gate_inp", nil},
		{"layers.#.mlp.experts.#.gate_proj", "blk.#.ffn_gate_exps", nil},
		{"layers.#.mlp.experts.#.up_proj", "blk.#.ffn_up_exps", nil},
		{"layers.#.mlp.experts.#.down_proj", "blk.#.ffn_down_exps", nil},
	}
	sharedNames = []name{
		{"layers.#.mlp.shared_expert.gate_proj", "blk.#.ffn_gate_shexp", nil},
		{"layers.#.mlp.shared_expert.up_proj", "blk.#.ffn_up_shexp", nil},
		{"layers.#.mlp.shared_expert.down_proj", "blk.#.ffn_down_shexp", nil},
		{"layers.#.mlp.shared_expert_gate", "blk.#.ffn_gate_inp_shexp", narrow}, // a vector in GGUF files
	}

	// everyLayer refuses layers without experts.
	everyLayer = []must{silu, {"decoder_sparse_step", []string{"1"}}, {"mlp_only_layers", []string{"[]"}}}

	expertKeys = []key{
		{"num_experts_per_tok", "expert_used_count", whole, false},
		{"moe_intermediate_size", "expert_feed_forward_length", whole, false},
		{"shared_expert_intermediate_size", "expert_shared_feed_forward_length", whole, false},
	}
)

// mixtures have experts in every layer.
var mixtures = []family{
	{class: "MixtralForCausalLM", arch: "llama", names: slices.Concat(outer, pairAttention, ffnNorm, mixtralNames), must: []must{silu},
		keys: slices.Concat(rmsNorm, expertKeys[:1]), experts: "num_local_experts", absent: twoExperts, rotates: true, window: allLayers},
	{class: "Qwen2MoeForCausalLM", arch: "qwen2moe", names: slices.Concat(outer, attention, ffnNorm, expertNames, sharedNames),
		must: slices.Concat(everyLayer, []must{{"norm_topk_prob", []string{"false"}}}),
		keys: slices.Concat(rmsNorm, expertKeys), experts: "num_experts", absent: qwenMixture, rotates: true, window: allLayers},
	{class: "Qwen3MoeForCausalLM", arch: "qwen3moe", names: slices.Concat(outer, attention, ffnNorm, headNorms, expertNames),
		must: slices.Concat(everyLayer, []must{{"norm_topk_prob", []string{"true"}}}),
		keys: slices.Concat(rmsNorm, expertKeys), experts: "num_experts", absent: qwenMixture, rotates: true, window: allLayers},
}

var (
	twoExperts  = map[string]string{"num_experts_per_tok": "2"}
	qwenMixture = map[string]string{"num_experts_per_tok": "2", "use_sliding_window": "false"}
)
