package model

import (
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/prog"
)

// traits are what a file says of its model: the sizes, and the numbers that most
// models leave at what readTraits gives. An architecture's read func changes them.
type traits struct {
	*Spec
	rope  *ropeSpec        // of layers that see all positions
	local *ropeSpec        // of windowed layers
	roped func(l int) bool // nil: all layers rotate

	window   int // positions that a windowed layer sees; 0: there are none
	windowed func(l int) bool

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
	if d.read != nil && k.err == nil {
		d.read(k, t)
	}
	return t
}

// readWindow reads the window, of absent positions where the file is silent, and
// says which layers have it: of every period layers all but the last one, or by
// fullFirst the first. The file may state another period, or each layer's lot.
func (t *traits) readWindow(k *keys, absent, period int, fullFirst bool) {
	t.window = k.countOr("attention.sliding_window", absent, 0, math.MaxInt32)
	const pattern = "attention.sliding_window_pattern"
	if kind, _, _, _ := k.file.KindOf(k.name(pattern)); kind == gguf.KindArray {
		t.readLots(k, pattern)
		return
	}
	period = k.countOr(pattern, period, 1, maxLayers)
	full := period - 1
	if fullFirst {
		full = 0
	}
	t.windowed = func(l int) bool { return l%period != full }
}

// readLots reads for each layer whether it has the window.
func (t *traits) readLots(k *keys, pattern string) {
	lots, err := k.file.Bools(k.name(pattern))
	if err != nil && k.err == nil {
		k.err = fmt.Errorf("model: %w", err)
	}
	if k.err == nil && len(lots) < t.Layers {
		k.fail(k.name(pattern), fmt.Sprintf("of %d layers", len(lots)), fmt.Sprintf("of all %d", t.Layers), nil)
	}
	t.windowed = func(l int) bool { return lots[l] }
}

// everywhere and nowhere choose all layers, and none.
func everywhere(int) bool { return true }
func nowhere(int) bool    { return false }

// plain is the rope without what stretches its positions.
func (r *ropeSpec) plain() *ropeSpec {
	return &ropeSpec{dim: r.dim, base: r.base, scaling: ropeNone, factor: 1, attnFactor: 1}
}
