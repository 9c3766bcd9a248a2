package hf

import (
	"fmt"
	"slices"
)

var (
	deepSeekNames = slices.Concat(outer, ffnNorm, dense, expertNames, []name{
		attention[0], attention[4],
		{"layers.#.self_attn.q_proj", "blk.#.attn_q", nil},
		{"layers.#.self_attn.q_a_proj", "blk.#.attn_q_a", nil},
		{"layers.#.self_attn.q_a_layernorm", "blk.#.attn_q_a_norm", nil},
		{"layers.#.self_attn.q_b_proj", "blk.#.attn_q_b", nil},
		{"layers.#.self_attn.kv_a_proj_with_mqa", "blk.#.attn_kv_a_mqa", nil},
		{"layers.#.self_attn.kv_a_layernorm", "blk.#.attn_kv_a_norm", nil},
		{"layers.#.self_attn.kv_b_proj", "blk.#.attn_k_b", latentKeys},
		{"layers.#.self_attn.kv_b_proj", "blk.#.attn_v_b", latentValues},
		{"layers.#.mlp.gate.e_score_correction_bias", "blk.#.exp_probs_b.bias", nil},
		{"layers.#.mlp.shared_experts.gate_proj", "blk.#.ffn_gate_shexp", nil},
		{"layers.#.mlp.shared_experts.up_proj", "blk.#.ffn_up_shexp", nil},
		{"layers.#.mlp.shared_experts.down_proj", "blk.#.ffn_down_shexp", nil},
	})

	deepSeekMust = []must{silu, {"moe_layer_freq", []string{"1"}}, {"attention_bias", []string{"false"}}, {"mlp_bias", []string{"false"}},
		{"rope_interleave", []string{"true"}}}

	deepSeekKeys = slices.Concat(rmsNorm, []key{
		{"num_experts_per_tok", "expert_used_count", whole, true},
		{"moe_intermediate_size", "expert_feed_forward_length", whole, true},
		{"n_shared_experts", "expert_shared_count", whole, false},
		{"routed_scaling_factor", "expert_weights_scale", positive, false},
		{"q_lora_rank", "attention.q_lora_rank", whole, false},
		{"kv_lora_rank", "attention.kv_lora_rank", whole, true},
		{"n_group", "expert_group_count", whole, false},
		{"topk_group", "expert_group_used_count", whole, false},
	})
)

// deepSeeks have latent attention and, behind a few layers, a shared expert beside
// those that are chosen. The second version chooses by a softmax, the third by
// sigmoids, a bias, and groups, whose two best experts count.
var deepSeeks = []family{
	{class: "DeepseekV2ForCausalLM", arch: "deepseek2", names: deepSeekNames, keys: deepSeekKeys, experts: "n_routed_experts", rotates: true,
		must: slices.Concat(deepSeekMust, []must{{"scoring_func", []string{`"softmax"`}}, {"norm_topk_prob", []string{"false"}}}),
		more: func(c *config, h *header) {
			// The other way takes the best group by its best expert.
			if groups := c.countOr("n_group", 1); groups > 1 {
				c.hold(must{"topk_method", []string{`"greedy"`}})
			}
			h.set("expert_group_count", uint32(1))
			h.set("expert_group_used_count", uint32(1))
			deepSeek(c, h, 1, false, 0)
		}},
	{class: "DeepseekV3ForCausalLM", arch: "deepseek2", names: deepSeekNames, keys: deepSeekKeys, experts: "n_routed_experts", rotates: true,
		absent: map[string]string{"n_group": "8", "topk_group": "4", "routed_scaling_factor": "2.5", "n_shared_experts": "1", "num_experts_per_tok": "8"},
		must:   slices.Concat(deepSeekMust, []must{{"scoring_func", []string{`"sigmoid"`}}, {"topk_method", []string{`"noaux_tc"`}}}),
		more:   func(c *config, h *header) { deepSeek(c, h, 2, true, 3) }},
}

// deepSeek hands on the sizes of latent attention, how experts are weighed, and the
// stretch of the rotation; norm and lead are what the class has where a config is silent.
func deepSeek(c *config, h *header, score uint32, norm bool, lead int64) {
	turn, plain, value, latent := c.count("qk_rope_head_dim"), c.count("qk_nope_head_dim"), c.count("v_head_dim"), c.count("kv_lora_rank")
	c.plain, c.valued = int(plain), int(value)
	if c.kvHeads != c.heads {
		c.refuse("num_key_value_heads", fmt.Sprintf("is %d, must be num_attention_heads, %d: all heads share one latent", c.kvHeads, c.heads), ErrUnsupported)
	}
	h.set("attention.head_count_kv", uint32(1))
	h.set("attention.key_length", uint32(latent+turn))
	h.set("attention.value_length", uint32(latent))
	h.set("attention.key_length_mla", uint32(plain+turn))
	h.set("attention.value_length_mla", uint32(value))
	h.set("rope.dimension_count", uint32(turn))
	h.set("expert_gating_func", score)
	h.set("expert_weights_norm", c.flagOr("norm_topk_prob", norm))
	if c.value("first_k_dense_replace", &lead); lead < 0 || lead > c.layers {
		c.refuse("first_k_dense_replace", fmt.Sprintf("is %d of %d layers", lead, c.layers), nil)
	}
	h.set("leading_dense_block_count", uint32(lead))
	if c.value("num_nextn_predict_layers", &c.beyond); c.beyond < 0 || c.beyond > 64 {
		c.refuse("num_nextn_predict_layers", fmt.Sprintf("is %d, 0 to 64", c.beyond), nil)
	}
	if r, _ := c.rotation(); r.kind() == "yarn" {
		// The square of grown(mscale_all_dim) is on the scores; the values that rotate
		// keep their magnitude where both are the same.
		m, all := or(r.MScale, 0), or(r.MScaleAll, 0)
		if all == 0 || m != all || r.AttnFactor != nil {
			c.refuse("rope_scaling", fmt.Sprintf("mscale is %v, mscale_all_dim %v; they must be there, the same, and without attention_factor", m, all), ErrUnsupported)
		}
		h.set("rope.scaling.yarn_log_multiplier", float32(all/10)) // as GGUF files of this architecture have it
		h.set("rope.scaling.attn_factor", float32(1))
	}
}

// What keys and values are made of lies in one matrix: per head the rows of the part
// of its key that does not rotate, then those of its value.
//
//	there  heads × │ plain │ value │ × latent      keys here    heads × latent × plain
//	                                              values here  heads × value × latent
var (
	latentKeys = &transform{
		shape: func(c *config, there []int) ([]int, error) {
			return []int{int(c.heads), there[len(there)-1], c.plain}, latentRows(c, there)
		},
		values: func(c *config, there []int, dst, src []float32) {
			wide := there[1]
			for h := range int(c.heads) {
				for r := range c.plain {
					for i, v := range src[(h*(c.plain+c.valued)+r)*wide:][:wide] {
						dst[(h*wide+i)*c.plain+r] = v
					}
				}
			}
		},
	}
	latentValues = &transform{
		shape: func(c *config, there []int) ([]int, error) {
			return []int{int(c.heads), c.valued, there[len(there)-1]}, latentRows(c, there)
		},
		row: func(c *config, _ []int, r int) int { return r/c.valued*(c.plain+c.valued) + c.plain + r%c.valued },
	}
)

// latentRows refuses another number of rows.
func latentRows(c *config, there []int) error {
	if len(there) != 2 || int64(there[0]) != c.heads*int64(c.plain+c.valued) {
		return fmt.Errorf("has shape %v, must have %d heads of %d and %d rows", there, c.heads, c.plain, c.valued)
	}
	return nil
}
