// Package synth makes up model files: random weights in the shapes of real
// models, for benchmarks that need a model's size and not its sense. The files
// open in other engines too, so that the same work can be measured there.
package synth

import (
	"fmt"
	"slices"
	"strings"
)

// shape is a model's size.
type shape struct {
	name    string
	arch    string
	layers  int
	embd    int
	heads   int
	kvHeads int
	headDim int
	ffn     int
	vocab   int
	context int
	base    float32 // of the rotary frequencies
	tied    bool
	bias    bool // on query, key and value
	norm    bool // of each head's query and key
	moe     *expertShape
	dense   *denseShape
}

// shapes lists what can be made: models of many machines, and tiny ones. The
// golden architectures are in lists of their own.
var shapes = []shape{
	{"135m", "llama", 30, 576, 9, 3, 64, 1536, 49152, 8192, 1e5, true, false, false, nil, nil},       // SmolLM2-135M
	{"0.6b", "qwen3", 28, 1024, 16, 8, 128, 3072, 151936, 40960, 1e6, true, false, true, nil, nil},   // Qwen3-0.6B
	{"1.2b", "llama", 16, 2048, 32, 8, 64, 8192, 128256, 131072, 5e5, true, false, false, nil, nil},  // Llama-3.2-1B
	{"8b", "llama", 32, 4096, 32, 8, 128, 14336, 128256, 131072, 5e5, false, false, false, nil, nil}, // Llama-3.1-8B
	{"tiny-llama", "llama", 3, 256, 4, 2, 64, 512, 512, 1024, 1e4, false, false, false, nil, nil},    // tests' own,
	{"tiny-qwen2", "qwen2", 3, 256, 4, 2, 64, 512, 512, 1024, 1e6, true, true, false, nil, nil},      // of whole K-type blocks
	{"tiny-qwen3", "qwen3", 3, 256, 4, 2, 64, 512, 512, 1024, 1e6, true, false, true, nil, nil},
}

func all() []shape { return slices.Concat(shapes, denseShapes, expertShapes, encoderShapes) }

// Golden returns the names of the shapes that golden models have: those of about
// 100 million parameters. Safe for concurrent use.
func Golden() []string {
	var names []string
	for _, s := range slices.Concat(denseShapes, expertShapes, encoderShapes) {
		names = append(names, s.name)
	}
	slices.Sort(names)
	return names
}

// Shapes returns the names of the shapes. Safe for concurrent use.
func Shapes() []string {
	var names []string
	for _, s := range all() {
		names = append(names, s.name)
	}
	return names
}

func findShape(name string) (shape, error) {
	for _, s := range all() {
		if strings.EqualFold(s.name, name) {
			return s, nil
		}
	}
	return shape{}, fmt.Errorf("synth: no shape %q; there are %s", name, strings.Join(Shapes(), ", "))
}

// tensor is a tensor of a shape: what it is called and how it is filled.
type tensor struct {
	name   string
	rows   int // 0: a vector
	cols   int
	part   part
	spread float64 // standard deviation of the values
	mean   float64
	stack  int // how many lie in one tensor, as those of experts do; 0: one
}

// part is the role that a mix of formats goes by.
type part uint8

const (
	plain part = iota
	vector
	embedding // not the output too
	output    // or the embedding, where it is both
	attnV
	ffnDown
	expert
	router // in float32
)

// tensors lists all tensors with their layer (−1: none). The spread keeps the
// residual stream and the logits in the range of real models.
func (s shape) tensors(add func(t tensor, layer int)) {
	if s.dense != nil {
		s.dense.tensors(s, add)
		return
	}
	in := func(cols int) float64 { return 1 / sqrt(cols) }
	out := func(cols int) float64 { return 1 / (sqrt(cols) * sqrt(2*s.layers)) }
	role := embedding
	if s.tied {
		role = output
	}
	add(tensor{"token_embd.weight", s.vocab, s.embd, role, 3 * in(s.embd), 0, 0}, -1)
	add(tensor{"output_norm.weight", 0, s.embd, vector, 0.1, 1, 0}, -1)
	if !s.tied {
		add(tensor{"output.weight", s.vocab, s.embd, output, 3 * in(s.embd), 0, 0}, -1)
	}
	for l := range s.layers {
		name := func(part string) string { return fmt.Sprintf("blk.%d.%s", l, part) }
		add(tensor{name("attn_norm.weight"), 0, s.embd, vector, 0.1, 1, 0}, l)
		if s.moe != nil && s.moe.rank > 0 {
			s.moe.attention(s, l, name, add)
		} else {
			s.attention(l, name, add)
		}
		if s.moe != nil && s.moe.bias {
			add(tensor{name("post_attention_norm.weight"), 0, s.embd, vector, 0.1, 1, 0}, l)
		} else {
			add(tensor{name("ffn_norm.weight"), 0, s.embd, vector, 0.1, 1, 0}, l)
		}
		if s.moe != nil && l >= s.moe.lead {
			s.moe.feed(s, l, name, add)
			continue
		}
		add(tensor{name("ffn_gate.weight"), s.ffn, s.embd, plain, in(s.embd), 0, 0}, l)
		add(tensor{name("ffn_up.weight"), s.ffn, s.embd, plain, in(s.embd), 0, 0}, l)
		add(tensor{name("ffn_down.weight"), s.embd, s.ffn, ffnDown, out(s.ffn), 0, 0}, l)
	}
}

// attention lists the tensors of the usual attention in layer l.
func (s shape) attention(l int, name func(string) string, add func(t tensor, layer int)) {
	q, kv := s.heads*s.headDim, s.kvHeads*s.headDim
	in, out := 1/sqrt(s.embd), 1/(sqrt(q)*sqrt(2*s.layers))
	add(tensor{name("attn_q.weight"), q, s.embd, plain, in, 0, 0}, l)
	add(tensor{name("attn_k.weight"), kv, s.embd, plain, in, 0, 0}, l)
	add(tensor{name("attn_v.weight"), kv, s.embd, attnV, in, 0, 0}, l)
	if s.bias {
		add(tensor{name("attn_q.bias"), 0, q, vector, 0.1, 0, 0}, l)
		add(tensor{name("attn_k.bias"), 0, kv, vector, 0.1, 0, 0}, l)
		add(tensor{name("attn_v.bias"), 0, kv, vector, 0.1, 0, 0}, l)
	}
	if s.norm {
		add(tensor{name("attn_q_norm.weight"), 0, s.headDim, vector, 0.1, 1, 0}, l)
		add(tensor{name("attn_k_norm.weight"), 0, s.headDim, vector, 0.1, 1, 0}, l)
	}
	add(tensor{name("attn_output.weight"), s.embd, q, plain, out, 0, 0}, l)
}
