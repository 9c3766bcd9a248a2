package hf

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
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

	Long  []float64 `json:"long_factor"`
	Short []float64 `json:"short_factor"`

	Alpha *float64 `json:"alpha"` // of another kind of "dynamic"
	Beta  *float64 `json:"llama_4_scaling_beta"`
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

// scalings are the kinds of rope_scaling that are known here.
var scalings = map[string]func(c *config, h *header, r *rope){
	"default":  func(*config, *header, *rope) {},
	"linear":   linear,
	"llama3":   llama3,
	"yarn":     yarn,
	"longrope": longRope,
	"su":       longRope, // its name in the first Phi 3
	"dynamic":  dynamic,
}

// rotation reads what a config says of rotations: under the newer key both in one,
// there perhaps one of each kind of layer. local is of windowed layers, nil where
// nothing is said of them alone.
func (c *config) rotation() (all, local *rope) {
	all = &rope{}
	key := "rope_parameters"
	if !c.has(key) {
		key = "rope_scaling"
	}
	var kinds map[string]json.RawMessage
	c.value(key, &kinds)
	full, sliding := has(kinds, "full_attention"), has(kinds, "sliding_attention")
	if !full && !sliding {
		c.value(key, all)
		return all, nil
	}
	one := func(name string, r *rope) {
		if err := unJSON(kinds[name], r); err != nil {
			c.refuse(key+"."+name, "can't be read", err)
		}
	}
	if full {
		one("full_attention", all)
	}
	if sliding {
		local = &rope{}
		one("sliding_attention", local)
	}
	return all, local
}

// theta is the base of a rotation, as a file's older versions have it elsewhere.
func (c *config) theta(r *rope) float64 {
	theta := or(r.Theta, c.numberOr("rope_theta", 10000))
	if !(float32(theta) > 1) || theta > math.MaxFloat32 {
		c.refuse("rope_theta", fmt.Sprintf("is %v, a number above 1", theta), nil)
	}
	return theta
}

// rotary is the number of a head's values that rotate.
func (c *config) rotary(r *rope) int64 {
	share := or(r.Partial, c.numberOr("partial_rotary_factor", 1))
	switch {
	case !c.family.partial && share != 1:
		c.refuse("partial_rotary_factor", fmt.Sprintf("is %v, must be 1 for %s", share, c.family.class), ErrUnsupported)
	case !(share > 0 && share <= 1):
		c.refuse("partial_rotary_factor", fmt.Sprintf("is %v, above 0 and at most 1", share), nil)
	default:
		return int64(float64(c.headDim) * share)
	}
	return c.headDim
}

// ropeKeys adds the keys of the rotation.
func (c *config) ropeKeys(h *header) {
	r, local := c.rotation()
	h.set("rope.dimension_count", uint32(c.rotary(r)))
	h.set("rope.freq_base", float32(c.theta(r)))
	if local != nil {
		c.localRope(h, r, local)
	}
	scale, ok := scalings[r.kind()]
	if !ok {
		c.refuse("rope_scaling.rope_type", fmt.Sprintf("is %q; default, linear, dynamic, yarn, longrope and llama3 are known", clip(r.kind())), ErrUnsupported)
		return
	}
	scale(c, h, r)
}

// localRope is the rotation of windowed layers: unstretched, with a base of their own
// where the class has such a key, or for most classes that of all.
func (c *config) localRope(h *header, r, local *rope) {
	const key = "rope_parameters.sliding_attention"
	theta := c.theta(local)
	switch {
	case !c.family.unstretched:
		if !reflect.DeepEqual(r, local) {
			c.refuse(key, "must be what full_attention has for "+c.family.class, ErrUnsupported)
		}
	case local.kind() != "default" || or(local.Partial, or(r.Partial, 1)) != or(r.Partial, 1):
		c.refuse(key, "windowed layers rotate unstretched and as far as others", ErrUnsupported)
	case c.family.localBase:
		h.set("rope.freq_base_swa", float32(theta))
	case theta != c.theta(r):
		c.refuse(key, fmt.Sprintf("rope_theta is %v, must be that of other layers for %s", theta, c.family.class), ErrUnsupported)
	}
}

// stretch is a scaling's factor.
func (c *config) stretch(r *rope) float64 {
	f := or(r.Factor, 0)
	if !(float32(f) > 0) || f > math.MaxFloat32 {
		c.refuse("rope_scaling.factor", fmt.Sprintf("is %v, a positive number", f), nil)
		return 1
	}
	return f
}

// original is the context of the training, in tokens.
func (c *config) original(r *rope, absent int64) float64 {
	n := or(r.Original, float64(c.countOr("original_max_position_embeddings", absent)))
	if !(n >= 1 && n <= math.MaxInt32) {
		c.refuse("rope_scaling.original_max_position_embeddings", fmt.Sprintf("is %v, 1 to 2^31-1", n), nil)
		return 1
	}
	return n
}

func linear(c *config, h *header, r *rope) {
	h.set("rope.scaling.type", "linear")
	h.set("rope.scaling.factor", float32(c.stretch(r)))
}

// dynamic stretches only what lies beyond max_position_embeddings, and no sequence
// gets so far here.
func dynamic(c *config, _ *header, r *rope) {
	if r.Alpha != nil {
		c.refuse("rope_scaling.alpha", "of kind dynamic", ErrUnsupported)
	}
	c.note(fmt.Sprintf("the context is max_position_embeddings, %d tokens: beyond it rope_scaling dynamic is not supported", c.context))
}

// yarn hands on the stretch. Its magnitude, the factor on what rotates, is there
// attention_factor, or the ratio of grown(mscale) to grown(mscale_all_dim), or
// grown(1); here attn_factor × grown(1) ÷ grown(yarn_log_multiplier).
func yarn(c *config, h *header, r *rope) {
	f := c.stretch(r)
	if !or(r.Truncate, true) {
		h.set("rope.scaling.yarn_truncate", false)
	}
	h.set("rope.scaling.type", "yarn")
	h.set("rope.scaling.factor", float32(f))
	h.set("rope.scaling.original_context_length", uint32(c.original(r, c.context)))
	h.set("rope.scaling.yarn_beta_fast", float32(or(r.BetaFast, 32)))
	h.set("rope.scaling.yarn_beta_slow", float32(or(r.BetaSlow, 1)))
	grown := func(m float64) float64 { return 1 + 0.1*m*math.Log(max(f, 1)) }
	m, all := or(r.MScale, 0), or(r.MScaleAll, 0)
	attn := 1.0
	switch {
	case or(r.AttnFactor, 0) != 0:
		attn = *r.AttnFactor / grown(1)
	case m != 0 && all != 0:
		attn = grown(m) / grown(1)
		h.set("rope.scaling.yarn_log_multiplier", float32(all))
	}
	c.magnitude(h, attn)
}

// magnitude hands on a factor on the values that rotate.
func (c *config) magnitude(h *header, m float64) {
	if !(float32(m) > 0) || m > math.MaxFloat32 {
		c.refuse("rope_scaling.attention_factor", fmt.Sprintf("comes to %v, a positive number", m), nil)
	}
	if float32(m) != 1 {
		if c.family.localBase { // whose windowed layers would take it too
			c.refuse("rope_scaling.attention_factor", fmt.Sprintf("comes to %v, must come to 1 for %s", m, c.family.class), ErrUnsupported)
		}
		h.set("rope.scaling.attn_factor", float32(m))
	}
}

func or[T any](v *T, absent T) T {
	if v == nil {
		return absent
	}
	return *v
}
