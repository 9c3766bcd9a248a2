package hf

import "slices"

var (
	starCoder2Names = slices.Concat(outer, attention, ffnNorm, []name{
		{"layers.#.mlp.c_fc", "blk.#.ffn_up", nil},
		{"layers.#.mlp.c_proj", "blk.#.ffn_down", nil},
	})
	gpt2Names = []name{
		{"wte", "token_embd", nil},
		{"wpe", "position_embd", nil},
		{"ln_f", "output_norm", nil},
		{"lm_head", "output", nil},
		{"h.#.ln_1", "blk.#.attn_norm", nil},
		{"h.#.attn.c_attn", "blk.#.attn_qkv", turned},
		{"h.#.attn.c_proj", "blk.#.attn_output", turned},
		{"h.#.ln_2", "blk.#.ffn_norm", nil},
		{"h.#.mlp.c_fc", "blk.#.ffn_up", turned},
		{"h.#.mlp.c_proj", "blk.#.ffn_down", turned},
	}
)

// ungateds have a feed-forward without a gate, and layer norms.
var ungateds = []family{
	{class: "Starcoder2ForCausalLM", arch: "starcoder2", names: starCoder2Names, must: []must{newGELU},
		alias:  map[string]string{"norm_epsilon": "layer_norm_eps"},
		absent: map[string]string{"tie_word_embeddings": "true", "layer_norm_eps": "1e-5"}, keys: layerNorm, rotates: true, window: allLayers},
	{class: "GPT2LMHeadModel", arch: "gpt2", roots: []string{"transformer."}, names: gpt2Names,
		must: []must{newGELU, {"scale_attn_weights", []string{"true"}}, {"scale_attn_by_inverse_layer_idx", []string{"false"}}, {"add_cross_attention", []string{"false"}}},
		alias: map[string]string{"n_embd": "hidden_size", "n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "n_positions": "max_position_embeddings",
			"n_inner": "intermediate_size", "layer_norm_epsilon": "layer_norm_eps", "activation_function": "hidden_act"},
		absent: map[string]string{"tie_word_embeddings": "true", "layer_norm_eps": "1e-5"},
		unread: []string{".attn.bias", ".attn.masked_bias"}, // which positions are seen
		keys:   layerNorm, ffn: fourfold},
}

// fourfold is the width of a feed-forward that the config leaves open.
func fourfold(c *config) int64 { return c.countOr("intermediate_size", 4*c.hidden) }
