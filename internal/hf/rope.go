package hf

import (
	"fmt"
	"math"
)

// rope is how positions rotate.
type rope struct {
	Type     string   `json:"rope_type"`
	OldType  string   `json:"type"`
	Theta    *float64 `json:"rope_theta"`
	Partial  *float64 `json:"partial_rotary_factor"`
	Factor   *float64 `json:"factor"`
	Original *float64 `json:"original_max_position_embeddings"`
	Low      *float64 `json:"low_freq_factor"`
	High     *float64 `json:"high_freq_factor"`
	BetaFast *float64 `json:"beta_fast"`
	BetaSlow *float64 `json:"beta_slow"`

	AttnFactor *float64 `json:"attention_factor"`
	MScale     *float64 `json:"mscale"`
	MScaleAll  *float64 `json:"mscale_all_dim"`
	Truncate   *bool    `json:"truncate"`
}

// kind is the name of the scaling, "default" for none.
func (r *rope) kind() string {
	switch {
	case r.Type != "":
		return r.Type
	case r.OldType != "":
		return r.OldType
	}
	return "default"
}

// scaling is what stretches positions, under whichever key; nil: nothing is said.
func (c *config) scaling() *rope {
	if c.Parameters != nil {
		return c.Parameters
	}
	return c.Scaling
}

func (c *config) theta() float64 {
	if r := c.scaling(); r != nil && r.Theta != nil {
		return *r.Theta
	}
	return or(c.Theta, 10000)
}

// ropeKeys adds the keys of the rotation.
func (c *config) ropeKeys(add func(key string, v any)) error {
	add("rope.freq_base", float32(c.theta()))
	r := c.scaling()
	if r == nil {
		return nil
	}
	if or(r.Partial, 1) != 1 {
		return c.refuse("partial_rotary_factor", fmt.Sprintf("is %v, must be 1 for this architecture", *r.Partial), ErrUnsupported)
	}
	switch kind := r.kind(); kind {
	case "default":
		return nil
	case "llama3":
		_, err := c.factors()
		return err
	case "linear", "yarn":
		if r.Factor == nil {
			return c.refuse("rope_scaling.factor", "not there", nil)
		}
		add("rope.scaling.type", kind)
		add("rope.scaling.factor", float32(*r.Factor))
		if kind == "linear" {
			return nil
		}
		if r.AttnFactor != nil || r.MScale != nil || r.MScaleAll != nil || !or(r.Truncate, true) {
			return c.refuse("rope_scaling", "attention_factor, mscale, mscale_all_dim, or truncate that is false", ErrUnsupported)
		}
		original := or(r.Original, float64(c.Context))
		if !(original >= 1 && original <= math.MaxInt32) {
			return c.refuse("rope_scaling.original_max_position_embeddings", fmt.Sprintf("is %v, 1 to 2^31-1", original), nil)
		}
		add("rope.scaling.original_context_length", uint32(original))
		add("rope.scaling.yarn_beta_fast", float32(or(r.BetaFast, 32)))
		add("rope.scaling.yarn_beta_slow", float32(or(r.BetaSlow, 1)))
		return nil
	default:
		return c.refuse("rope_scaling.rope_type", fmt.Sprintf("is %q; default, linear, llama3 and yarn are known", clip(kind)), ErrUnsupported)
	}
}

// factors are the divisors of the rotary frequencies that Llama 3's scaling comes to;
// nil: the scaling is another one. Pairs that turn often within the original context
// keep their frequency, those that turn seldom get all of the factor, and those between
// a share by how often. Conversions keep each product and sum a rounding of its own.
func (c *config) factors() ([]float32, error) {
	r := c.scaling()
	if r == nil || r.kind() != "llama3" {
		return nil, nil
	}
	for _, p := range []*float64{r.Factor, r.Low, r.High, r.Original} {
		if p == nil || !(*p > 0 && *p < 1e9) {
			return nil, c.refuse("rope_scaling", "of kind llama3 needs factor, low_freq_factor, high_freq_factor and original_max_position_embeddings, all positive", nil)
		}
	}
	if !(*r.High > *r.Low) || !(c.theta() > 1) {
		return nil, c.refuse("rope_scaling", fmt.Sprintf("high_freq_factor %v must be above low_freq_factor %v, and rope_theta %v above 1", *r.High, *r.Low, c.theta()), nil)
	}
	dim := c.headDim()
	if dim > 1<<16 {
		return nil, c.refuse("head_dim", fmt.Sprintf("is %d, at most %d", dim, 1<<16), nil)
	}
	list := make([]float32, dim/2)
	for i := range list {
		turn := 2 * math.Pi * math.Pow(c.theta(), float64(2*i)/float64(dim)) // positions of one turn
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
	return list, nil
}
