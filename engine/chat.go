package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/paddock-go/paddock/internal/chat"
)

// maxJSONDepth bounds raw messages, tools and template arguments.
const maxJSONDepth = 64

// RenderChat turns a conversation into the text that the model was trained on,
// by its own template: ErrNoChat where it has none, a *RequestError where the
// template refuses or fails. tools is a JSON array or nil, args a JSON object of
// further variables or nil.
func (e *Engine) RenderChat(messages []Message, tools, args json.RawMessage) (string, error) {
	if e.tmpl == nil {
		return "", ErrNoChat
	}
	list := make([]chat.Value, len(messages))
	for i, m := range messages {
		if !rawJSON(m.Raw) {
			turn := chat.NewMap(2)
			turn.Set("role", chat.String(m.Role)).Set("content", chat.String(m.Content))
			list[i] = turn
			continue
		}
		v, err := decodeJSON(fmt.Sprintf("Messages[%d].Raw", i), m.Raw)
		if err != nil {
			return "", err
		}
		if _, ok := v.(*chat.Map); !ok {
			return "", &RequestError{fmt.Sprintf("Messages[%d].Raw", i), "is no JSON object"}
		}
		list[i] = v
	}
	vars := chat.NewMap(16)
	vars.Set("messages", chat.List(list...))
	for _, raw := range []struct {
		name, field string
		json        json.RawMessage
	}{{"tools", "Tools", tools}, {"documents", "", nil}} {
		v := chat.Value(chat.None)
		if rawJSON(raw.json) {
			var err error
			if v, err = decodeJSON(raw.field, raw.json); err != nil {
				return "", err
			}
		}
		vars.Set(raw.name, v)
	}
	vars.Set("add_generation_prompt", chat.Bool(true))
	special := e.tok.Specials()
	for _, t := range []struct {
		name string
		id   int32
	}{
		{"bos_token", special.BOS}, {"eos_token", special.EOS}, {"unk_token", special.UNK}, {"sep_token", special.SEP}, {"pad_token", special.PAD},
	} {
		if t.id >= 0 { // one that the vocabulary lacks stays undefined
			vars.Set(t.name, chat.String(e.tok.Text(t.id)))
		}
	}
	if rawJSON(args) {
		v, err := decodeJSON("TemplateArgs", args)
		if err != nil {
			return "", err
		}
		m, ok := v.(*chat.Map)
		if !ok {
			return "", &RequestError{"TemplateArgs", "is no JSON object"}
		}
		for name, v := range m.All() {
			vars.Set(name, v)
		}
	}
	text, err := e.tmpl.Render(vars, chat.Options{Now: time.Now()})
	if err != nil {
		return "", &RequestError{"Messages", fmt.Sprintf("the model's chat template refuses them: %v", err)}
	}
	return text, nil
}

func decodeJSON(field string, raw json.RawMessage) (chat.Value, error) {
	v, err := chat.DecodeJSON(raw, maxJSONDepth)
	if err != nil {
		return nil, &RequestError{field, err.Error()}
	}
	return v, nil
}
