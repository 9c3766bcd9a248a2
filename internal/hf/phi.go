package hf

import "slices"

var (
	phiNames = slices.Concat(outer[:1], outer[2:], attention[:4], []name{
		{"final_layernorm", "output_norm", nil},
		{"layers.#.self_attn.dense", "blk.#.attn_output", nil},
		{"layers.#.mlp.fc1", "blk.#.ffn_up", nil},
		{"layers.#.mlp.fc2", "blk.#.ffn_down", nil},
	})
	// Query, key and value are one matrix, as gate and up are, as in GGUF files.
	phi3Names = slices.Concat(outer, attention[:1], attention[4:], ffnNorm, []name{
		{"layers.#.self_attn.qkv_proj", "blk.#.attn_qkv", nil},
		{"layers.#.mlp.gate_up_proj", "blk.#.ffn_up", nil},
		{"layers.#.mlp.down_proj", "blk.#.ffn_down", nil},
	})

	newGELU = must{"hidden_act", []string{`"gelu_new"`, `"gelu_pytorch_tanh"`}}
)

// phis are Phi 1 to 4.
var phis = []family{
	{class: "PhiForCausalLM", arch: "phi2", names: phiNames, must: []must{newGELU, {"qk_layernorm", []string{"false"}}},
		absent: map[string]string{"partial_rotary_factor": "0.5"}, keys: layerNorm, rotates: true, partial: true},
	{class: "Phi3ForCausalLM", arch: "phi3", names: phi3Names, must: []must{silu}, keys: rmsNorm, rotates: true, partial: true, window: allLayers},
}
