package hf

import "fmt"

// layerTypes are the names of what a layer sees, true for a window.
var layerTypes = map[string]bool{"full_attention": false, "sliding_attention": true}

// windows reads the window, 0 for none, and which layers have it; nil: that is not
// said layer by layer.
func (c *config) windows() (window int64, layers []bool) {
	var types []string
	if c.value("layer_types", &types); types != nil && int64(len(types)) != c.layers {
		c.refuse("layer_types", fmt.Sprintf("are %d, num_hidden_layers is %d", len(types), c.layers), nil)
		return 0, nil
	}
	for l, t := range types {
		slides, ok := layerTypes[t]
		if !ok {
			c.refuse("layer_types", fmt.Sprintf("is %q of layer %d; full_attention and sliding_attention are known", clip(t), l), ErrUnsupported)
		}
		layers = append(layers, slides)
	}
	if c.flagOr("use_sliding_window", true) {
		window = c.countOr("sliding_window", 0)
	}
	return window, layers
}

// cut keeps the context within the window, where all positions are seen: the
// architecture has no windows.
func cut(c *config, _ *header) {
	window, layers := c.windows()
	for _, slides := range layers {
		if slides {
			layers = nil
		}
	}
	if window == 0 || layers != nil || window >= c.context {
		return
	}
	c.note(fmt.Sprintf("the context is %d tokens, sliding_window, of max_position_embeddings %d: windows are not supported for %s", window, c.context, c.family.class))
	c.context = window
}

// someLayers hands on the window and, where the config says it, which layers have it.
func someLayers(c *config, h *header) {
	window, layers := c.windows()
	if window > 0 {
		h.set("attention.sliding_window", uint32(window))
	}
	const pattern = "attention.sliding_window_pattern"
	switch {
	case layers != nil:
		h.set(pattern, layers)
	case c.has("sliding_window_pattern"):
		h.set(pattern, uint32(c.count("sliding_window_pattern")))
	}
}
