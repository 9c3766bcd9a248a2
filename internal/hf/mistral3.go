package hf

// mistral3s are Mistral's models of 2025, alone and beside a part that reads images.
var mistral3s = []family{
	{class: "Ministral3ForCausalLM", arch: "mistral3", names: llamaNames, must: []must{silu}, keys: rmsNorm, rotates: true, window: allLayers, more: temperature},
	{class: "Mistral3ForConditionalGeneration", arch: "mistral3", nested: "text_config", roots: besideImages, skips: imageParts, names: llamaNames,
		must: []must{silu}, keys: rmsNorm, rotates: true, window: allLayers, more: temperature},
}

// temperature hands on by how much queries grow beyond the context of the training.
func temperature(c *config, h *header) {
	r, _ := c.rotation()
	beta := or(r.Beta, 0)
	if beta == 0 {
		return
	}
	h.set("attention.temperature_scale", float32(beta))
	h.set("rope.scaling.original_context_length", uint32(c.original(r, c.context)))
}
