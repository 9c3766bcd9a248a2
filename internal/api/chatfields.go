package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/paddock-go/paddock/engine"
)

// chatFields is the table of /v1/chat/completions.
var chatFields = slices.Concat(shared, []paramField{
	{"messages", setMessages},
	{"max_completion_tokens", setInt(1, math.MaxInt32, func(p *params) *int { return &p.req.MaxTokens })},
	{"logprobs", setBool(func(p *params) *bool { return &p.wantLogprobs })},
	{"top_logprobs", setInt(0, engine.MaxLogprobs-1, func(p *params) *int { return &p.topLogprobs })},
	{"reasoning_effort", setReasoningEffort},
	{"chat_template_kwargs", setTemplateArgs},

	{"tools", refuseUnless(notServed, "[]")},
	{"tool_choice", refuseUnless(notServed, `"none"`, `"auto"`)},
	{"parallel_tool_calls", accept},
	{"functions", refuseUnless(notServed, "[]")},
	{"function_call", refuseUnless(notServed, `"none"`, `"auto"`)},
	{"response_format", refuseUnless(notServed, `{"type":"text"}`)},
	{"modalities", refuseUnless(notServed, `["text"]`, "[]")},
	{"audio", refuseUnless(notServed)},
	{"web_search_options", refuseUnless(notServed)},
	{"moderation", refuseUnless(notServed)},
	{"verbosity", refuseUnless(notServed, `"medium"`)},

	{"prediction", accept}, // a hint for speed alone
	{"service_tier", accept},
	{"safety_identifier", accept},
	{"prompt_cache_key", accept},
	{"prompt_cache_retention", accept},
	{"prompt_cache_options", accept},
})

// setReasoningEffort hands the effort to the template, which may know it.
func setReasoningEffort(p *params, v value) error {
	if _, err := v.str(); err != nil {
		return err
	}
	arg := append(append([]byte(`{"reasoning_effort":`), v.raw...), '}')
	if p.req.TemplateArgs == nil {
		p.req.TemplateArgs = arg
		return nil
	}
	merged, err := merge(arg, p.req.TemplateArgs)
	p.req.TemplateArgs = merged
	return err
}

// merge joins the members of two JSON objects; b's come last and so win.
func merge(a, b json.RawMessage) (json.RawMessage, error) {
	out := []byte{'{'}
	for _, o := range []json.RawMessage{a, b} {
		if err := object(o, func(name string, raw json.RawMessage) error {
			if len(out) > 1 {
				out = append(out, ',')
			}
			key, err := json.Marshal(name)
			out = append(append(append(out, key...), ':'), raw...)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// maxMessages bounds a conversation: a body can hold millions of empty turns.
const maxMessages = 16384

func setMessages(p *params, v value) error {
	if v.raw[0] != '[' {
		return v.wrong("an array")
	}
	p.req.Messages = []engine.Message{}
	return array(v.raw, func(i int, raw json.RawMessage) error {
		if i >= maxMessages {
			return invalid(v.name, "has more than %d entries", maxMessages)
		}
		m, err := message(value{fmt.Sprintf("%s[%d]", v.name, i), raw})
		p.req.Messages = append(p.req.Messages, engine.Message{Raw: m})
		return err
	})
}

// message checks one turn and returns it as the template shall see it: its
// members in their order, text parts joined to one string, the role developer
// under the name that templates know.
func message(v value) (json.RawMessage, error) {
	if v.raw[0] != '{' {
		return nil, v.wrong("an object")
	}
	out := []byte{'{'}
	role := false
	err := object(v.raw, func(name string, raw json.RawMessage) error {
		inner := value{v.name + "." + name, raw}
		switch name {
		case "role":
			s, err := inner.str()
			if err != nil {
				return err
			}
			if role = s != ""; s == "developer" {
				raw = json.RawMessage(`"system"`)
			}
		case "content":
			switch raw[0] {
			case '"', 'n':
			case '[':
				text, err := joinParts(inner)
				if err != nil {
					return err
				}
				raw = text
			default:
				return inner.wrong("a string or an array of parts")
			}
		case "audio", "function_call":
			if raw[0] != 'n' {
				return invalid(inner.name, notServed)
			}
		}
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), raw...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !role {
		return nil, invalid(v.name+".role", "is missing")
	}
	return append(out, '}'), nil
}

// joinParts makes one JSON string of text parts, a line each.
func joinParts(v value) (json.RawMessage, error) {
	var text bytes.Buffer
	err := array(v.raw, func(i int, raw json.RawMessage) error {
		part := value{fmt.Sprintf("%s[%d]", v.name, i), raw}
		if raw[0] != '{' {
			return part.wrong("an object")
		}
		kind, content, found := "", "", false
		if err := object(raw, func(name string, raw json.RawMessage) (err error) {
			inner := value{part.name + "." + name, raw}
			switch name {
			case "type":
				kind, err = inner.str()
			case "text", "refusal":
				found = true
				content, err = inner.str()
			}
			return err
		}); err != nil {
			return err
		}
		if kind != "text" && kind != "refusal" {
			return invalid(part.name+".type", "%s is not served; text is", clip(kind))
		}
		if !found {
			return invalid(part.name+".text", "is missing")
		}
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(content)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(text.String())
}
