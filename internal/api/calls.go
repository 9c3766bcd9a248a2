package api

import (
	"encoding/json"
	"strings"

	"github.com/paddock-go/paddock/internal/toolcall"
)

// chat is what the model's template wants of a conversation.
func (p *params) chat() *toolcall.Traits {
	if p.traits == nil {
		return &toolcall.Traits{}
	}
	return p.traits()
}

// maxCalls bounds the calls of one turn.
const maxCalls = 1024

// toolCalls returns an assistant's calls as the template shall see them.
func (p *params) toolCalls(v value) (json.RawMessage, error) {
	if v.null() {
		return v.raw, nil
	}
	if !v.array() {
		return nil, v.wrong("an array")
	}
	out := []byte{'['}
	err := v.elements(func(e value) error {
		if e.at >= maxCalls {
			return tooMany(v, maxCalls)
		}
		call, err := p.toolCall(e)
		if e.at > 0 {
			out = append(out, ',')
		}
		out = append(out, call...)
		return err
	})
	return append(out, ']'), err
}

func (p *params) toolCall(v value) (json.RawMessage, error) {
	if !v.object() {
		return nil, v.wrong("an object")
	}
	function := false
	out, err := rewrite(v, func(name string, m value) (string, json.RawMessage, error) {
		raw, err := m.raw, error(nil)
		switch name {
		case "id":
			if !m.null() {
				_, err = m.str()
			}
		case "type":
			var kind string
			if kind, err = m.str(); err == nil && kind != "function" {
				err = invalid(m.path(), "%q is not served; function is", clip(kind))
			}
		case "function":
			function = true
			raw, err = p.calledFunction(m)
		}
		return name, raw, err
	})
	if err == nil && !function {
		err = invalid(v.path()+".function", "is missing")
	}
	return out, err
}

func (p *params) calledFunction(v value) (json.RawMessage, error) {
	if !v.object() {
		return nil, v.wrong("an object")
	}
	named := false
	out, err := rewrite(v, func(name string, m value) (string, json.RawMessage, error) {
		raw, err := m.raw, error(nil)
		switch name {
		case "name":
			named = true
			_, err = m.str()
		case "arguments":
			raw, err = p.arguments(m)
		}
		return name, raw, err
	})
	if err == nil && !named {
		err = invalid(v.path()+".name", "is missing")
	}
	return out, err
}

// arguments are JSON in a string in the official API, and a template may want the
// object that the string holds. Where they come as an object already, that is
// taken too.
func (p *params) arguments(v value) (json.RawMessage, error) {
	text := string(v.raw)
	switch {
	case v.string():
		var err error
		if text, err = v.str(); err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) == "" {
			text = "{}"
		}
	case !v.object():
		return nil, v.wrong("a string of JSON")
	}
	object, err := document([]byte(text))
	if err != nil || object[0] != '{' {
		return nil, invalid(v.path(), "is not the text of a JSON object")
	}
	if !p.chat().TextArguments {
		return object, nil
	}
	if v.string() {
		return v.raw, nil
	}
	return json.Marshal(text)
}
