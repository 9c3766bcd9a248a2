package hf

import "slices"

// coheres are Command R7B and later: attention and feed-forward take one norm's output.
var coheres = []family{
	{class: "Cohere2ForCausalLM", arch: "cohere2", names: slices.Concat(outer, attention, dense), zeroBias: true,
		must:   []must{silu, {"use_qk_norm", []string{"false"}}, {"rotary_pct", []string{"1"}}},
		absent: map[string]string{"tie_word_embeddings": "true", "sliding_window": "4096", "logit_scale": "0.0625", "rope_theta": "10000"},
		keys:   slices.Concat(layerNorm, []key{{"logit_scale", "logit_scale", positive, true}}), rotates: true, window: someLayers},
}
