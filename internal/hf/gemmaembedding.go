package hf

import "slices"

// gemmaEmbeddings are Gemma 3 where its rows see both ways. The library's other use of
// the class, causal and without a head, makes nothing that could be handed out.
var gemmaEmbeddings = []family{{
	class: "Gemma3TextModel", arch: "gemma-embedding", embeds: true, rotates: true, localBase: true, unstretched: true,
	names: gemma3Names,
	must: []must{{"hidden_activation", []string{`"gelu_pytorch_tanh"`}}, {"attn_logit_softcapping", nil}, {"final_logit_softcapping", nil},
		{"attention_bias", []string{"false"}}},
	absent: gemma3Absent,
	keys:   slices.Concat(rmsNorm, []key{{"rope_local_base_freq", "rope.freq_base_swa", positive, false}}),
	window: func(c *config, h *header) {
		window, layers := c.windows()
		every := c.countOr("_sliding_window_pattern", c.countOr("sliding_window_pattern", 6))
		c.alternate(layers, every, every-1)
		if window > 0 {
			h.set("attention.sliding_window", uint32(window))
		}
		h.set("attention.sliding_window_pattern", uint32(every))
	},
	more: func(c *config, h *header) {
		if !c.flagOr("use_bidirectional_attention", false) {
			c.refuse("use_bidirectional_attention", "is not true, as "+c.family.class+" has it where it embeds", ErrUnsupported)
		}
		h.set("attention.causal", false)
		gemmaScale(0)(c, h)
	},
}}
