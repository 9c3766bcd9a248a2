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
		m, err := message(e)
		p.req.Messages = append(p.req.Messages, engine.Message{Raw: m})
		return err
	})
}

// message checks one turn and returns it as the template shall see it: its
// members in their order, text parts joined to one string, the role developer
// under the name that templates know. Members that are not known here are for the
// template, which may know them.
func message(v value) (json.RawMessage, error) {
	if !v.object() {
		return nil, v.wrong("an object")
	}
	out := []byte{'{'}
	role, says := "", false
	err := v.members(func(name string, m value) (err error) {
		raw := m.raw
		switch name {
		case "role":
			if role, err = m.str(); role == "developer" {
				raw = json.RawMessage(`"system"`)
			}
		case "content":
			says = says || !m.null()
			raw, err = content(m)
		case "audio", "function_call":
			if !m.null() {
				err = invalid(m.path(), notServed)
			}
		case "tool_calls", "refusal":
			says = says || !m.null()
		}
		if err != nil {
			return err
		}
		key, err := json.Marshal(name)
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), raw...)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case role == "":
		return nil, invalid(v.path()+".role", "is missing")
	case !says:
		return nil, invalid(v.path()+".content", "is missing")
	}
	return append(out, '}'), nil
}

// content returns a turn's content as one JSON string, or null.
func content(v value) (json.RawMessage, error) {
	if v.string() || v.null() {
		return v.raw, nil
	}
	if !v.array() {
		return nil, v.wrong("a string or an array of parts")
	}
	var lines []string
	err := v.elements(func(e value) error {
		line, err := textPart(e)
		lines = append(lines, line)
		return err
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(strings.Join(lines, "\n"))
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
