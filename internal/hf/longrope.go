package hf

import (
	"fmt"
	"math"
)

// The tensors that a config's rope_scaling becomes.
const (
	factorsName = "rope_freqs.weight"
	longName    = "rope_factors_long.weight"
	shortName   = "rope_factors_short.weight"
)

const maxRotary = 1 << 16

// longRope has two tables of divisors, one for contexts beyond that of the training.
// The magnitude makes up for what the longer ones do.
func longRope(c *config, h *header, r *rope) {
	original := c.original(r, c.context)
	h.set("rope.scaling.original_context_length", uint32(original))
	for _, t := range []struct {
		key, name string
		list      []float64
	}{{"long_factor", longName, r.Long}, {"short_factor", shortName, r.Short}} {
		if want := c.rotary(r) / 2; int64(len(t.list)) != want || want == 0 {
			c.refuse("rope_scaling."+t.key, fmt.Sprintf("has %d numbers, must be one for each of %d pairs that rotate", len(t.list), want), nil)
			return
		}
		values := make([]float32, len(t.list))
		for i, v := range t.list {
			if values[i] = float32(v); !(values[i] > 0) || v > math.MaxFloat32 {
				c.refuse("rope_scaling."+t.key, fmt.Sprintf("is %v at %d, a positive number", v, i), nil)
			}
		}
		h.made = append(h.made, made{t.name, values})
	}
	if a := or(r.AttnFactor, 0); a != 0 {
		c.magnitude(h, a)
		return
	}
	// The stretch is told by the lengths; only files without the shorter one state it.
	stretch := float64(c.context) / original
	if stretch == 1 {
		stretch = or(r.Factor, 1)
	}
	m := 1.0
	if stretch > 1 {
		m = math.Sqrt(1 + math.Log(stretch)/math.Log(original))
	}
	c.magnitude(h, m)
}

// llama3 comes to divisors of the rotary frequencies. Pairs that turn often within the
// original context keep their frequency, those that turn seldom get all of the factor,
// and those between a share by how often. Conversions keep each product and sum a
// rounding of its own.
func llama3(c *config, h *header, r *rope) {
	for _, p := range []*float64{r.Factor, r.Low, r.High, r.Original} {
		if p == nil || !(*p > 0 && *p < 1e9) {
			c.refuse("rope_scaling", "of kind llama3 needs factor, low_freq_factor, high_freq_factor and original_max_position_embeddings, all positive", nil)
			return
		}
	}
	dim, theta := c.rotary(r), c.theta(r)
	switch {
	case !(*r.High > *r.Low):
		c.refuse("rope_scaling", fmt.Sprintf("high_freq_factor %v must be above low_freq_factor %v", *r.High, *r.Low), nil)
	case dim > maxRotary:
		c.refuse("head_dim", fmt.Sprintf("%d values rotate, at most %d", dim, maxRotary), nil)
	}
	if c.err != nil {
		return
	}
	list := make([]float32, dim/2)
	for i := range list {
		turn := 2 * math.Pi * math.Pow(theta, float64(2*i)/float64(dim)) // positions of one turn
		switch {
		case turn < *r.Original / *r.High:
			list[i] = 1
		case turn > *r.Original / *r.Low:
			list[i] = float32(*r.Factor)
		default:
			keep := (*r.Original/turn - *r.Low) / (*r.High - *r.Low)
			list[i] = float32(1 / float64(float64((1-keep) / *r.Factor)+keep))
		}
	}
	h.made = append(h.made, made{factorsName, list})
}
