package engine

import (
	"encoding/json"
	"fmt"

	"github.com/paddock-go/paddock/internal/chat"
)

// Message is one turn of a conversation.
type Message struct {
	Role    string // "system", "user", "assistant", "tool", … as the model's template knows them
	Content string

	Reasoning  string     // of an assistant's turn: what it thought before it answered
	ToolCalls  []ToolCall // of an assistant's turn
	ToolCallID string     // of a tool's turn: which call it is the result of
	Name       string     // of the tool, or of the speaker

	// Raw, where given, is the whole turn as a JSON object and takes the place of
	// the fields above: the template sees its members in their order, with the
	// kinds of number they were written with, and nothing is changed in it.
	Raw json.RawMessage
}

// ToolCall is one call of a function, as a model made it.
type ToolCall struct {
	ID        string
	Name      string
	Arguments json.RawMessage // a JSON object; nil: none
}

// turn is the i-th message as the template sees it.
func (e *Engine) turn(i int, m *Message) (chat.Value, error) {
	if rawJSON(m.Raw) {
		field := fmt.Sprintf("Messages[%d].Raw", i)
		v, err := decodeJSON(field, m.Raw)
		if err != nil {
			return nil, err
		}
		if _, ok := v.(*chat.Map); !ok {
			return nil, &RequestError{field, "is no JSON object"}
		}
		return v, nil
	}
	out := chat.NewMap(4).Set("role", chat.String(m.Role)).Set("content", chat.String(m.Content))
	if m.Reasoning != "" {
		name := e.ChatTraits().Reasoning
		if name == "" {
			name = "reasoning_content"
		}
		out.Set(name, chat.String(m.Reasoning))
	}
	if len(m.ToolCalls) > 0 {
		calls := make([]chat.Value, len(m.ToolCalls))
		for k := range m.ToolCalls {
			var err error
			if calls[k], err = e.call(fmt.Sprintf("Messages[%d].ToolCalls[%d]", i, k), &m.ToolCalls[k]); err != nil {
				return nil, err
			}
		}
		out.Set("tool_calls", chat.List(calls...))
	}
	if m.ToolCallID != "" {
		out.Set("tool_call_id", chat.String(m.ToolCallID))
	}
	if m.Name != "" {
		out.Set("name", chat.String(m.Name))
	}
	return out, nil
}

// call is a call as the template sees it: its arguments an object or, where the
// template can't use one, their text.
func (e *Engine) call(field string, c *ToolCall) (chat.Value, error) {
	text := c.Arguments
	if !rawJSON(text) {
		text = json.RawMessage("{}")
	}
	arguments, err := decodeJSON(field+".Arguments", text)
	if err != nil {
		return nil, err
	}
	if _, ok := arguments.(*chat.Map); !ok {
		return nil, &RequestError{field + ".Arguments", "is no JSON object"}
	}
	if e.ChatTraits().TextArguments {
		arguments = chat.String(string(text))
	}
	function := chat.NewMap(2).Set("name", chat.String(c.Name)).Set("arguments", arguments)
	return chat.NewMap(3).Set("id", chat.String(c.ID)).Set("type", chat.String("function")).Set("function", function), nil
}
