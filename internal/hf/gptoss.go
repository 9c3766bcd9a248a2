package hf

import (
	"fmt"
	"slices"
)

// gptOSS is OpenAI's gpt-oss. Gate and up rows of an expert lie in turn in one tensor:
// as MXFP4 blocks and their scales, or as numbers, then with the inputs outermost.
var gptOSS = []family{{
	class: "GptOssForCausalLM", arch: "gpt-oss",
	names: slices.Concat(outer, attention, []name{
		{"layers.#.post_attention_layernorm", "blk.#.post_attention_norm", nil},
		{"layers.#.self_attn.sinks", "blk.#.attn_sinks.weight", nil},
		{"layers.#.mlp.router", "blk.#.ffn_gate_inp", nil},
		{"layers.#.mlp.experts.gate_up_proj_bias", "blk.#.ffn_gate_exps.bias", everyOther(0)},
		{"layers.#.mlp.experts.gate_up_proj_bias", "blk.#.ffn_up_exps.bias", everyOther(1)},
		{"layers.#.mlp.experts.down_proj_bias", "blk.#.ffn_down_exps.bias", nil},
		{"layers.#.mlp.experts.gate_up_proj_blocks", "blk.#.ffn_gate_exps.weight", everyOtherRow(0)},
		{"layers.#.mlp.experts.gate_up_proj_blocks", "blk.#.ffn_up_exps.weight", everyOtherRow(1)},
		{"layers.#.mlp.experts.down_proj_blocks", "blk.#.ffn_down_exps.weight", nil},
		{"layers.#.mlp.experts.gate_up_proj", "blk.#.ffn_gate_exps.weight", everyOtherTurned(0)},
		{"layers.#.mlp.experts.gate_up_proj", "blk.#.ffn_up_exps.weight", everyOtherTurned(1)},
		{"layers.#.mlp.experts.down_proj", "blk.#.ffn_down_exps.weight", eachTurned},
	}),
	unread: []string{".gate_up_proj_scales", ".down_proj_scales"}, // read with their blocks
	alias:  map[string]string{"experts_per_token": "num_experts_per_tok"},
	absent: map[string]string{"num_experts_per_tok": "4", "head_dim": "64", "sliding_window": "128", "rope_theta": "150000",
		"rope_scaling": `{"rope_type":"yarn","factor":32,"beta_fast":32,"beta_slow":1,"truncate":false,"original_max_position_embeddings":4096}`},
	must:    []must{silu, {"swiglu_limit", []string{"7"}}, {"attention_bias", []string{"true"}}, {"use_sliding_window", []string{"true"}}},
	keys:    slices.Concat(rmsNorm, expertKeys[:1]),
	experts: "num_local_experts",
	rotates: true,
	window:  someLayers,
}}

// stackOf3 refuses what is no stack of matrices.
func stackOf3(there []int) error {
	if len(there) != 3 {
		return fmt.Errorf("has shape %v; all experts of a kind are three dimensions", there)
	}
	return nil
}

// halved is n ÷ 2, which must be whole.
func halved(n int) (int, error) {
	if n%2 != 0 {
		return 0, fmt.Errorf("%d rows, not two kinds of as many", n)
	}
	return n / 2, nil
}

// everyOtherRow takes the rows of a stack's matrices that are even, or odd.
func everyOtherRow(first int) *transform {
	return &transform{
		shape: func(_ *config, there []int) ([]int, error) {
			if err := stackOf3(there); err != nil {
				return nil, err
			}
			n, err := halved(there[1])
			return []int{there[0], n, there[2]}, err
		},
		row: func(_ *config, _ []int, r int) int { return 2*r + first }, // the halves' rows lie without a gap
	}
}

// everyOther takes the values of each row that are even, or odd.
func everyOther(first int) *transform {
	return &transform{
		shape: func(_ *config, there []int) ([]int, error) {
			if len(there) != 2 {
				return nil, fmt.Errorf("has shape %v; the biases of all experts are two dimensions", there)
			}
			n, err := halved(there[1])
			return []int{there[0], n}, err
		},
		values: func(_ *config, _ []int, dst, src []float32) {
			for i := range dst {
				dst[i] = src[2*i+first]
			}
		},
	}
}

// everyOtherTurned takes the columns of a stack's matrices that are even, or odd, as
// rows.
func everyOtherTurned(first int) *transform {
	return &transform{
		shape: func(_ *config, there []int) ([]int, error) {
			if err := stackOf3(there); err != nil {
				return nil, err
			}
			n, err := halved(there[2])
			return []int{there[0], n, there[1]}, err
		},
		values: func(_ *config, there []int, dst, src []float32) {
			turn(there, dst, src, 2, first)
		},
	}
}

// eachTurned exchanges rows and columns of a stack's matrices.
var eachTurned = &transform{
	shape: func(_ *config, there []int) ([]int, error) {
		if err := stackOf3(there); err != nil {
			return nil, err
		}
		return []int{there[0], there[2], there[1]}, nil
	},
	values: func(_ *config, there []int, dst, src []float32) { turn(there, dst, src, 1, 0) },
}

// turn writes of each matrix every step-th column from first on as a row.
func turn(there []int, dst, src []float32, step, first int) {
	high, wide := there[1], there[2]
	for e := range there[0] {
		from, to := src[e*high*wide:], dst[e*high*wide/step:]
		for r := range wide / step {
			for c := range high {
				to[r*high+c] = from[c*wide+r*step+first]
			}
		}
	}
}
