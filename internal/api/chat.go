package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/paddock-go/paddock/engine"
)

type chatReply struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *usage       `json:"usage"`
}

type chatChoice struct {
	Index    int           `json:"index"`
	Message  chatMessage   `json:"message"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Finish   *string       `json:"finish_reason"`
}

type chatMessage struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type chatChunk struct {
	ID      string            `json:"id"`
	Object  string            `json:"object"`
	Created int64             `json:"created"`
	Model   string            `json:"model"`
	Choices []chatChunkChoice `json:"choices"`
	Usage   any               `json:"usage,omitempty"`
}

type chatChunkChoice struct {
	Index    int           `json:"index"`
	Delta    chatDelta     `json:"delta"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Finish   *string       `json:"finish_reason"`
}

type chatDelta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

// serveChat is POST /v1/chat/completions.
func serveChat(x *exchange) *refusal {
	p, f := parse(x, chatFields)
	if f != nil {
		return f
	}
	if len(p.req.Messages) == 0 {
		return invalid("messages", "at least one is needed")
	}
	if p.topLogprobs >= 0 && !p.wantLogprobs {
		return invalid("top_logprobs", "needs logprobs: true")
	}
	if p.wantLogprobs {
		p.req.Logprobs = 1 + max(p.topLogprobs, 0)
	}
	if f := p.forTemplate(x.h.e); f != nil {
		return f
	}
	form, f := p.answerForm(x.h.e)
	if f != nil {
		return f
	}
	s, f := x.open(p)
	if f != nil {
		return f
	}
	defer s.Close()
	c := &chat{x: x, s: s, p: p, answers: newAnswers(form, s), chunk: chatChunk{
		ID: newID("chatcmpl-"), Object: "chat.completion.chunk", Created: time.Now().Unix(), Model: x.h.o.Names[0],
		Choices: make([]chatChunkChoice, 1), Usage: p.pendingUsage(),
	}}
	if p.stream {
		return x.stream(s, p, c)
	}
	return c.whole()
}

// chat is one chat completion on its way out.
type chat struct {
	x       *exchange
	s       *engine.Stream
	p       *params
	answers *answers
	chunk   chatChunk
}

// whole answers with one JSON object.
func (c *chat) whole() *refusal {
	choices := make([]chatChoice, c.s.Choices())
	texts, thoughts := make([]strings.Builder, len(choices)), make([]strings.Builder, len(choices))
	for i := range choices {
		choices[i].Index, choices[i].Message.Role = i, "assistant"
		if c.p.wantLogprobs {
			choices[i].Logprobs = &chatLogprobs{Content: []chatLogprobTop{}}
		}
	}
	f := c.x.read(c.s, func(t engine.Token) {
		ch := &choices[t.Choice]
		for _, p := range c.answers.take(t) {
			texts[t.Choice].WriteString(p.Content)
			thoughts[t.Choice].WriteString(p.Reasoning)
			if p.Call != nil {
				ch.Message.ToolCalls = append(ch.Message.ToolCalls, newCall(p.Call))
			}
		}
		if c.p.wantLogprobs && shown(t) {
			ch.Logprobs.Content = append(ch.Logprobs.Content, c.x.h.chatLogprobs(t))
		}
		ch.Finish = c.answers.finish(t)
	})
	if f != nil {
		return f
	}
	for i := range choices {
		m := &choices[i].Message
		m.Reasoning = thoughts[i].String()
		if texts[i].Len() > 0 || m.ToolCalls == nil { // none is null beside calls
			m.Content = new(texts[i].String())
		}
	}
	c.x.reply(http.StatusOK, chatReply{
		ID: c.chunk.ID, Object: "chat.completion", Created: c.chunk.Created, Model: c.chunk.Model,
		Choices: choices, Usage: usageOf(c.s.Usage()),
	})
	return nil
}

// head gives each choice its role.
func (c *chat) head() {
	for i := range c.s.Choices() {
		c.send(chatChunkChoice{Index: i, Delta: chatDelta{Role: "assistant", Content: new("")}})
	}
}

func (c *chat) token(t engine.Token) {
	var logprobs *chatLogprobs
	if c.p.wantLogprobs && shown(t) {
		logprobs = &chatLogprobs{Content: []chatLogprobTop{c.x.h.chatLogprobs(t)}}
	}
	calls := c.answers.by[t.Choice].calls
	for _, p := range c.answers.take(t) { // the token's logprobs come with its first piece
		out := chatChunkChoice{Index: t.Choice, Logprobs: logprobs}
		logprobs = nil
		switch {
		case p.Call != nil:
			call, arguments := newCall(p.Call), toolCall{Index: new(calls)}
			calls++
			call.Index = arguments.Index
			arguments.Function.Arguments, call.Function.Arguments = call.Function.Arguments, ""
			out.Delta.ToolCalls = []toolCall{call}
			c.send(out)
			out.Logprobs, out.Delta.ToolCalls = nil, []toolCall{arguments}
		case p.Reasoning != "":
			out.Delta.Reasoning = p.Reasoning
		default:
			out.Delta.Content = &p.Content
		}
		c.send(out)
	}
	if logprobs != nil {
		c.send(chatChunkChoice{Index: t.Choice, Logprobs: logprobs})
	}
	if name := c.answers.finish(t); name != nil { // in a chunk of its own, as the official API has it
		c.send(chatChunkChoice{Index: t.Choice, Finish: name})
	}
}

func (c *chat) tail(u *usage) {
	c.chunk.Choices, c.chunk.Usage = []chatChunkChoice{}, u
	c.x.event(c.chunk)
}

func (c *chat) send(choice chatChunkChoice) {
	c.chunk.Choices[0] = choice
	c.x.event(c.chunk)
}
