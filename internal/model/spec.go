package model

import (
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/quant"
)

const (
	maxLayers  = 1 << 12
	maxWidth   = 1 << 24
	maxHeads   = 1 << 12
	maxHeadDim = 1 << 12
)

// readSpec reads and checks a decoder's sizes. They are not yet known to agree
// with the tensors; nothing may be allocated by them.
func readSpec(k *keys) *Spec {
	s := &Spec{Arch: k.arch, Name: k.text("general.name")}
	s.Context = k.count("context_length", 1, math.MaxInt32)
	s.Layers = k.count("block_count", 1, maxLayers)
	s.Embd = k.count("embedding_length", 1, maxWidth)
	s.FFN = k.count("feed_forward_length", 1, maxWidth)
	s.Heads = k.count("attention.head_count", 1, maxHeads)
	s.KVHeads = k.countOr("attention.head_count_kv", s.Heads, 1, maxHeads)
	s.Eps = k.positive("attention.layer_norm_rms_epsilon")
	if k.err != nil {
		return s
	}
	if s.Heads%s.KVHeads != 0 {
		k.fail(k.name("attention.head_count"), s.Heads, fmt.Sprintf("a multiple of head_count_kv, which is %d", s.KVHeads), nil)
	}
	if k.has("attention.key_length") {
		s.HeadDim = k.count("attention.key_length", 1, maxHeadDim)
	} else {
		if s.Embd%s.Heads != 0 {
			k.fail(k.name("embedding_length"), s.Embd, fmt.Sprintf("a multiple of head_count, which is %d, where there is no key_length", s.Heads), nil)
		}
		s.HeadDim = s.Embd / s.Heads
	}
	if v := k.countOr("attention.value_length", s.HeadDim, 1, maxHeadDim); k.err == nil && v != s.HeadDim {
		k.fail(k.name("attention.value_length"), v, fmt.Sprintf("the head's width, %d", s.HeadDim), ErrUnsupported)
	}
	if tensors := len(k.file.Tensors); s.Layers > tensors {
		k.fail(k.name("block_count"), s.Layers, fmt.Sprintf("at most the number of tensors, %d", tensors), nil)
	}
	k.refuse("expert_count", "0 (experts are not supported for this architecture)")
	s.readVocab(k)
	return s
}

// readVocab takes the vocabulary's size from the embedding, which is what the
// program works with, and holds the metadata against it.
func (s *Spec) readVocab(k *keys) {
	const embedding = "token_embd.weight"
	rows, _, ok := k.file.shape(embedding)
	if !ok {
		if k.err == nil {
			k.err = &TensorError{Arch: k.arch, Tensor: embedding, Want: fmt.Sprintf("vocabulary × %d", s.Embd)}
		}
		return
	}
	if rows > maxWidth {
		k.fail("rows of "+embedding, rows, fmt.Sprintf("at most %d", maxWidth), nil)
		return
	}
	s.Vocab = int(rows)
	if v := k.countOr("vocab_size", s.Vocab, 0, math.MaxUint32); k.err == nil && v != s.Vocab {
		k.fail(k.name("vocab_size"), v, fmt.Sprintf("the rows of %s, %d", embedding, s.Vocab), nil)
	}
	_, _, output := k.file.shape("output.weight")
	s.Tied = !output
}

// ropeFactors is the tensor of divisors of the rotary frequencies.
const ropeFactors = "rope_freqs.weight"

// readRope reads and checks the keys of the rotary positions.
func readRope(k *keys, s *Spec) *ropeSpec {
	r := &ropeSpec{scaling: ropeNone, factor: 1, extFactor: 1, attnFactor: 1}
	r.dim = k.countOr("rope.dimension_count", s.HeadDim, 0, maxHeadDim)
	if k.err == nil && (r.dim > s.HeadDim || r.dim%2 != 0) {
		k.fail(k.name("rope.dimension_count"), r.dim, fmt.Sprintf("even and at most the head's width, %d", s.HeadDim), nil)
	}
	if r.base = k.positiveOr("rope.freq_base", 10000); k.err == nil && r.base <= 1 {
		k.fail(k.name("rope.freq_base"), r.base, "above 1", nil)
	}
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
	case ropeLinear, ropeYaRN:
	default:
		k.fail(k.name("rope.scaling.type"), kind, "none, linear or yarn", ErrUnsupported)
		return r
	}
	r.factor = k.positiveOr("rope.scaling.factor", k.positiveOr("rope.scale_linear", 1))
	if r.scaling == ropeLinear {
		return r
	}
	r.original = k.countOr("rope.scaling.original_context_length", s.Context, 1, math.MaxInt32)
	r.attnFactor = k.positiveOr("rope.scaling.attn_factor", 1)
	r.extFactor = k.positiveOr("rope.scaling.yarn_ext_factor", 1)
	r.betaFast = k.positiveOr("rope.scaling.yarn_beta_fast", 32)
	r.betaSlow = k.positiveOr("rope.scaling.yarn_beta_slow", 1)
	return r
}

// readFactors reads the tensor of frequency divisors, one a rotating pair.
func (b *builder) readFactors(r *ropeSpec) {
	b.face(ropeFactors, 1, r.dim/2)
	if b.err != nil {
		return
	}
	t, _ := b.file.Tensor(ropeFactors)
	if quant.Type(t.Type) != quant.F32 {
		b.fail(&TensorError{Arch: b.prog.Arch, Tensor: ropeFactors, Want: "of type f32", Got: "of " + quant.Type(t.Type).String()})
		return
	}
	format, _ := quant.Lookup(quant.F32)
	r.factors = make([]float32, r.dim/2)
	if err := b.file.ReadTensor(t, func(data []byte) error {
		format.Decode(r.factors, data)
		return nil
	}); err != nil {
		b.fail(fmt.Errorf("model: %w", err))
		return
	}
	for i, f := range r.factors {
		if !(f > 0) || f > math.MaxFloat32 {
			b.fail(&KeyError{Key: fmt.Sprintf("%s[%d]", ropeFactors, i), Value: f, Bound: "a positive number"})
			return
		}
	}
}
