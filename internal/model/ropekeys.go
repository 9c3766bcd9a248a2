package model

import (
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/quant"
)

// readRope reads and checks the keys of the rotary positions.
func readRope(k *keys, s *Spec) *ropeSpec {
	r := &ropeSpec{scaling: ropeNone, factor: 1, extFactor: 1, attnFactor: 1}
	r.dim = k.countOr("rope.dimension_count", s.HeadDim, 0, maxHeadDim)
	if k.err == nil && (r.dim > s.HeadDim || r.dim%2 != 0) {
		k.fail(k.name("rope.dimension_count"), r.dim, fmt.Sprintf("even and at most the head's width, %d", s.HeadDim), nil)
	}
	r.base = k.base("rope.freq_base", 10000)
	r.attnFactor = k.positiveOr("rope.scaling.attn_factor", 1)
	r.original = k.countOr("rope.scaling.original_context_length", s.Context, 1, math.MaxInt32)
	kind := k.text(k.name("rope.scaling.type"))
	if kind == "" {
		kind = string(ropeNone)
		if k.has("rope.scale_linear") || k.has("rope.scaling.factor") {
			kind = string(ropeLinear) // as older files have it
		}
	}
	switch r.scaling = ropeScaling(kind); r.scaling {
	case ropeNone:
		return r
	case ropeLinear, ropeYaRN, ropeLongRoPE:
	default:
		k.fail(k.name("rope.scaling.type"), kind, "none, linear, yarn or longrope", ErrUnsupported)
		return r
	}
	r.factor = k.scaleOr("rope.scaling.factor", 1)
	if !k.has("rope.scaling.factor") {
		r.factor = k.scaleOr("rope.scale_linear", 1)
	}
	if r.scaling != ropeYaRN {
		return r
	}
	r.logMul = k.numberOr("rope.scaling.yarn_log_multiplier", 0)
	r.extFactor = k.positiveOr("rope.scaling.yarn_ext_factor", 1)
	r.betaFast = k.positiveOr("rope.scaling.yarn_beta_fast", 32)
	r.betaSlow = k.positiveOr("rope.scaling.yarn_beta_slow", 1)
	r.between = !k.flagOr("rope.scaling.yarn_truncate", true) // of folders alone: GGUF files have no word for it
	return r
}

// The tensors of divisors of the rotary frequencies, one a rotating pair: one for
// all contexts, or a pair of which the context limit chooses one.
const (
	ropeFactors  = "rope_freqs.weight"
	longFactors  = "rope_factors_long.weight"
	shortFactors = "rope_factors_short.weight"
)

// readFactors reads the divisors, where the file has them. The choice between
// long and short ones is made here, once: it belongs to the model that is open,
// since keys that are cached under one are wrong under the other.
func (b *builder) readFactors(r *ropeSpec, context int) {
	name := ropeFactors
	if b.has(longFactors) && b.has(shortFactors) {
		r.pair, name = true, shortFactors
		if context > r.original {
			name = longFactors
		}
		b.faced[longFactors], b.faced[shortFactors] = true, true
	}
	if b.has(name) {
		r.factors = b.factors(name, r.dim/2)
	}
}

// factors reads a tensor of n positive numbers.
func (b *builder) factors(name string, n int) []float32 {
	b.face(name, 1, n)
	if b.err != nil {
		return nil
	}
	t, _ := b.file.Tensor(name)
	if quant.Type(t.Type) != quant.F32 {
		b.fail(&TensorError{Arch: b.prog.Arch, Tensor: name, Want: "of type f32", Got: "of " + quant.Type(t.Type).String()})
		return nil
	}
	format, _ := quant.Lookup(quant.F32)
	factors := make([]float32, n)
	if err := b.file.ReadTensor(t, func(data []byte) error {
		format.Decode(factors, data)
		return nil
	}); err != nil {
		b.fail(fmt.Errorf("model: %w", err))
		return nil
	}
	for i, f := range factors {
		if !(f > 0) || f > math.MaxFloat32 {
			b.fail(&KeyError{Key: fmt.Sprintf("%s[%d]", name, i), Value: f, Bound: "a positive number"})
			return nil
		}
	}
	return factors
}

// describe says how positions are stretched for a context, and what decided it.
func (r *ropeSpec) describe(context int) (how, why string) {
	switch {
	case r.dim == 0:
		return "", ""
	case r.pair && context > r.original:
		return "long factors", fmt.Sprintf("a context of %d is beyond the %d of the training", context, r.original)
	case r.pair:
		return "short factors", fmt.Sprintf("a context of %d is within the %d of the training; the long ones need a longer MaxContext at Open", context, r.original)
	case r.scaling == ropeYaRN:
		return fmt.Sprintf("yarn ×%g from %d", r.factor, r.original), "the file says so, whatever the context"
	case r.scaling == ropeLinear:
		return fmt.Sprintf("linear ×%g", r.factor), "the file says so, whatever the context"
	case r.factors != nil:
		return "factors of each pair", "the file has them, for all contexts"
	}
	return "", ""
}
