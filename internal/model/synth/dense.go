package synth

import (
	"fmt"
	"maps"
	"slices"

	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
)

// denseShape is in what the tensors and keys of a dense decoder differ from
// Llama's.
type denseShape struct {
	layerNorm  bool
	normBias   bool
	after      bool // norms of what attention and feed-forward give
	notBefore  bool // none of what they take
	parallel   bool // one norm for both
	wholeNorm  bool // of all heads' queries, and keys
	headNorm   bool // of each head's
	bias       bool // of every product
	headBias   bool
	fusedQKV   bool
	fusedUp    bool
	ungated    bool
	positions  bool
	turn       int // values of a head that rotate, where not all
	keys       map[string]any
	longTables bool // of rotary divisors
	table      bool // of rotary divisors, one for all lengths
	taps       int  // of the convolution that all layers but every third have in place of attention; 0: none
	pool       int  // how rows become one of a model that embeds; 0: it generates
	encoder    *encoderShape
}

// attends tells whether a layer attends: every third where others convolve, from the
// second on.
func (d *denseShape) attends(layer int) bool { return d.taps == 0 || layer%3 == 1 }

func dense(name, arch string, tied bool, ffn int, d denseShape) shape {
	return shape{name: name, arch: arch, layers: 12, embd: 768, heads: 12, kvHeads: 4, headDim: 64, ffn: ffn, vocab: 16384, context: 8192, base: 1e4, tied: tied, dense: &d}
}

// denseShapes are those of the golden dense decoders, of about 100 million
// parameters.
var denseShapes = []shape{
	dense("llama", "llama", false, 2048, denseShape{}),
	dense("llama_bias", "llama", false, 2048, denseShape{bias: true}),
	dense("llama_gqa_tied", "llama", true, 2560, denseShape{}),
	dense("llama_linear", "llama", false, 2048, denseShape{keys: map[string]any{"rope.scaling.type": "linear", "rope.scaling.factor": float32(4)}}),
	dense("llama_yarn", "llama", false, 2048, denseShape{keys: map[string]any{"rope.scaling.type": "yarn", "rope.scaling.factor": float32(4),
		"rope.scaling.original_context_length": uint32(2048)}}),
	dense("llama3_rope", "llama", true, 2560, denseShape{table: true}),
	{name: "llama_mqa_headdim", arch: "llama", layers: 12, embd: 768, heads: 8, kvHeads: 1, headDim: 128, ffn: 2304, vocab: 16384, context: 8192, base: 1e6, dense: &denseShape{}},
	dense("lfm2", "lfm2", true, 2560, denseShape{headNorm: true, taps: 3}),
	dense("qwen3_embedding", "qwen3", true, 2560, denseShape{headNorm: true, pool: 3}),
	{name: "qwen2", arch: "qwen2", layers: 12, embd: 768, heads: 12, kvHeads: 4, headDim: 64, ffn: 2560, vocab: 16384, context: 8192, base: 1e6, tied: true, bias: true},
	{name: "qwen3", arch: "qwen3", layers: 12, embd: 768, heads: 12, kvHeads: 4, headDim: 64, ffn: 2560, vocab: 16384, context: 8192, base: 1e6, tied: true, norm: true},
	dense("smollm3", "smollm3", true, 2560, denseShape{}),
	dense("granite", "granite", true, 2560, denseShape{keys: map[string]any{"embedding_scale": float32(12), "residual_scale": float32(0.22), "logit_scale": float32(6), "attention.scale": float32(0.0156)}}),
	dense("mistral3", "mistral3", false, 2048, denseShape{keys: map[string]any{"rope.scaling.type": "yarn", "rope.scaling.factor": float32(4),
		"rope.scaling.original_context_length": uint32(2048), "rope.scaling.yarn_log_multiplier": float32(1), "attention.temperature_scale": float32(0.1)}}),
	dense("glm4", "glm4", false, 2048, denseShape{after: true, fusedUp: true, turn: 32}),
	dense("phi3", "phi3", false, 2048, denseShape{fusedQKV: true, fusedUp: true}),
	dense("phi3_longrope_long", "phi3", false, 2048, denseShape{fusedQKV: true, fusedUp: true, longTables: true, keys: map[string]any{
		"rope.scaling.original_context_length": uint32(2048), "rope.scaling.attn_factor": float32(1.19)}}),
	dense("phi3_longrope_short", "phi3", false, 2048, denseShape{fusedQKV: true, fusedUp: true, longTables: true, keys: map[string]any{
		"rope.scaling.original_context_length": uint32(8192), "rope.scaling.attn_factor": float32(1.19)}}),
	dense("olmo2", "olmo2", false, 2048, denseShape{after: true, notBefore: true, wholeNorm: true}),
	dense("olmo3", "olmo2", false, 2048, denseShape{after: true, notBefore: true, wholeNorm: true, keys: map[string]any{"attention.sliding_window": uint32(512),
		"rope.scaling.type": "yarn", "rope.scaling.factor": float32(4), "rope.scaling.original_context_length": uint32(2048)}}),
	dense("cohere2", "cohere2", true, 2560, denseShape{layerNorm: true, parallel: true, keys: map[string]any{"attention.sliding_window": uint32(512), "logit_scale": float32(0.25)}}),
	dense("gemma", "gemma", true, 2560, denseShape{}),
	dense("gemma2", "gemma2", true, 2560, denseShape{after: true, keys: map[string]any{"attention.sliding_window": uint32(512),
		"attn_logit_softcapping": float32(50), "final_logit_softcapping": float32(30)}}),
	dense("gemma3", "gemma3", true, 2560, denseShape{after: true, headNorm: true, keys: map[string]any{"attention.sliding_window": uint32(512), "rope.freq_base_swa": float32(1e4)}}),
	dense("gpt2", "gpt2", true, 3072, denseShape{layerNorm: true, normBias: true, bias: true, fusedQKV: true, ungated: true, positions: true}),
	dense("starcoder2", "starcoder2", true, 3072, denseShape{layerNorm: true, normBias: true, bias: true, ungated: true}),
	dense("phi2", "phi2", false, 3072, denseShape{layerNorm: true, normBias: true, bias: true, headBias: true, parallel: true, ungated: true, turn: 32}),
}

// ownKeys is the metadata beyond the sizes.
func (d *denseShape) ownKeys(own func(key string, value any) ggufwrite.KV) (list []ggufwrite.KV) {
	if d.layerNorm {
		list = append(list, own("attention.layer_norm_epsilon", float32(1e-5)))
	}
	if d.taps > 0 {
		list = append(list, own("shortconv.l_cache", uint32(d.taps)))
	}
	if d.pool > 0 {
		list = append(list, own("pooling_type", uint32(d.pool)))
	}
	if d.encoder != nil {
		list = append(list, own("attention.causal", false))
	}
	for _, key := range slices.Sorted(maps.Keys(d.keys)) {
		list = append(list, own(key, d.keys[key]))
	}
	return list
}

// tensors lists all tensors with their layer.
func (d *denseShape) tensors(s shape, add func(t tensor, layer int)) {
	w := &denseWriter{s, d, add, -1}
	if d.encoder != nil {
		w.encode(d.encoder)
		return
	}
	role := embedding
	if s.tied {
		role = output
	}
	add(tensor{name: "token_embd.weight", rows: s.vocab, cols: s.embd, part: role, spread: 3 / sqrt(s.embd)}, -1)
	if d.positions {
		add(tensor{name: "position_embd.weight", rows: s.context, cols: s.embd, part: router, spread: 1 / sqrt(s.embd)}, -1)
	}
	if d.longTables {
		add(tensor{name: "rope_factors_long.weight", cols: s.headDim / 2, part: vector, spread: 0.1, mean: 4}, -1)
		add(tensor{name: "rope_factors_short.weight", cols: s.headDim / 2, part: vector, spread: 0.05, mean: 1.2}, -1)
	}
	if d.table {
		add(tensor{name: "rope_freqs.weight", cols: s.headDim / 2, part: vector, spread: 0.05, mean: 1.2}, -1)
	}
	if d.taps > 0 {
		w.norm("token_embd_norm", s.embd)
	} else {
		w.norm("output_norm", s.embd)
	}
	if !s.tied {
		w.product("output", s.vocab, s.embd, output, 3/sqrt(s.embd), d.headBias)
	}
	for w.layer = range s.layers {
		w.block()
	}
}

// denseWriter lists the tensors of one layer after another.
type denseWriter struct {
	s     shape
	d     *denseShape
	add   func(t tensor, layer int)
	layer int
}

func (w *denseWriter) name(part string) string {
	if w.layer < 0 {
		return part
	}
	return fmt.Sprintf("blk.%d.%s", w.layer, part)
}

func (w *denseWriter) norm(part string, width int) {
	w.add(tensor{name: w.name(part + ".weight"), cols: width, part: vector, spread: 0.1, mean: 1}, w.layer)
	if w.d.normBias {
		w.add(tensor{name: w.name(part + ".bias"), cols: width, part: vector, spread: 0.1}, w.layer)
	}
}

func (w *denseWriter) product(part string, rows, cols int, p part, spread float64, bias bool) {
	w.add(tensor{name: w.name(part + ".weight"), rows: rows, cols: cols, part: p, spread: spread}, w.layer)
	if bias {
		w.add(tensor{name: w.name(part + ".bias"), cols: rows, part: vector, spread: 0.1}, w.layer)
	}
}

func (w *denseWriter) block() {
	s, d := w.s, w.d
	q, kv := s.heads*s.headDim, s.kvHeads*s.headDim
	in := 1 / sqrt(s.embd)
	out := func(cols int) float64 { return 1 / (sqrt(cols) * sqrt(2*s.layers)) }
	if !d.notBefore {
		w.norm("attn_norm", s.embd)
	}
	if !d.attends(w.layer) {
		w.product("shortconv.in_proj", 3*s.embd, s.embd, plain, in, d.bias)
		w.product("shortconv.conv", s.embd, d.taps, router, 0.5, d.bias)
		w.product("shortconv.out_proj", s.embd, s.embd, plain, out(s.embd), d.bias)
	} else {
		w.attention(q, kv, in, out(q))
	}
	if d.after {
		w.norm("post_attention_norm", s.embd)
		w.norm("post_ffw_norm", s.embd)
	}
	if !d.notBefore && !d.parallel {
		w.norm("ffn_norm", s.embd)
	}
	w.feed(in)
}

// feed is the products of the feed-forward; in is the spread of the first ones'.
func (w *denseWriter) feed(in float64) {
	s, d := w.s, w.d
	switch {
	case d.fusedUp:
		w.product("ffn_up", 2*s.ffn, s.embd, plain, in, d.bias)
	case d.ungated:
		w.product("ffn_up", s.ffn, s.embd, plain, in, d.bias)
	default:
		w.product("ffn_gate", s.ffn, s.embd, plain, in, d.bias)
		w.product("ffn_up", s.ffn, s.embd, plain, in, d.bias)
	}
	w.product("ffn_down", s.embd, s.ffn, ffnDown, 1/(sqrt(s.ffn)*sqrt(2*s.layers)), d.bias)
}

// attention is the products and norms of the usual one; in and out are the spreads of
// their values.
func (w *denseWriter) attention(q, kv int, in, out float64) {
	s, d := w.s, w.d
	if d.fusedQKV {
		w.product("attn_qkv", q+2*kv, s.embd, plain, in, d.bias)
	} else {
		w.product("attn_q", q, s.embd, plain, in, d.bias)
		w.product("attn_k", kv, s.embd, plain, in, d.bias)
		w.product("attn_v", kv, s.embd, attnV, in, d.bias)
	}
	switch {
	case d.wholeNorm:
		w.norm("attn_q_norm", q)
		w.norm("attn_k_norm", kv)
	case d.headNorm:
		w.norm("attn_q_norm", s.headDim)
		w.norm("attn_k_norm", s.headDim)
	}
	w.product("attn_output", s.embd, q, plain, out, d.bias)
}
