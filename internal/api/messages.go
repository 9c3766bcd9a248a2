package api

import (
	"encoding/json"
	"strings"

	"github.com/paddock-go/paddock/engine"
)

// maxMessages bounds a conversation: a body can hold millions of empty turns.
const maxMessages = 16384

func setMessages(p *params, v value) error {
	if !v.array() {
		return v.wrong("an array")
	}
	p.req.Messages = []engine.Message{}
	return v.elements(func(e value) error {
		if e.at >= maxMessages {
			return tooMany(v, maxMessages)
		}
		m, err := p.message(e)
		p.req.Messages = append(p.req.Messages, engine.Message{Raw: m})
		return err
	})
}

// message checks one turn and returns it as the template shall see it: its
// members in their order, text parts joined to one string unless the template walks
// them, arguments of calls in the form that the template wants, the role developer
// under the name that templates know. Members that are not known here are for the
// template, which may know them.
func (p *params) message(v value) (json.RawMessage, error) {
	if !v.object() {
		return nil, v.wrong("an object")
	}
	role, says := "", false
	err := v.members(func(name string, m value) (err error) { // the role, which may come last, decides about the rest
		if name == "role" {
			role, err = m.str()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	reasons, err := p.reasons(v, role)
	if err != nil {
		return nil, err
	}
	out, err := rewrite(v, func(name string, m value) (string, json.RawMessage, error) {
		raw, err := m.raw, error(nil)
		switch name {
		case "role":
			if role == "developer" {
				raw = json.RawMessage(`"system"`)
			}
		case "content":
			says = says || !m.null()
			raw, err = p.content(m, role)
		case "audio", "function_call":
			if !m.null() {
				err = invalid(m.path(), notServed)
			}
		case "tool_calls":
			says = says || !m.null()
			raw, err = p.toolCalls(m)
		case "tool_call_id":
			if !m.null() {
				_, err = m.str()
			}
		case "refusal":
			says = says || !m.null()
		}
		if reasons.from != "" && reasons.has(name) {
			if name != reasons.from {
				raw = nil // it says the same, or nothing
			}
			name = reasons.as
		}
		return name, raw, err
	})
	switch {
	case err != nil:
		return nil, err
	case role == "":
		return nil, invalid(v.path()+".role", "is missing")
	case !says:
		return nil, invalid(v.path()+".content", "is missing")
	}
	return out, nil
}

// rewrite returns an object whose members are what each makes of those of v: a name
// and a value, nil for a member to leave out. Order and text of what it leaves alone stay.
func rewrite(v value, each func(name string, m value) (string, json.RawMessage, error)) (json.RawMessage, error) {
	out := []byte{'{'}
	err := v.members(func(name string, m value) error {
		name, raw, err := each(name, m)
		if err != nil || raw == nil {
			return err
		}
		key, err := json.Marshal(name)
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), raw...)
		return err
	})
	return append(out, '}'), err
}

// content returns a turn's content: a string, null, or text parts where the
// template walks them in turns of the role.
func (p *params) content(v value, role string) (json.RawMessage, error) {
	if v.null() || v.string() {
		if v.string() && p.chat().OnlyParts {
			return textParts([]json.RawMessage{v.raw}), nil
		}
		return v.raw, nil
	}
	if !v.array() {
		return nil, v.wrong("a string or an array of parts")
	}
	var texts []string
	err := v.elements(func(e value) error {
		text, err := textPart(e)
		texts = append(texts, text)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !p.chat().WalksParts(role) {
		return json.Marshal(strings.Join(texts, "\n"))
	}
	parts := make([]json.RawMessage, len(texts))
	for i := range texts {
		if parts[i], err = json.Marshal(texts[i]); err != nil {
			return nil, err
		}
	}
	return textParts(parts), nil
}

// textParts makes a content of parts of texts, which are JSON strings.
func textParts(texts []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, t := range texts {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, `{"type":"text","text":`...), t...), '}')
	}
	return append(out, ']')
}

// textPart returns the text of one part of a content.
func textPart(v value) (string, error) {
	if !v.object() {
		return "", v.wrong("an object")
	}
	kind, texts := "", make(map[string]value)
	err := v.members(func(name string, m value) (err error) {
		if name == "type" {
			kind, err = m.str()
		} else {
			texts[name] = m
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if kind != "text" && kind != "refusal" {
		return "", invalid(v.path()+".type", "%q is not served; text is", clip(kind))
	}
	text, ok := texts[kind] // the member is named as the type is
	if !ok {
		return "", invalid(v.path()+"."+kind, "is missing")
	}
	return text.str()
}
