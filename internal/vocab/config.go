package vocab

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/paddock-go/paddock/internal/tokenizer"
)

// Config is what a tokenizer_config.json adds to a tokenizer.json.
type Config struct {
	class                        string
	bos, eos, unk, pad, sep, cls tokenName
	mask                         tokenName
	addBOS, addEOS               *bool
	templates                    map[string]string
}

// tokenName is a token's text: a string, or an object that holds it.
type tokenName string

func (n *tokenName) UnmarshalJSON(b []byte) error {
	var s string
	if len(b) > 0 && b[0] == '{' {
		var o struct{ Content string }
		if err := json.Unmarshal(b, &o); err != nil {
			return err
		}
		*n = tokenName(o.Content)
		return nil
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*n = tokenName(s)
	return nil
}

// ReadConfig reads a tokenizer_config.json. Its many other keys are about a Python
// library, so they may be any.
func ReadConfig(data []byte) (*Config, error) {
	var f struct {
		Class    string          `json:"tokenizer_class"`
		BOS      tokenName       `json:"bos_token"`
		EOS      tokenName       `json:"eos_token"`
		UNK      tokenName       `json:"unk_token"`
		PAD      tokenName       `json:"pad_token"`
		SEP      tokenName       `json:"sep_token"`
		CLS      tokenName       `json:"cls_token"`
		Mask     tokenName       `json:"mask_token"`
		AddBOS   *bool           `json:"add_bos_token"`
		AddEOS   *bool           `json:"add_eos_token"`
		Template json.RawMessage `json:"chat_template"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("vocab: tokenizer_config.json: %w", err)
	}
	c := &Config{
		class: f.Class, bos: f.BOS, eos: f.EOS, unk: f.UNK, pad: f.PAD, sep: f.SEP, cls: f.CLS, mask: f.Mask,
		addBOS: f.AddBOS, addEOS: f.AddEOS, templates: map[string]string{},
	}
	var named []struct{ Name, Template string }
	var one string
	switch {
	case len(f.Template) == 0 || string(f.Template) == "null":
	case json.Unmarshal(f.Template, &one) == nil:
		c.templates["default"] = one
	case json.Unmarshal(f.Template, &named) == nil:
		for _, t := range named {
			c.templates[t.Name] = t.Template
		}
	default:
		return nil, fmt.Errorf("vocab: tokenizer_config.json: chat_template is neither a string nor a list of named ones")
	}
	return c, nil
}

// Template returns the chat template of a name, "default" where a file has one alone;
// "" where there is none.
func (c *Config) Template(name string) string { return c.templates[name] }

// Templates are the names of the file's chat templates, sorted.
func (c *Config) Templates() []string { return slices.Sorted(maps.Keys(c.templates)) }

// Apply gives tokens of v, from FromJSON, their roles, and adds the BOS and EOS that
// the Python classes named after Llama and Gemma add by this file's word whatever the
// tokenizer.json says. A token that isn't in v has no role.
func (c *Config) Apply(v *tokenizer.Vocab) {
	ids := make(map[string]int32, 7)
	for _, name := range []tokenName{c.bos, c.eos, c.unk, c.pad, c.sep, c.cls, c.mask} {
		ids[string(name)] = -1
	}
	for id, text := range v.Tokens {
		if _, want := ids[text]; want && text != "" {
			ids[text] = int32(id)
		}
	}
	for _, x := range []struct {
		name tokenName
		id   *int32
	}{{c.bos, &v.BOS}, {c.eos, &v.EOS}, {c.unk, &v.UNK}, {c.pad, &v.PAD}, {c.sep, &v.SEP}, {c.mask, &v.Mask}} {
		if id := ids[string(x.name)]; x.name != "" && id >= 0 {
			*x.id = id
		}
	}
	if id := ids[string(c.cls)]; v.BOS < 0 && c.cls != "" {
		v.BOS = id
	}
	if v.Rules == nil || !strings.HasPrefix(c.class, "Llama") && !strings.HasPrefix(c.class, "Gemma") {
		return
	}
	around := func(list []int32, id int32, want *bool) []int32 {
		if want == nil || id < 0 {
			return list
		}
		has := slices.Contains(list, id)
		switch {
		case *want && !has:
			return append([]int32{id}, list...)
		case !*want && has:
			return slices.DeleteFunc(list, func(x int32) bool { return x == id })
		}
		return list
	}
	v.Rules.Before = around(v.Rules.Before, v.BOS, c.addBOS)
	v.Rules.After = around(v.Rules.After, v.EOS, c.addEOS)
}
