package hf

import "fmt"

// nomicBerts are Nomic's BERT, whose positions rotate.
var nomicBerts = []family{{
	class: "NomicBertModel", arch: "nomic-bert", embeds: true, rotates: true,
	roots: bertRoots,
	names: []name{
		{"embeddings.word_embeddings", "token_embd", nil},
		{"embeddings.token_type_embeddings", "token_types", nil},
		{"emb_ln", "token_embd_norm", nil},
		{"encoder.layers.#.attn.Wqkv", "blk.#.attn_qkv", nil},
		{"encoder.layers.#.attn.out_proj", "blk.#.attn_output", nil},
		{"encoder.layers.#.norm1", "blk.#.attn_output_norm", nil},
		{"encoder.layers.#.mlp.fc11", "blk.#.ffn_up", nil},
		{"encoder.layers.#.mlp.fc12", "blk.#.ffn_gate", nil},
		{"encoder.layers.#.mlp.fc2", "blk.#.ffn_down", nil},
		{"encoder.layers.#.norm2", "blk.#.layer_output_norm", nil},
	},
	unread: bertUnread,
	alias: map[string]string{"n_embd": "hidden_size", "n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "n_inner": "intermediate_size",
		"n_positions": "max_position_embeddings", "layer_norm_epsilon": "layer_norm_eps", "activation_function": "hidden_act",
		"rotary_emb_base": "rope_theta", "rotary_emb_fraction": "partial_rotary_factor"},
	absent: map[string]string{"layer_norm_eps": "1e-12"},
	must: []must{{"hidden_act", []string{`"swiglu"`}}, {"rotary_emb_interleaved", []string{"false"}}, {"rotary_emb_scale_base", nil},
		{"qkv_proj_bias", []string{"false"}}, {"prenorm", []string{"false"}}, {"use_rms_norm", []string{"false"}}, {"causal", []string{"false"}},
		{"parallel_block", []string{"false"}}, {"scale_attn_weights", []string{"true"}}, {"scale_attn_by_inverse_layer_idx", []string{"false"}},
		{"moe_every_n_layers", []string{"0"}}, {"num_experts", []string{"0"}}},
	keys: layerNorm,
	ffn:  fourfold,
	more: func(c *config, h *header) {
		h.set("attention.causal", false)
		if n := c.countOr("max_trained_positions", c.context); n < c.context {
			c.note(fmt.Sprintf("the context is max_trained_positions, %d tokens of n_positions %d: a longer one takes another rotation, which is not supported", n, c.context))
			c.context = n
			h.set("context_length", uint32(n))
		}
	},
}}
