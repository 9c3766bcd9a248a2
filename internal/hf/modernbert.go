package hf

// modernBerts are ModernBERT, whose layers but every third see a window.
var modernBerts = []family{{
	class: "ModernBertModel", arch: "modern-bert", embeds: true, rotates: true, localBase: true, unstretched: true,
	names: []name{
		{"embeddings.tok_embeddings", "token_embd", nil},
		{"embeddings.norm", "token_embd_norm", nil},
		{"layers.#.attn_norm", "blk.#.attn_norm", nil},
		{"layers.#.attn.Wqkv", "blk.#.attn_qkv", nil},
		{"layers.#.attn.Wo", "blk.#.attn_output", nil},
		{"layers.#.mlp_norm", "blk.#.ffn_norm", nil},
		{"layers.#.mlp.Wi", "blk.#.ffn_up", nil},
		{"layers.#.mlp.Wo", "blk.#.ffn_down", nil},
		{"final_norm", "output_norm", nil},
	},
	alias:  map[string]string{"norm_eps": "layer_norm_eps", "hidden_activation": "hidden_act", "global_rope_theta": "rope_theta"},
	absent: map[string]string{"layer_norm_eps": "1e-5", "rope_theta": "160000", "local_rope_theta": "10000", "local_attention": "128", "global_attn_every_n_layers": "3"},
	must:   []must{geluActs, {"attention_bias", []string{"false"}}, {"mlp_bias", []string{"false"}}},
	keys:   layerNorm,
	window: func(c *config, h *header) {
		// The window is what a row sees in all, half of it each way.
		_, layers := c.windows()
		every := c.count("global_attn_every_n_layers")
		c.alternate(layers, every, 0)
		h.set("attention.sliding_window", uint32(c.count("local_attention")))
		h.set("attention.sliding_window_pattern", uint32(every))
		if all, local := c.rotation(); local == nil {
			theta := c.theta(all)
			if c.has("local_rope_theta") {
				theta = c.positive("local_rope_theta")
			}
			h.set("rope.freq_base_swa", float32(theta))
		}
	},
	more: bothWays,
}}
