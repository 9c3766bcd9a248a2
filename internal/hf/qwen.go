package hf

import "slices"

var (
	qwen2Names = slices.Concat(outer, attention, ffnNorm, dense)
	qwen3Names = slices.Concat(qwen2Names, headNorms)
)

// qwens are the dense Qwens.
var qwens = []family{
	{class: "Qwen2ForCausalLM", arch: "qwen2", names: qwen2Names, must: []must{silu}, keys: rmsNorm, rotates: true, window: allLayers, absent: unwindowed},
	{class: "Qwen3ForCausalLM", arch: "qwen3", names: qwen3Names, must: []must{silu}, keys: rmsNorm, rotates: true, window: allLayers, absent: unwindowed},
}

// unwindowed is for classes whose windows are to be switched on.
var unwindowed = map[string]string{"use_sliding_window": "false"}
