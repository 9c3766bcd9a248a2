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

// someLayers hands on the window and, where the config says it, which layers have it;
// else those have it that the architecture says.
func someLayers(c *config, h *header) {
	window, layers := c.windows()
	if window > 0 {
		h.set("attention.sliding_window", uint32(window))
	}
	switch {
	case layers != nil:
		h.set(pattern, layers)
	case c.has("sliding_window_pattern"):
		h.set(pattern, uint32(c.count("sliding_window_pattern")))
	}
}

const pattern = "attention.sliding_window_pattern"

// allLayers hands on a window that all layers have unless the config says which, or how
// many at the bottom see all. The architecture has none of itself.
func allLayers(c *config, h *header) {
	window, layers := c.windows()
	if window == 0 {
		return
	}
	if c.has("max_window_layers") && layers == nil {
		var full int64
		c.value("max_window_layers", &full)
		for l := range c.layers {
			layers = append(layers, l >= full)
		}
	}
	h.set("attention.sliding_window", uint32(window))
	if layers == nil {
		h.set(pattern, uint32(0)) // no layer without
		return
	}
	h.set(pattern, layers)
}
