package hf

import "fmt"

// everyFourthStill holds the layers that do not rotate against the architecture's own
// rule. In no_rope_layers a 1 is for a layer that rotates, whatever the name says.
func everyFourthStill(c *config, _ *header) {
	var rotates []int64
	c.value("no_rope_layers", &rotates)
	for l, r := range rotates {
		if (r != 0) != ((l+1)%4 != 0) {
			c.refuse("no_rope_layers", fmt.Sprintf("is %d of layer %d, which this architecture has otherwise", r, l), ErrUnsupported)
		}
	}
	if every := c.countOr("no_rope_layer_interval", 4); rotates == nil && every != 4 {
		c.refuse("no_rope_layer_interval", fmt.Sprintf("is %d, must be 4", every), ErrUnsupported)
	}
}
