package hf

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
)

// key is a number of a config and what a GGUF file calls it.
type key struct {
	theirs, ours string // ours without the architecture's name
	kind         kind
	need         bool // a config without it is refused; else the architecture has its own value
}

// kind reads a config's key as a GGUF file has it.
type kind func(c *config, key string) any

func whole(c *config, key string) any    { return uint32(c.count(key)) }
func positive(c *config, key string) any { return float32(c.positive(key)) }

var (
	rmsNorm   = []key{{"rms_norm_eps", "attention.layer_norm_rms_epsilon", positive, true}}
	layerNorm = []key{{"layer_norm_eps", "attention.layer_norm_epsilon", positive, true}}
)

// must is a key with which a class computes something that an architecture here has
// one way of, or some. A config without it, or with null, has that way.
type must struct {
	key    string
	values []string // as JSON; none: the key may not be said
}

// mustAll holds for all classes: what most of them lack is refused where it is said.
var mustAll = []must{
	{"embedding_multiplier", []string{"1"}}, {"residual_multiplier", []string{"1"}},
	{"attention_multiplier", []string{"1"}}, {"logits_scaling", []string{"1"}},
}

var silu = must{"hidden_act", []string{`"silu"`}}

// hold refuses another value than those of a row, unless the class reads the key.
func (c *config) hold(m must) {
	v, ok := c.raw[m.key], c.has(m.key)
	for _, k := range c.family.keys {
		ok = ok && k.theirs != m.key
	}
	if !ok {
		return
	}
	var said any
	if err := json.Unmarshal(v, &said); err != nil {
		c.refuse(m.key, "can't be read", err)
		return
	}
	for _, s := range m.values {
		var may any
		if json.Unmarshal([]byte(s), &may) == nil && reflect.DeepEqual(said, may) {
			return
		}
	}
	if len(m.values) == 0 {
		c.refuse(m.key, fmt.Sprintf("is %s for %s", clip(string(v)), c.family.class), ErrUnsupported)
		return
	}
	c.refuse(m.key, fmt.Sprintf("is %s, must be %s for %s", clip(string(v)), strings.Join(m.values, " or "), c.family.class), ErrUnsupported)
}

// header collects the metadata that a GGUF file of the model would have.
type header struct {
	arch string
	kvs  []ggufwrite.KV
	made []made
}

// made is a tensor that no file of the folder holds: a config's numbers.
type made struct {
	name   string
	values []float32
}

// set adds a key of the architecture, or puts another value in place.
func (h *header) set(key string, v any) {
	key = h.arch + "." + key
	for i := range h.kvs {
		if h.kvs[i].Key == key {
			h.kvs[i].Value = v
			return
		}
	}
	h.kvs = append(h.kvs, ggufwrite.KV{Key: key, Value: v})
}

// has tells whether a key of the architecture was set.
func (h *header) has(key string) bool {
	return slices.ContainsFunc(h.kvs, func(kv ggufwrite.KV) bool { return kv.Key == h.arch+"."+key })
}

// header is the metadata that a GGUF file of the model would have.
func (c *config) header() (*header, error) {
	f := c.family
	h := &header{arch: f.arch, kvs: []ggufwrite.KV{{Key: "general.architecture", Value: f.arch}}}
	h.set("context_length", uint32(c.context))
	h.set("embedding_length", uint32(c.hidden))
	h.set("block_count", uint32(c.layers))
	h.set("attention.head_count", uint32(c.heads))
	h.set("attention.head_count_kv", uint32(c.kvHeads))
	h.set("attention.key_length", uint32(c.headDim))
	h.set("attention.value_length", uint32(c.headDim))
	ffn := f.ffn
	if ffn == nil {
		ffn = stated
	}
	h.set("feed_forward_length", uint32(ffn(c)))
	if c.has("vocab_size") {
		h.set("vocab_size", uint32(c.count("vocab_size")))
	}
	for _, k := range f.keys {
		if k.need || c.has(k.theirs) {
			h.set(k.ours, k.kind(c, k.theirs))
		}
	}
	if c.experts > 0 {
		h.set("expert_count", uint32(c.experts))
	}
	if f.rotates {
		c.ropeKeys(h)
	}
	if f.window != nil {
		f.window(c, h)
	}
	if f.more != nil {
		f.more(c, h)
	}
	c.pool(h)
	return h, c.err
}

// stated is the width of a feed-forward as most configs have it.
func stated(c *config) int64 { return c.count("intermediate_size") }
