package model

import (
	"math"

	"github.com/paddock-go/paddock/internal/prog"
)

// traits are what a file says of its model: the sizes, and the numbers that most
// models leave at what readTraits gives. An architecture's read func changes them.
type traits struct {
	*Spec
	rope  *ropeSpec        // of layers that see all positions
	local *ropeSpec        // of windowed layers
	roped func(l int) bool // nil: all layers rotate

	lots // which layers have a window

	positions    bool    // learned positions are added to the embedding
	embedScale   float32 // of the embedding
	residual     float32 // of what is added to the stream
	scale        float32 // of scores: 1 ÷ √(head's width)
	scoreCap     float32 // soft cap of scores; 0: none
	logitScale   float32
	logitCap     float32          // soft cap of logits; 0: none
	temp         prog.Temperature // of queries
	mayHaveSinks bool
	pool         pooling     // of a model that embeds
	moe          *expertSpec // nil: no layer has experts
}

func readTraits(k *keys, d *decoder) *traits {
	eps := "attention.layer_norm_rms_epsilon"
	if d.norm == prog.LayerNorm {
		eps = "attention.layer_norm_epsilon"
	}
	t := &traits{Spec: readSpec(k, eps), embedScale: 1, residual: 1, logitScale: 1}
	if !d.experts {
		k.refuse("expert_count", "0 (experts are not supported for this architecture)")
	}
	if t.Without != nil && d.attends == nil {
		k.fail(k.name("attention.head_count_kv"), "an array with zeros", "above 0 in all layers of this architecture", ErrUnsupported)
	}
	t.rope = readRope(k, t.Spec)
	t.local = t.rope
	if k.err == nil {
		t.scale = float32(1 / math.Sqrt(float64(t.HeadDim)))
	}
	t.pool = readDecoderPooling(k)
	if k.err == nil && k.has(windowPattern) {
		t.readWindow(k, t.Layers, 0, 0, false) // of any architecture, where its layers are said
	}
	if d.read != nil && k.err == nil {
		d.read(k, t)
	}
	return t
}

// everywhere and nowhere choose all layers, and none.
func everywhere(int) bool { return true }
func nowhere(int) bool    { return false }

// plain is the rope without what stretches its positions. The file's own factor
// on what rotates stays.
func (r *ropeSpec) plain() *ropeSpec {
	return &ropeSpec{dim: r.dim, base: r.base, scaling: ropeNone, factor: 1, attnFactor: r.attnFactor}
}

// based is the rope with the base of a key, if the file has it.
func (r *ropeSpec) based(k *keys, key string, absent float32) *ropeSpec {
	other := *r
	other.base = k.base(key, absent)
	return &other
}
