package hf

import "fmt"

// geluActs are GELU's forms. All are computed by tanh here.
var geluActs = must{"hidden_act", []string{`"gelu"`, `"gelu_new"`, `"gelu_pytorch_tanh"`}}

// bothWays says that rows see what is behind them, and that the exact GELU is not what
// is computed.
func bothWays(c *config, h *header) {
	h.set("attention.causal", false)
	act := "gelu"
	if c.value("hidden_act", &act); act == "gelu" {
		c.note(fmt.Sprintf("hidden_act gelu of %s is computed in its tanh form, which differs by up to 0.0005, as in GGUF files of it", c.family.class))
	}
}

// alternate holds what a config says of single layers against every n-th one, from
// layer first on, seeing everything.
func (c *config) alternate(layers []bool, every, first int64) {
	for l, slides := range layers {
		if slides == (int64(l)%every == first) {
			c.refuse("layer_types", fmt.Sprintf("of layer %d is not what %s has, full_attention of every layer l with l mod %d = %d", l, c.family.class, every, first), ErrUnsupported)
		}
	}
}
