package hf

// family is one class of the transformers library and what it is here.
type family struct {
	class, arch string
	pairs       bool  // queries and keys rotate as neighbours here and as halves there
	experts     bool  // every layer has them
	normTopK    *bool // the weights of a token's experts are made to sum to 1; nil: the config has no say
	names       []name
}

// name is how a tensor of a layer is called there and here, without ".weight" or ".bias".
type name struct {
	theirs string // "#" stands for the number of an expert
	ours   string
	rotate rotate
}

// rotate says whose heads' rows a tensor has that families with pairs store otherwise.
type rotate uint8

const (
	still rotate = iota
	queries
	keys
)

var (
	yes, no = true, false

	attention = []name{
		{"input_layernorm", "attn_norm", still},
		{"post_attention_layernorm", "ffn_norm", still},
		{"self_attn.q_proj", "attn_q", queries},
		{"self_attn.k_proj", "attn_k", keys},
		{"self_attn.v_proj", "attn_v", still},
		{"self_attn.o_proj", "attn_output", still},
	}
	olmo2 = []name{
		{"post_attention_layernorm", "post_attention_norm", still},
		{"post_feedforward_layernorm", "post_ffw_norm", still},
		{"self_attn.q_proj", "attn_q", still},
		{"self_attn.k_proj", "attn_k", still},
		{"self_attn.v_proj", "attn_v", still},
		{"self_attn.o_proj", "attn_output", still},
	}
	headNorms = []name{
		{"self_attn.q_norm", "attn_q_norm", still},
		{"self_attn.k_norm", "attn_k_norm", still},
	}
	dense = []name{
		{"mlp.gate_proj", "ffn_gate", still},
		{"mlp.up_proj", "ffn_up", still},
		{"mlp.down_proj", "ffn_down", still},
	}
	mixtral = []name{
		{"block_sparse_moe.gate", "ffn_gate_inp", still},
		{"block_sparse_moe.experts.#.w1", "ffn_gate_exps", still},
		{"block_sparse_moe.experts.#.w3", "ffn_up_exps", still},
		{"block_sparse_moe.experts.#.w2", "ffn_down_exps", still},
	}
	experts = []name{
		{"mlp.gate", "ffn_gate_inp", still},
		{"mlp.experts.#.gate_proj", "ffn_gate_exps", still},
		{"mlp.experts.#.up_proj", "ffn_up_exps", still},
		{"mlp.experts.#.down_proj", "ffn_down_exps", still},
	}
	shared = []name{
		{"mlp.shared_expert.gate_proj", "ffn_gate_shexp", still},
		{"mlp.shared_expert.up_proj", "ffn_up_shexp", still},
		{"mlp.shared_expert.down_proj", "ffn_down_shexp", still},
		{"mlp.shared_expert_gate", "ffn_gate_inp_shexp", still},
	}
)

// families lists the classes that are known here: a further one is a row.
var families = []family{
	{"LlamaForCausalLM", "llama", true, false, nil, join(attention, dense)},
	{"MistralForCausalLM", "llama", true, false, nil, join(attention, dense)},
	{"MixtralForCausalLM", "llama", true, true, nil, join(attention, mixtral)},
	{"GraniteForCausalLM", "granite", true, false, nil, join(attention, dense)},
	{"Olmo2ForCausalLM", "olmo2", false, false, nil, join(olmo2, headNorms, dense)},
	{"SmolLM3ForCausalLM", "smollm3", true, false, nil, join(attention, dense)},
	{"Qwen2ForCausalLM", "qwen2", false, false, nil, join(attention, dense)},
	{"Qwen2MoeForCausalLM", "qwen2moe", false, true, &no, join(attention, experts, shared)},
	{"Qwen3ForCausalLM", "qwen3", false, false, nil, join(attention, headNorms, dense)},
	{"Qwen3MoeForCausalLM", "qwen3moe", false, true, &yes, join(attention, headNorms, experts)},
}

func join(lists ...[]name) (all []name) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// classes are the names of all families.
func classes() (list []string) {
	for _, f := range families {
		list = append(list, f.class)
	}
	return list
}

// find returns the row of a layer's tensor and the number of its expert, -1 for none.
func (f *family) find(theirs string) (n name, expert int, ok bool) {
	pattern, expert, ok := numbered(theirs)
	if !ok {
		return n, -1, false
	}
	for _, n := range f.names {
		if n.theirs == pattern {
			return n, expert, true
		}
	}
	return n, -1, false
}
