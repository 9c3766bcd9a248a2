package hf

import (
	"fmt"
	"math"
	"slices"
)

var lfm2Names = slices.Concat(outer[:1], outer[2:], attention[1:4], []name{
	{"embedding_norm", "token_embd_norm", nil},
	{"layers.#.operator_norm", "blk.#.attn_norm", nil},
	{"layers.#.ffn_norm", "blk.#.ffn_norm", nil},
	{"layers.#.self_attn.out_proj", "blk.#.attn_output", nil},
	{"layers.#.self_attn.q_layernorm", "blk.#.attn_q_norm", nil},
	{"layers.#.self_attn.k_layernorm", "blk.#.attn_k_norm", nil},
	{"layers.#.conv.in_proj", "blk.#.shortconv.in_proj", nil},
	{"layers.#.conv.conv", "blk.#.shortconv.conv", narrow},
	{"layers.#.conv.out_proj", "blk.#.shortconv.out_proj", nil},
	{"layers.#.feed_forward.w1", "blk.#.ffn_gate", nil},
	{"layers.#.feed_forward.w2", "blk.#.ffn_down", nil},
	{"layers.#.feed_forward.w3", "blk.#.ffn_up", nil},
})

// lfms are LFM 2, under its two names: most layers have a short convolution in place of
// attention.
var lfms = []family{lfm2("Lfm2ForCausalLM"), lfm2("LFM2ForCausalLM")}

func lfm2(class string) family {
	return family{class: class, arch: "lfm2", names: lfm2Names, must: []must{{"conv_bias", []string{"false"}}},
		alias: map[string]string{"norm_eps": "rms_norm_eps", "tie_embedding": "tie_word_embeddings", "block_ff_dim": "intermediate_size"},
		absent: map[string]string{"tie_word_embeddings": "true", "conv_L_cache": "3", "rms_norm_eps": "1e-5", "rope_theta": "1000000",
			"block_auto_adjust_ff_dim": "true", "block_multiple_of": "256"},
		keys: slices.Concat(rmsNorm, []key{{"conv_L_cache", "shortconv.l_cache", whole, true}}), rotates: true, ffn: adjusted, more: shortConvs}
}

// shortConvs says which layers have no attention: those without key-value heads.
func shortConvs(c *config, h *header) {
	if c.err != nil {
		return
	}
	var types []string
	var full []int64
	c.value("layer_types", &types)
	c.value("full_attn_idxs", &full)
	switch {
	case types == nil && full == nil:
		c.refuse("layer_types", "not there, nor full_attn_idxs", nil)
	case types != nil && int64(len(types)) != c.layers:
		c.refuse("layer_types", fmt.Sprintf("are %d, num_hidden_layers is %d", len(types), c.layers), nil)
	}
	if c.err != nil {
		return
	}
	heads := make([]int32, c.layers)
	for l := range heads {
		attends := slices.Contains(full, int64(l))
		if types != nil {
			if attends = types[l] == "full_attention"; !attends && types[l] != "conv" {
				c.refuse("layer_types", fmt.Sprintf("is %q of layer %d; full_attention and conv are known", clip(types[l]), l), ErrUnsupported)
			}
		}
		if attends {
			heads[l] = int32(c.kvHeads)
		}
	}
	h.set("attention.head_count_kv", heads)
}

// adjusted is the width of a feed-forward, of which a config may state one that is yet
// to be cut to two thirds and rounded up.
func adjusted(c *config) int64 {
	width := c.count("intermediate_size")
	if !c.flagOr("block_auto_adjust_ff_dim", true) {
		return width
	}
	times, of := 1.0, c.count("block_multiple_of")
	if c.has("block_ffn_dim_multiplier") {
		times = c.positive("block_ffn_dim_multiplier")
	}
	w := math.Ceil(math.Floor(times*float64(width*2/3))/float64(of)) * float64(of)
	if !(w >= 1 && w <= math.MaxInt32) {
		c.refuse("block_ffn_dim_multiplier", fmt.Sprintf("comes to a width of %v, 1 to 2^31-1", w), nil)
		return 1
	}
	return int64(w)
}
