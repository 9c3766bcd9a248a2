package synth

import (
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
)

// expertShape is what a shape with experts, or with latent attention, has beyond
// the others.
type expertShape struct {
	experts, used int
	hidden        int // of an expert
	shared        int // width of the shared expert; 0: none
	sharedGate    bool
	lead          int  // first layers without experts
	bias          bool // of all products, with sinks and a window in every second layer: gpt-oss
	mxfp4         bool // of the experts, whatever the type
	sigmoid       bool // weighed by sigmoid, chosen with a bias, normalised: DeepSeek 3

	// Latent attention, where rank is not 0: widths of the queries' latent and of
	// the keys', of a head's plain and rotating part and of its value.
	queryRank, rank, plain, turn, value int
}

// expertShapes are those of the golden architectures with experts, of about 100
// million parameters.
var expertShapes = []shape{
	{name: "mixtral", arch: "llama", layers: 8, embd: 512, heads: 8, kvHeads: 2, headDim: 64, ffn: 768, vocab: 16384, context: 8192, base: 1e6,
		moe: &expertShape{experts: 8, used: 2, hidden: 768}},
	{name: "granitemoe", arch: "granitemoe", layers: 8, embd: 512, heads: 8, kvHeads: 2, headDim: 64, ffn: 256, vocab: 16384, context: 8192, base: 1e4, tied: true,
		moe: &expertShape{experts: 24, used: 4, hidden: 256, shared: 512}},
	{name: "qwen2moe", arch: "qwen2moe", layers: 8, embd: 512, heads: 8, kvHeads: 8, headDim: 64, ffn: 1024, vocab: 16384, context: 8192, base: 1e6, bias: true,
		moe: &expertShape{experts: 20, used: 4, hidden: 256, shared: 1024, sharedGate: true}},
	{name: "qwen3moe", arch: "qwen3moe", layers: 8, embd: 512, heads: 8, kvHeads: 2, headDim: 64, ffn: 1024, vocab: 16384, context: 8192, base: 1e6, norm: true,
		moe: &expertShape{experts: 24, used: 4, hidden: 256}},
	{name: "gptoss", arch: "gpt-oss", layers: 8, embd: 512, heads: 8, kvHeads: 2, headDim: 64, ffn: 512, vocab: 16384, context: 8192, base: 150000, bias: true,
		moe: &expertShape{experts: 12, used: 4, hidden: 512, bias: true}},
	{name: "gptoss_mxfp4", arch: "gpt-oss", layers: 8, embd: 512, heads: 8, kvHeads: 2, headDim: 64, ffn: 512, vocab: 16384, context: 8192, base: 150000, bias: true,
		moe: &expertShape{experts: 12, used: 4, hidden: 512, bias: true, mxfp4: true}},
	{name: "deepseek2", arch: "deepseek2", layers: 8, embd: 512, heads: 8, kvHeads: 1, headDim: 288, ffn: 1536, vocab: 16384, context: 8192, base: 1e4,
		moe: &expertShape{experts: 20, used: 4, hidden: 256, shared: 512, lead: 1, sigmoid: true, queryRank: 256, rank: 256, plain: 64, turn: 32, value: 64}},
}

// keys is the metadata of experts; own makes a key of the architecture.
func (x *expertShape) keys(own func(key string, value any) ggufwrite.KV) []ggufwrite.KV {
	list := []ggufwrite.KV{
		own("expert_count", uint32(x.experts)),
		own("expert_used_count", uint32(x.used)),
		own("expert_feed_forward_length", uint32(x.hidden)),
	}
	if x.shared > 0 {
		list = append(list, own("expert_shared_feed_forward_length", uint32(x.shared)))
	}
	if x.bias {
		list = append(list, own("attention.sliding_window", uint32(128)), own("rope.scaling.type", "yarn"),
			own("rope.scaling.factor", float32(32)), own("rope.scaling.original_context_length", uint32(4096)))
	}
	if x.sigmoid {
		list = append(list, own("expert_gating_func", uint32(2)), own("expert_weights_norm", true), own("expert_weights_scale", float32(2.5)),
			own("expert_shared_count", uint32(x.shared/x.hidden)))
	}
	if x.rank > 0 {
		list = append(list, own("leading_dense_block_count", uint32(x.lead)), own("attention.q_lora_rank", uint32(x.queryRank)),
			own("attention.kv_lora_rank", uint32(x.rank)), own("attention.key_length_mla", uint32(x.plain+x.turn)),
			own("attention.value_length_mla", uint32(x.value)))
	}
	return list
}

// attention lists the tensors of latent attention in layer l.
func (x *expertShape) attention(s shape, l int, name func(string) string, add func(tensor, int)) {
	head := x.plain + x.turn
	add(tensor{name: name("attn_q_a.weight"), rows: x.queryRank, cols: s.embd, spread: 1 / sqrt(s.embd)}, l)
	add(tensor{name: name("attn_q_a_norm.weight"), cols: x.queryRank, part: vector, spread: 0.1, mean: 1}, l)
	add(tensor{name: name("attn_q_b.weight"), rows: s.heads * head, cols: x.queryRank, spread: 1 / sqrt(x.queryRank)}, l)
	add(tensor{name: name("attn_kv_a_mqa.weight"), rows: x.rank + x.turn, cols: s.embd, spread: 1 / sqrt(s.embd)}, l)
	add(tensor{name: name("attn_kv_a_norm.weight"), cols: x.rank, part: vector, spread: 0.1, mean: 1}, l)
	add(tensor{name: name("attn_k_b.weight"), rows: x.rank, cols: x.plain, stack: s.heads, spread: 1 / sqrt(x.rank)}, l)
	add(tensor{name: name("attn_v_b.weight"), rows: x.value, cols: x.rank, stack: s.heads, spread: 1 / sqrt(x.rank)}, l)
	add(tensor{name: name("attn_output.weight"), rows: s.embd, cols: s.heads * x.value, spread: 1 / (sqrt(s.heads*x.value) * sqrt(2*s.layers))}, l)
}

// feed lists the tensors of the experts in layer l.
func (x *expertShape) feed(s shape, l int, name func(string) string, add func(tensor, int)) {
	in := func(rows, cols int, label string, p part, stack int) {
		add(tensor{name: name(label + ".weight"), rows: rows, cols: cols, part: p, stack: stack, spread: 1 / sqrt(cols)}, l)
		if x.bias {
			add(tensor{name: name(label + ".bias"), cols: rows, part: vector, stack: stack, spread: 0.1}, l)
		}
	}
	in(x.experts, s.embd, "ffn_gate_inp", router, 0)
	in(x.hidden, s.embd, "ffn_gate_exps", expert, x.experts)
	in(x.hidden, s.embd, "ffn_up_exps", expert, x.experts)
	in(s.embd, x.hidden, "ffn_down_exps", expert, x.experts)
	if x.shared > 0 {
		in(x.shared, s.embd, "ffn_gate_shexp", plain, 0)
		in(x.shared, s.embd, "ffn_up_shexp", plain, 0)
		in(s.embd, x.shared, "ffn_down_shexp", plain, 0)
	}
	if x.sharedGate {
		add(tensor{name: name("ffn_gate_inp_shexp.weight"), cols: s.embd, part: vector, spread: 1 / sqrt(s.embd)}, l)
	}
	if x.sigmoid {
		add(tensor{name: name("exp_probs_b.bias"), cols: x.experts, part: vector, spread: 0.05}, l)
	}
	if x.bias {
		add(tensor{name: name("attn_output.bias"), cols: s.embd, part: vector, spread: 0.1}, l)
		add(tensor{name: name("attn_sinks.weight"), cols: s.heads, part: vector, spread: 1}, l)
	}
}

// params is how many values a shape has.
func (s shape) params() (n int) {
	s.tensors(func(t tensor, _ int) { n += max(t.rows, 1) * t.cols * max(t.stack, 1) })
	return n
}
