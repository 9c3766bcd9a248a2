package hf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/paddock-go/paddock/internal/model"
)

const configName = "config.json"

// config is what a config.json says of a model, under the names that most classes
// have for it. Its many other keys are about training and about a Python library.
// The first fault sticks.
type config struct {
	family *family
	raw    map[string]json.RawMessage
	err    error

	notes   []string // what was left out or cut
	skipped int      // tensors that the text model has no use for
	beyond  int64    // layers behind the last one, which are left out
	passed  int      // their tensors

	plain, valued int      // a head's rows of keys and of values, in a matrix that has both
	modules       *modules // nil: the folder says nothing of pooling
	pooled        uint32   // the kind of pooling; 0: none

	context, hidden, layers, heads, kvHeads, headDim int64

	experts int64 // of a layer; 0: the class has none
	tied    bool
	ends    ids
	block   []int64 // rows and columns of a block of FP8 values with one scale; nil: none
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
	c := &config{}
	if err := unJSON(data, &c.raw); err != nil {
		return nil, &Error{File: configName, What: "can't be read", Err: err}
	}
	var names []string
	c.value("architectures", &names)
	if c.err == nil && len(names) != 1 {
		c.refuse("architectures", fmt.Sprintf("%d of them, must be one", len(names)), nil)
	}
	if c.err != nil {
		return nil, c.err
	}
	for i := range families {
		if families[i].class == names[0] {
			c.family = &families[i]
			c.unwrap()
			c.read()
			if c.err == nil && !c.family.ranks {
				c.modules, c.err = readModules(load)
			}
			return c, c.err
		}
	}
	return nil, &model.ArchError{Arch: clip(names[0]), Known: classes()}
}

// outside are the keys that hold for the text model where they stand beside it.
var outside = []string{"quantization_config", "eos_token_id", "tie_word_embeddings"}

// unwrap puts the keys of the text model, the usual names, and what the class has
// where a file is silent in their places.
func (c *config) unwrap() {
	if key := c.family.nested; key != "" {
		var inner map[string]json.RawMessage
		if c.value(key, &inner); inner == nil { // also where it is no object
			c.refuse(key, "not there; it holds the sizes of the text model", nil)
			return
		}
		for _, key := range outside {
			if v, ok := c.raw[key]; ok && !has(inner, key) {
				inner[key] = v
			}
		}
		c.raw = inner
	}
	for theirs, usual := range c.family.alias {
		if has(c.raw, theirs) { // beside the usual one it holds, as there
			c.raw[usual] = c.raw[theirs]
		}
	}
	for key, v := range c.family.absent {
		if _, ok := c.raw[key]; !ok && c.raw != nil {
			c.raw[key] = json.RawMessage(v)
		}
	}
}

// read reads the sizes that several places ask for, and refuses what would be
// computed wrongly if it were left out.
func (c *config) read() {
	c.context = c.count("max_position_embeddings")
	c.hidden = c.count("hidden_size")
	c.layers = c.count("num_hidden_layers")
	c.heads = c.count("num_attention_heads")
	c.kvHeads = c.countOr("num_key_value_heads", c.heads)
	if c.layers > maxLayers {
		c.refuse("num_hidden_layers", fmt.Sprintf("is %d, at most %d", c.layers, maxLayers), nil)
	}
	if c.err != nil {
		return
	}
	if !c.has("head_dim") && c.hidden%c.heads != 0 {
		c.refuse("hidden_size", fmt.Sprintf("is %d, a multiple of num_attention_heads %d where there is no head_dim", c.hidden, c.heads), nil)
	}
	c.headDim = c.countOr("head_dim", max(c.hidden/c.heads, 1))
	c.tied = c.flagOr("tie_word_embeddings", false)
	c.value("eos_token_id", &c.ends)
	if key := c.family.experts; key != "" {
		if c.experts = c.count(key); c.experts > maxExperts {
			c.refuse(key, fmt.Sprintf("is %d, at most %d", c.experts, maxExperts), nil)
		}
	}
	for _, m := range slices.Concat(mustAll, c.family.must) {
		c.hold(m)
	}
	var q struct {
		Method string  `json:"quant_method"`
		Block  []int64 `json:"weight_block_size"`
	}
	c.value("quantization_config", &q)
	if !slices.Contains(methods, q.Method) {
		c.refuse("quantization_config.quant_method", fmt.Sprintf("is %q; known are%s", clip(q.Method), strings.Join(methods, ", ")[1:]), ErrUnsupported)
	}
	if len(q.Block) > 0 {
		if c.block = q.Block; len(q.Block) != 2 || q.Block[0] < 1 || q.Block[1] < 1 {
			c.refuse("quantization_config.weight_block_size", fmt.Sprintf("is %v, two positive numbers", q.Block), nil)
		}
	}
}

// methods are the ways of quantising whose tensors are known here; "" is none.
var methods = []string{"", "fp8", "fbgemm_fp8", "compressed-tensors", "mxfp4"}

// note keeps what a log should say.
func (c *config) note(what string) { c.notes = append(c.notes, what) }

// has tells whether a key is there and not null.
func (c *config) has(key string) bool { return has(c.raw, key) }

func has(raw map[string]json.RawMessage, key string) bool {
	v, ok := raw[key]
	return ok && !bytes.Equal(v, []byte("null"))
}

// refuse keeps the first fault.
func (c *config) refuse(key, what string, err error) {
	if c.err == nil {
		c.err = &Error{File: configName, Key: clip(key), What: what, Err: err}
	}
}

// value reads a key into v, which stays as it is where the key is not there.
func (c *config) value(key string, v any) {
	if !c.has(key) {
		return
	}
	if err := unJSON(c.raw[key], v); err != nil {
		c.refuse(key, "can't be read", err)
	}
}

// count reads a whole number of 1 to 2³¹−1.
func (c *config) count(key string) int64 {
	if !c.has(key) {
		c.refuse(key, "not there", nil)
		return 1
	}
	n := int64(1)
	c.value(key, &n)
	if n < 1 || n > math.MaxInt32 {
		c.refuse(key, fmt.Sprintf("is %d, 1 to 2^31-1", n), nil)
		return 1
	}
	return n
}

func (c *config) countOr(key string, absent int64) int64 {
	if !c.has(key) {
		return absent
	}
	return c.count(key)
}

func (c *config) numberOr(key string, absent float64) float64 {
	c.value(key, &absent)
	return absent
}

// positive reads a number above 0 that a float32 holds.
func (c *config) positive(key string) float64 {
	if !c.has(key) {
		c.refuse(key, "not there", nil)
	}
	v := c.numberOr(key, 1)
	if !(float32(v) > 0) || v > math.MaxFloat32 {
		c.refuse(key, fmt.Sprintf("is %v, a positive number", v), nil)
		return 1
	}
	return v
}

func (c *config) flagOr(key string, absent bool) bool {
	c.value(key, &absent)
	return absent
}
