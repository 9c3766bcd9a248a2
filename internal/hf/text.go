package hf

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/paddock-go/paddock/internal/vocab"
)

// readText reads tokenizer and template. The ends of a generation are those of
// generation_config.json and config.json together.
func (m *Model) readText(load loader, c *config) error {
	data, err := read(load, tokenizerName)
	if err != nil || data == nil {
		return err
	}
	m.Text = true
	if m.Vocab, err = vocab.FromJSON(data); err != nil {
		return err
	}
	var named []string // templates
	if data, err = read(load, "tokenizer_config.json"); err != nil {
		return err
	}
	if data != nil {
		t, err := vocab.ReadConfig(data)
		if err != nil {
			return err
		}
		t.Apply(&m.Vocab)
		m.Template, named = t.Template("default"), t.Templates()
	}
	if data, err = read(load, "chat_template.jinja"); err != nil {
		return err
	}
	if data != nil {
		m.Template = string(data)
	}
	if named = slices.DeleteFunc(named, func(n string) bool { return n == "default" }); len(named) > 0 {
		said := fmt.Sprintf("of tokenizer_config.json's chat templates %q are left out: the default one is used", clip(strings.Join(named, ", ")))
		if m.Template == "" {
			said = fmt.Sprintf("tokenizer_config.json's chat templates are %q and none is the default: chats have no template", clip(strings.Join(named, ", ")))
		}
		c.note(said)
	}
	ends := c.ends
	const name = "generation_config.json"
	if data, err = read(load, name); err != nil {
		return err
	}
	if data != nil {
		var g struct {
			EOS ids `json:"eos_token_id"`
		}
		if err := unJSON(data, &g); err != nil {
			return &Error{File: name, What: "can't be read", Err: err}
		}
		ends = append(slices.Clone(ends), g.EOS...)
	}
	for _, id := range ends {
		// A few repositories name an id behind the vocabulary, which no model ever makes.
		if id >= 0 && int(id) < len(m.Vocab.Tokens) && !slices.Contains(m.Vocab.Ends, id) {
			m.Vocab.Ends = append(m.Vocab.Ends, id)
		}
	}
	return nil
}

// ids is a token's id or a list of them.
type ids []int32

func (l *ids) UnmarshalJSON(b []byte) error {
	var list []*int32
	if len(b) > 0 && b[0] == '[' {
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
	} else {
		list = make([]*int32, 1)
		if err := json.Unmarshal(b, &list[0]); err != nil {
			return err
		}
	}
	*l = nil
	for _, id := range list {
		if id != nil { // null is no token
			*l = append(*l, *id)
		}
	}
	return nil
}
