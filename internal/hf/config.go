package hf

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"

	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
	"github.com/paddock-go/paddock/internal/model"
)

const configName = "config.json"

// config is what a config.json says of a model of the families here. Its many other
// keys are about training and about a Python library.
type config struct {
	Classes []string `json:"architectures"`
	EOS     ids      `json:"eos_token_id"`

	Hidden   int64   `json:"hidden_size"`
	Layers   int64   `json:"num_hidden_layers"`
	Heads    int64   `json:"num_attention_heads"`
	KVHeads  *int64  `json:"num_key_value_heads"`
	HeadDim  *int64  `json:"head_dim"`
	FFN      int64   `json:"intermediate_size"`
	Context  int64   `json:"max_position_embeddings"`
	Vocab    *int64  `json:"vocab_size"`
	Eps      float64 `json:"rms_norm_eps"`
	Act      string  `json:"hidden_act"`
	Tied     bool    `json:"tie_word_embeddings"`
	Window   *int64  `json:"sliding_window"`
	Windowed *bool   `json:"use_sliding_window"`

	Theta      *float64 `json:"rope_theta"`
	Partial    *float64 `json:"partial_rotary_factor"`
	Scaling    *rope    `json:"rope_scaling"`
	Parameters *rope    `json:"rope_parameters"` // both in one, as newer versions write it

	LocalExperts *int64  `json:"num_local_experts"`
	Experts      *int64  `json:"num_experts"`
	Used         *int64  `json:"num_experts_per_tok"`
	ExpertFFN    *int64  `json:"moe_intermediate_size"`
	SharedFFN    *int64  `json:"shared_expert_intermediate_size"`
	NormTopK     *bool   `json:"norm_topk_prob"`
	SparseStep   *int64  `json:"decoder_sparse_step"`
	DenseLayers  []int64 `json:"mlp_only_layers"`

	NoRope         []int64 `json:"no_rope_layers"` // by layer, 1: it rotates, whatever the name says
	NoRopeInterval *int64  `json:"no_rope_layer_interval"`

	EmbeddingScale *float64 `json:"embedding_multiplier"`
	ResidualScale  *float64 `json:"residual_multiplier"`
	AttentionScale *float64 `json:"attention_multiplier"`
	LogitScale     *float64 `json:"logits_scaling"`

	Quantization *struct {
		Block []int64 `json:"weight_block_size"`
	} `json:"quantization_config"`

	family *family
}

// readConfig reads and checks a folder's config.json.
func readConfig(load loader) (*config, error) {
	data, err := read(load, configName)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, &Error{File: configName, What: "not there; a folder of weights needs it", Err: fs.ErrNotExist}
	}
	c := &config{Act: "silu"}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, &Error{File: configName, What: "can't be read", Err: err}
	}
	if len(c.Classes) != 1 {
		return nil, c.refuse("architectures", fmt.Sprintf("%d of them, must be one", len(c.Classes)), nil)
	}
	for i := range families {
		if families[i].class == c.Classes[0] {
			c.family = &families[i]
			return c, c.check()
		}
	}
	return nil, &model.ArchError{Arch: clip(c.Classes[0]), Known: classes()}
}

func (c *config) refuse(key, what string, err error) error {
	return &Error{File: configName, Key: key, What: what, Err: err}
}

// check refuses sizes that no arithmetic here could take, and features that would be
// computed wrongly if they were left out.
func (c *config) check() error {
	for _, n := range []struct {
		key   string
		value int64
	}{
		{"hidden_size", c.Hidden}, {"num_hidden_layers", c.Layers}, {"num_attention_heads", c.Heads}, {"intermediate_size", c.FFN},
		{"max_position_embeddings", c.Context}, {"num_key_value_heads", or(c.KVHeads, 1)}, {"head_dim", or(c.HeadDim, 1)},
		{"vocab_size", or(c.Vocab, 1)}, {"sliding_window", or(c.Window, 1)}, {"num_local_experts", or(c.LocalExperts, 1)},
		{"num_experts", or(c.Experts, 1)}, {"num_experts_per_tok", or(c.Used, 1)}, {"moe_intermediate_size", or(c.ExpertFFN, 1)},
		{"shared_expert_intermediate_size", or(c.SharedFFN, 1)},
	} {
		if n.value < 1 || n.value > math.MaxInt32 {
			return c.refuse(n.key, fmt.Sprintf("is %d, 1 to 2^31-1", n.value), nil)
		}
	}
	switch {
	case c.Act != "silu":
		return c.refuse("hidden_act", fmt.Sprintf("is %q, silu is what this architecture has", clip(c.Act)), ErrUnsupported)
	case or(c.Partial, 1) != 1:
		return c.refuse("partial_rotary_factor", fmt.Sprintf("is %v, must be 1 for this architecture", *c.Partial), ErrUnsupported)
	case c.HeadDim == nil && c.Hidden%c.Heads != 0:
		return c.refuse("hidden_size", fmt.Sprintf("is %d, a multiple of num_attention_heads %d where there is no head_dim", c.Hidden, c.Heads), nil)
	case c.family.experts && c.experts() == 0:
		return c.refuse("num_experts", "not there", nil)
	case or(c.SparseStep, 1) != 1 || len(c.DenseLayers) > 0:
		return c.refuse("decoder_sparse_step", "or mlp_only_layers: experts must be in every layer", ErrUnsupported)
	case c.NormTopK != nil && c.family.normTopK != nil && *c.NormTopK != *c.family.normTopK:
		return c.refuse("norm_topk_prob", fmt.Sprintf("is %v, this architecture has %v", *c.NormTopK, *c.family.normTopK), ErrUnsupported)
	case !(c.Eps > 0):
		return c.refuse("rms_norm_eps", fmt.Sprintf("is %v, a positive number", c.Eps), nil)
	}
	// The architecture's own rule: every fourth layer does not rotate.
	for l, rotates := range c.NoRope {
		if (rotates != 0) != (c.family.arch != "smollm3" || (l+1)%4 != 0) {
			return c.refuse("no_rope_layers", fmt.Sprintf("is %d of layer %d, which this architecture has otherwise", rotates, l), ErrUnsupported)
		}
	}
	if c.NoRope == nil && or(c.NoRopeInterval, 4) != 4 {
		return c.refuse("no_rope_layer_interval", fmt.Sprintf("is %d, must be 4", *c.NoRopeInterval), ErrUnsupported)
	}
	if q := c.Quantization; q != nil && len(q.Block) != 0 && (len(q.Block) != 2 || q.Block[0] < 1 || q.Block[1] < 1) {
		return c.refuse("quantization_config.weight_block_size", fmt.Sprintf("is %v, two positive numbers", q.Block), nil)
	}
	return nil
}

func or[T any](v *T, absent T) T {
	if v == nil {
		return absent
	}
	return *v
}

// experts is the number of experts in a layer; 0: the layers have none.
func (c *config) experts() int64 {
	if !c.family.experts {
		return 0
	}
	return or(c.Experts, or(c.LocalExperts, 0))
}

func (c *config) headDim() int64 { return or(c.HeadDim, c.Hidden/c.Heads) }

// keys are the metadata that a GGUF file of the model would have.
func (c *config) keys() ([]ggufwrite.KV, error) {
	kvs := []ggufwrite.KV{{Key: "general.architecture", Value: c.family.arch}}
	add := func(key string, v any) { kvs = append(kvs, ggufwrite.KV{Key: c.family.arch + "." + key, Value: v}) }
	count := func(key string, n int64) { add(key, uint32(n)) }
	context := c.Context
	if c.Window != nil && or(c.Windowed, true) {
		context = min(context, *c.Window) // within one window all positions are seen
	}
	count("context_length", context)
	count("embedding_length", c.Hidden)
	count("block_count", c.Layers)
	count("feed_forward_length", c.FFN)
	count("attention.head_count", c.Heads)
	count("attention.head_count_kv", or(c.KVHeads, c.Heads))
	count("attention.key_length", c.headDim())
	count("attention.value_length", c.headDim())
	count("rope.dimension_count", c.headDim())
	add("attention.layer_norm_rms_epsilon", float32(c.Eps))
	if c.Vocab != nil {
		count("vocab_size", *c.Vocab)
	}
	for _, x := range []struct {
		theirs, ours string
		value        *float64
	}{
		{"embedding_multiplier", "embedding_scale", c.EmbeddingScale}, {"residual_multiplier", "residual_scale", c.ResidualScale},
		{"attention_multiplier", "attention.scale", c.AttentionScale}, {"logits_scaling", "logit_scale", c.LogitScale},
	} {
		if x.value == nil {
			continue
		}
		if c.family.arch != "granite" && *x.value != 1 {
			return nil, c.refuse(x.theirs, fmt.Sprintf("is %v, this architecture scales nothing", *x.value), ErrUnsupported)
		}
		if c.family.arch == "granite" {
			add(x.ours, float32(*x.value))
		}
	}
	if n := c.experts(); n > 0 {
		count("expert_count", n)
		count("expert_used_count", or(c.Used, 2))
		if c.ExpertFFN != nil {
			count("expert_feed_forward_length", *c.ExpertFFN)
		}
		if c.SharedFFN != nil {
			count("expert_shared_feed_forward_length", *c.SharedFFN)
		}
	}
	err := c.ropeKeys(add)
	return kvs, err
}
