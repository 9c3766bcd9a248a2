package toolcall

import (
	"slices"
	"strings"

	"github.com/paddock-go/paddock/internal/chat"
)

// Traits are what a chat template does with the parts of a conversation that
// clients write in more than one form. The zero value is what the transformers
// library documents: arguments are objects, contents are strings. Immutable once
// learnt.
type Traits struct {
	// TextArguments: the arguments of a call are JSON text, since the template can't
	// use an object, or would print it as Python does.
	TextArguments bool
	// Parts are the roles whose content may be an array of text parts, which the
	// template walks. Contents of others are strings.
	Parts []string
	// OnlyParts: a content that is a string fails or goes unseen, so that it must be
	// an array of one part.
	OnlyParts bool
	// Reasoning is the member of an assistant's turn whose text the template shows as
	// the reasoning behind it; "": none that is known.
	Reasoning string
	// Calls is the format in which the template writes calls; nil: none of the known.
	Calls *Format
	// Think are the markers that the template has around reasoning; zero: none of the
	// known. Harmony's channels are none.
	Think Think
}

// Render renders a conversation, with tools or None, by the template that is
// learnt about, and with the variables that it always has.
type Render func(messages, tools chat.Value, generation bool) (string, error)

// The words that the probes look for in what a template wrote.
const (
	probeTool    = "probe_tool"
	probeKey     = "probe_key"
	probeValue   = "probe value"
	probeOne     = "probe text one"
	probeTwo     = "probe text two"
	probeThought = "probe thought"
	probeID      = "call12345" // nine letters and digits, as Mistral's templates demand
)

// reasoningNames are the members that clients and templates know, in the order in
// which a template that shows more than one is taken.
var reasoningNames = []string{"reasoning_content", "reasoning", "thinking"}

// Learn renders conversations made up for the purpose and looks at what came out.
// A rendering that fails only says that the template can't do this. The markers of
// reasoning are looked for in the template's own text.
func Learn(source string, render Render) Traits {
	l := learner{render: render}
	t := Traits{
		TextArguments: l.textArguments(),
		OnlyParts:     l.onlyParts(),
		Reasoning:     l.reasoning(),
	}
	t.Calls = l.format(t.TextArguments)
	for _, k := range thinks {
		if strings.Contains(source, k.Close) {
			t.Think = k
			break
		}
	}
	for _, role := range []string{"system", "user", "assistant", "tool"} {
		if l.walksParts(role) {
			t.Parts = append(t.Parts, role)
		}
	}
	return t
}

// WalksParts tells whether a content of parts may stay one in turns of a role.
func (t *Traits) WalksParts(role string) bool { return slices.Contains(t.Parts, role) }

type learner struct{ render Render }

// shows renders a conversation and returns its text, "" where that fails.
func (l learner) shows(generation bool, turns ...chat.Value) string {
	for _, tools := range []chat.Value{probeTools(), chat.None} {
		if text, err := l.render(chat.List(turns...), tools, generation); err == nil {
			return text
		}
	}
	return ""
}

// textArguments renders the same call with its arguments as an object and as text.
func (l learner) textArguments() bool {
	object := chat.NewMap(1).Set(probeKey, chat.String(probeValue))
	asText := `{"` + probeKey + `": "` + probeValue + `"}`
	if got := l.calls(object); strings.Contains(got, probeValue) && !strings.Contains(got, `{'`+probeKey) {
		return false
	}
	return strings.Contains(l.calls(chat.String(asText)), asText)
}

// calls renders a call and its result.
func (l learner) calls(arguments chat.Value) string {
	return l.shows(true, ask(), call(arguments), result(chat.String(probeOne)))
}

func (l learner) onlyParts() bool {
	if strings.Contains(l.shows(true, turn("user", chat.String(probeOne))), probeOne) {
		return false
	}
	return strings.Contains(l.shows(true, turn("user", parts())), probeOne)
}

// walksParts looks whether both parts come out as text, not as a list printed.
func (l learner) walksParts(role string) bool {
	got := ""
	switch role {
	case "system":
		got = l.shows(true, turn(role, parts()), ask())
	case "user":
		got = l.shows(true, turn(role, parts()))
	case "assistant":
		got = l.shows(true, ask(), turn(role, parts()), ask())
	case "tool":
		object := chat.NewMap(1).Set(probeKey, chat.String(probeValue))
		got = l.shows(true, ask(), call(object), result(parts()))
	}
	_, behind, ok := strings.Cut(got, probeOne)
	if !ok {
		return false
	}
	between, _, ok := strings.Cut(behind, probeTwo)
	return ok && !strings.Contains(between, "text")
}

func (l learner) reasoning() string {
	for _, name := range reasoningNames {
		thought := func(m *chat.Map) *chat.Map { return m.Set(name, chat.String(probeThought)) }
		object := chat.NewMap(1).Set(probeKey, chat.String(probeValue))
		for _, turns := range [][]chat.Value{
			{ask(), thought(call(object)), result(chat.String(probeOne))},
			{ask(), thought(turn("assistant", chat.String(probeOne)))},
		} {
			if strings.Contains(l.shows(true, turns...), probeThought) {
				return name
			}
		}
	}
	return ""
}

func turn(role string, content chat.Value) *chat.Map {
	return chat.NewMap(4).Set("role", chat.String(role)).Set("content", content)
}

func ask() *chat.Map { return turn("user", chat.String("probe question")) }

func call(arguments chat.Value) *chat.Map {
	function := chat.NewMap(2).Set("name", chat.String(probeTool)).Set("arguments", arguments)
	one := chat.NewMap(3).Set("id", chat.String(probeID)).Set("type", chat.String("function")).Set("function", function)
	return turn("assistant", chat.String("")).Set("tool_calls", chat.List(one))
}

func result(content chat.Value) *chat.Map {
	return turn("tool", content).Set("tool_call_id", chat.String(probeID)).Set("name", chat.String(probeTool))
}

func parts() chat.Value {
	part := func(text string) chat.Value {
		return chat.NewMap(2).Set("type", chat.String("text")).Set("text", chat.String(text))
	}
	return chat.List(part(probeOne), part(probeTwo))
}

func probeTools() chat.Value {
	word := chat.NewMap(2).Set("type", chat.String("string")).Set("description", chat.String("a word"))
	parameters := chat.NewMap(3).Set("type", chat.String("object")).
		Set("properties", chat.NewMap(1).Set(probeKey, word)).Set("required", chat.List(chat.String(probeKey)))
	function := chat.NewMap(3).Set("name", chat.String(probeTool)).Set("description", chat.String("a tool")).Set("parameters", parameters)
	return chat.List(chat.NewMap(2).Set("type", chat.String("function")).Set("function", function))
}
