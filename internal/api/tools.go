package api

import (
	"slices"
	"strings"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/toolcall"
)

// Bounds of the official API.
const (
	maxTools    = 128
	maxToolName = 64 // bytes
)

// setTools checks the tools and keeps their text as it stands: what a template
// prints of them depends on the order of keys and on how numbers were written.
func setTools(p *params, v value) error {
	if !v.array() {
		return v.wrong("an array")
	}
	n := 0
	err := v.elements(func(e value) error {
		if n = e.at + 1; n > maxTools {
			return tooMany(v, maxTools)
		}
		return tool(e)
	})
	if n > 0 {
		p.req.Tools = v.raw
	}
	return err
}

// tool checks one tool. Members that are not known here are for the template, which
// may know them.
func tool(v value) error {
	if !v.object() {
		return v.wrong("an object")
	}
	kind, function := "", false
	err := v.members(func(name string, m value) (err error) {
		switch name {
		case "type":
			if kind, err = m.str(); err == nil && kind != "function" {
				return invalid(m.path(), "%q is not served; function is", clip(kind))
			}
		case "function":
			function = true
			return toolFunction(m)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case kind == "":
		return invalid(v.path()+".type", "is missing; it is \"function\"")
	case !function:
		return invalid(v.path()+".function", "is missing")
	}
	return nil
}

func toolFunction(v value) error {
	if !v.object() {
		return v.wrong("an object")
	}
	named := false
	err := v.members(func(name string, m value) error {
		switch name {
		case "name":
			named = true
			return toolName(m)
		case "description":
			if !m.null() && !m.string() {
				return m.wrong("a string")
			}
		case "parameters":
			if !m.null() && !m.object() {
				return m.wrong("an object, a JSON schema")
			}
		case "strict":
			if m.null() {
				return nil
			}
			strict, err := m.boolean()
			if err == nil && strict {
				err = invalid(m.path(), "asks for arguments that are held to the schema, which is not served yet; leave it out or false")
			}
			return err
		}
		return nil
	})
	if err == nil && !named {
		return invalid(v.path()+".name", "is missing")
	}
	return err
}

// toolName holds a name to the official API's alphabet.
func toolName(v value) error {
	name, err := v.str()
	if err != nil {
		return err
	}
	fits := name != "" && len(name) <= maxToolName && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	})
	if !fits {
		return invalid(v.path(), "%q is no name of a function: 1 to %d of a-z, A-Z, 0-9, _ and -", clip(name), maxToolName)
	}
	return nil
}

// The choices among tools that ask for nothing beyond what a model does by itself.
var freeChoices = []string{"none", "auto"}

func setToolChoice(p *params, v value) (err error) {
	if v.string() {
		if p.toolChoice, err = v.str(); err != nil || slices.Contains(freeChoices, p.toolChoice) {
			return err
		}
		if p.toolChoice != "required" {
			return invalid(v.path(), "%q is not known; none and auto are", clip(p.toolChoice))
		}
	} else if !v.object() {
		return v.wrong("a string or an object")
	}
	return invalid(v.path(), "a call can't be forced on the model yet, which needs constrained output; auto and none are served")
}

// checkTools decides what of the tools goes to the template, and refuses what it
// would not see or what can't be kept.
func (p *params) checkTools(reads func(variable string) bool) *refusal {
	if p.req.Tools == nil {
		return nil
	}
	if p.toolChoice == "none" { // as in transformers: what must not be called is not offered
		p.req.Tools = nil
		return nil
	}
	if p.oneCall {
		return invalid("parallel_tool_calls", "a model can't be held to one call yet; leave it out or true")
	}
	if !reads("tools") {
		return invalid("tools", "this model's chat template has no place for them; remove them or take a model that was trained on tools")
	}
	return nil
}

// answerForm says how the answers are told apart, and has the engine show the
// markers for that. It refuses tools whose calls could not be told from text.
func (p *params) answerForm(e *engine.Engine) (toolcall.Options, *refusal) {
	if !e.HasChat() {
		return toolcall.Options{}, nil
	}
	o, ok := e.ChatTraits().Parse(p.req.Tools, p.reasoning)
	if !ok {
		return o, invalid("tools", "this model's chat template writes calls in a format that is not known here, so that they would come as text; give tool_choice \"none\" or remove the tools")
	}
	p.req.ShowTokens = o.Markers()
	return o, nil
}
