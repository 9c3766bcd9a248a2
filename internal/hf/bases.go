package hf

// bases are decoders without an output matrix, which some of those who made them into
// models that embed have stored so. Their rows see what is before them alone.
var bases = []family{
	{class: "LlamaModel", arch: "llama", names: llamaNames, must: []must{silu}, keys: rmsNorm, rotates: true, embeds: true},
	{class: "MistralModel", arch: "llama", names: llamaNames, must: []must{silu}, keys: rmsNorm, rotates: true, window: allLayers, embeds: true},
	{class: "Qwen2Model", arch: "qwen2", names: qwen2Names, must: []must{silu}, keys: rmsNorm, rotates: true, window: allLayers, absent: unwindowed, embeds: true},
	{class: "Qwen3Model", arch: "qwen3", names: qwen3Names, must: []must{silu}, keys: rmsNorm, rotates: true, window: allLayers, absent: unwindowed, embeds: true},
}
