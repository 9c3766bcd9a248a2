package api

import (
	"crypto/rand"
	"strings"
	"unicode"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/toolcall"
)

// toolCall is a call in a reply: whole in a message; in a chunk with its index, the
// id and the name first and the arguments after.
type toolCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// reasoningModes are the values of reasoning_format, named as llama-server does.
var reasoningModes = map[string]toolcall.Mode{
	"none": toolcall.ReasoningKept, "auto": toolcall.ReasoningSplit, "deepseek": toolcall.ReasoningSplit,
}

func setReasoningFormat(p *params, v value) error {
	name, err := v.str()
	mode, ok := reasoningModes[name]
	if err == nil && !ok {
		err = invalid(v.path(), "%q is not known; none, auto and deepseek are", clip(name))
	}
	p.reasoning = mode
	return err
}

// answers tells the answers of a request's choices apart.
type answers struct {
	by []answer // by choice
}

// answer is one choice's. Without a parser its text is content as it comes.
type answer struct {
	parser *toolcall.Parser
	pieces []toolcall.Piece // of the newest token
	calls  int
}

func newAnswers(o toolcall.Options, s *engine.Stream) *answers {
	a := &answers{by: make([]answer, s.Choices())}
	if o.None() {
		return a
	}
	prompt := strings.TrimRightFunc(s.PromptTail(), unicode.IsSpace)
	o.Inside = o.Think.Open != "" && strings.HasSuffix(prompt, o.Think.Open)
	for i := range a.by {
		c := &a.by[i]
		c.parser = toolcall.NewParser(o, func(p toolcall.Piece) { c.pieces = append(c.pieces, p) })
	}
	return a
}

// take returns what a token adds to its choice's answer, valid until the next one.
func (a *answers) take(t engine.Token) []toolcall.Piece {
	c := &a.by[t.Choice]
	c.pieces = c.pieces[:0]
	switch {
	case c.parser != nil:
		c.parser.Push(t.Text)
		if t.Finish != engine.FinishNone {
			c.parser.Flush()
		}
	case t.Text != "":
		c.pieces = append(c.pieces, toolcall.Piece{Content: t.Text})
	}
	for _, p := range c.pieces {
		if p.Call != nil {
			c.calls++
		}
	}
	return c.pieces
}

// finish is the finish_reason of a token: a choice that ended by itself and made
// calls ended for them.
func (a *answers) finish(t engine.Token) *string {
	name := finishName(t.Finish)
	if name != nil && a.by[t.Choice].calls > 0 && t.Finish != engine.FinishLength {
		return new("tool_calls")
	}
	return name
}

// newCall is a call with a new id: of nine letters and digits, since there are
// templates that refuse any other when it comes back.
func newCall(c *toolcall.Call) toolCall {
	out := toolCall{ID: rand.Text()[:9], Type: "function"}
	out.Function.Name, out.Function.Arguments = c.Name, c.Arguments
	return out
}
