package hf

import (
	"fmt"
	"slices"
)

var (
	graniteMoENames = slices.Concat(outer, pairAttention, ffnNorm, []name{
		{"layers.#.block_sparse_moe.router.layer", "blk.#.ffn_gate_inp", nil},
		{"layers.#.block_sparse_moe.input_linear", "blk.#.ffn_gate_exps", halfOfRows(0)},
		{"layers.#.block_sparse_moe.input_linear", "blk.#.ffn_up_exps", halfOfRows(1)},
		{"layers.#.block_sparse_moe.output_linear", "blk.#.ffn_down_exps", nil},
	})
	graniteSharedNames = []name{
		{"layers.#.shared_mlp.input_linear", "blk.#.ffn_gate_shexp", halfOfRows(0)},
		{"layers.#.shared_mlp.input_linear", "blk.#.ffn_up_shexp", halfOfRows(1)},
		{"layers.#.shared_mlp.output_linear", "blk.#.ffn_down_shexp", nil},
	}
	graniteMoEKeys = slices.Concat(rmsNorm, graniteKeys, expertKeys[:1])
)

// graniteMoEs are Granites with experts: all of a kind in one tensor, the rows of gate
// above those of up.
var graniteMoEs = []family{
	{class: "GraniteMoeForCausalLM", arch: "granitemoe", names: graniteMoENames, must: []must{silu}, keys: graniteMoEKeys,
		experts: "num_local_experts", absent: twoExperts, rotates: true},
	{class: "GraniteMoeSharedForCausalLM", arch: "granitemoe", names: slices.Concat(graniteMoENames, graniteSharedNames), must: []must{silu}, keys: graniteMoEKeys,
		experts: "num_local_experts", absent: twoExperts, rotates: true, more: func(c *config, h *header) {
			n := int64(1024)
			if c.value("shared_intermediate_size", &n); n != 0 {
				h.set("expert_shared_feed_forward_length", uint32(c.countOr("shared_intermediate_size", n)))
			}
		}},
}

// halfOfRows takes the first or the second half of a matrix' rows, or of each of a
// stack's.
func halfOfRows(which int) *transform {
	return &transform{
		shape: func(_ *config, there []int) ([]int, error) {
			if len(there) < 2 {
				return nil, fmt.Errorf("has shape %v, no matrix", there)
			}
			here := slices.Clone(there)
			n, err := halved(there[len(there)-2])
			here[len(here)-2] = n
			return here, err
		},
		row: func(_ *config, there []int, r int) int {
			n := there[len(there)-2] / 2
			return r/n*2*n + which*n + r%n
		},
	}
}
