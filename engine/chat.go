package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/paddock-go/paddock/internal/chat"
	"github.com/paddock-go/paddock/internal/toolcall"
)

// maxJSONDepth bounds raw messages, tools and template arguments.
const maxJSONDepth = 64

// learnt is what the engine found out about its template, at the first request
// that needs to know.
type learnt struct {
	source string // the template's
	once   sync.Once
	traits toolcall.Traits
}

// ChatReads tells whether the model's chat template reads a variable: what it
// doesn't read (tools, enable_thinking, …) has no effect. False without a template.
func (e *Engine) ChatReads(variable string) bool { return e.tmpl != nil && e.tmpl.Reads(variable) }

// ChatTraits says in which form the model's chat template wants the parts of a
// conversation that clients write in several. Learnt from a few renderings at the
// first call; the zero value without a template. Don't change it.
func (e *Engine) ChatTraits() *toolcall.Traits {
	e.learnt.once.Do(func() {
		if e.tmpl == nil {
			return
		}
		over := error(nil) // a limit that it went beyond
		e.learnt.traits = toolcall.Learn(e.learnt.source, func(messages, tools chat.Value, generation bool) (string, error) {
			if over != nil {
				return "", over
			}
			vars := e.chatVars(messages, tools).Set("add_generation_prompt", chat.Bool(generation))
			text, err := e.tmpl.Render(vars, chat.Options{Now: time.Now(), Limits: probeLimits})
			if limit := (*chat.LimitError)(nil); errors.As(err, &limit) {
				over = err
			}
			return text, err
		})
	})
	return &e.learnt.traits
}

// shown are the control tokens of the vocabulary among the texts.
func (e *Engine) shown(texts []string) map[int32]string {
	if len(texts) == 0 || e.tok == nil {
		return nil
	}
	out := make(map[int32]string, len(texts))
	for _, text := range texts {
		if id, ok := e.tok.ID(text); ok && e.tok.IsControl(id) {
			out[id] = text
		}
	}
	return out
}

// probeLimits bound a rendering that only tells what a template does. A conversation of
// a few words needs a fraction of them; the first rendering that needs more is the last,
// so that a template made to be slow does not hold the first requests up.
var probeLimits = chat.Limits{Steps: 300_000, OutputBytes: 64 << 10, ValueBytes: 4 << 20}

// RenderChat turns a conversation into the text that the model was trained on,
// by its own template: ErrNoChat where it has none, a *RequestError where the
// template refuses or fails. tools is a JSON array or nil, args a JSON object of
// further variables or nil. The order of keys and the kinds of number in raw JSON
// reach the template as they are.
func (e *Engine) RenderChat(messages []Message, tools, args json.RawMessage) (string, error) {
	if e.tmpl == nil {
		return "", ErrNoChat
	}
	list := make([]chat.Value, len(messages))
	for i := range messages {
		var err error
		if list[i], err = e.turn(i, &messages[i]); err != nil {
			return "", err
		}
	}
	offered := chat.Value(chat.None)
	if rawJSON(tools) {
		var err error
		if offered, err = decodeJSON("Tools", tools); err != nil {
			return "", err
		}
	}
	vars := e.chatVars(chat.List(list...), offered)
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

// chatVars are the variables that every rendering has.
func (e *Engine) chatVars(messages, tools chat.Value) *chat.Map {
	vars := chat.NewMap(16)
	vars.Set("messages", messages).Set("tools", tools).Set("documents", chat.None).Set("add_generation_prompt", chat.Bool(true))
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
	return vars
}

func decodeJSON(field string, raw json.RawMessage) (chat.Value, error) {
	v, err := chat.DecodeJSON(raw, maxJSONDepth)
	if err != nil {
		return nil, &RequestError{field, err.Error()}
	}
	return v, nil
}
