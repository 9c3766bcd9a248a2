package api

import (
	"net/http"
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
	Index   int `json:"index"`
	Message struct {
		Role    string  `json:"role"`
		Content string  `json:"content"`
		Refusal *string `json:"refusal"`
	} `json:"message"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Finish   *string       `json:"finish_reason"`
}

type chatChunk struct {
	ID      string            `json:"id"`
	Object  string            `json:"object"`
	Created int64             `json:"created"`
	Model   string            `json:"model"`
	Choices []chatChunkChoice `json:"choices"`
	Usage   *usage            `json:"usage,omitempty"`
}

type chatChunkChoice struct {
	Index    int           `json:"index"`
	Delta    chatDelta     `json:"delta"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Finish   *string       `json:"finish_reason"`
}

type chatDelta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
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
	s, err := x.h.e.Submit(x.r.Context(), p.req)
	if err != nil {
		return refused(err)
	}
	defer s.Close()
	c := &chat{x: x, s: s, p: p, chunk: chatChunk{
		ID: newID("chatcmpl-"), Object: "chat.completion.chunk", Created: time.Now().Unix(), Model: x.h.o.Names[0],
		Choices: make([]chatChunkChoice, 1),
	}}
	if p.stream {
		return c.stream()
	}
	return c.whole()
}

// chat is one chat completion on its way out.
type chat struct {
	x     *exchange
	s     *engine.Stream
	p     *params
	chunk chatChunk
}

// whole answers with one JSON object.
func (c *chat) whole() *refusal {
	choices := make([]chatChoice, c.s.Choices())
	for i := range choices {
		choices[i].Index, choices[i].Message.Role = i, "assistant"
		if c.p.wantLogprobs {
			choices[i].Logprobs = &chatLogprobs{Content: []chatLogprobTop{}}
		}
	}
	for {
		t, ok, err := c.s.Next()
		if err != nil {
			return refused(err)
		}
		if !ok {
			break
		}
		ch := &choices[t.Choice]
		ch.Message.Content += t.Text
		if c.p.wantLogprobs && shown(t) {
			ch.Logprobs.Content = append(ch.Logprobs.Content, c.x.h.chatLogprobs(t))
		}
		if name := finishName(t.Finish); name != nil {
			ch.Finish = name
		}
	}
	c.x.reply(http.StatusOK, chatReply{
		ID: c.chunk.ID, Object: "chat.completion", Created: c.chunk.Created, Model: c.chunk.Model,
		Choices: choices, Usage: usageOf(c.s.Usage()),
	})
	return nil
}

// stream answers with server-sent events: the role of each choice at once, then
// text as it comes, then the usage if asked for.
func (c *chat) stream() *refusal {
	c.x.begin()
	empty := ""
	for i := range c.s.Choices() {
		c.send(chatChunkChoice{Index: i, Delta: chatDelta{Role: "assistant", Content: &empty}})
	}
	c.x.flush()
	left := c.s.Choices()
	for left > 0 {
		t, ok, err := c.s.Next()
		if err != nil {
			return refused(err)
		}
		if !ok {
			break
		}
		out := chatChunkChoice{Index: t.Choice}
		if t.Text != "" {
			out.Delta.Content = &t.Text
		}
		if c.p.wantLogprobs && shown(t) {
			out.Logprobs = &chatLogprobs{Content: []chatLogprobTop{c.x.h.chatLogprobs(t)}}
		}
		if t.Finish != engine.FinishNone {
			left--
		}
		if left == 0 {
			c.x.finish() // what follows is the end of the reply
		}
		if out.Delta.Content != nil || out.Logprobs != nil {
			c.send(out)
		}
		if name := finishName(t.Finish); name != nil {
			c.send(chatChunkChoice{Index: t.Choice, Finish: name})
		}
		if left > 0 && !c.s.Buffered() && !c.x.flush() {
			return refused(engine.ErrAborted)
		}
	}
	if c.p.includeUsage {
		c.chunk.Choices, c.chunk.Usage = []chatChunkChoice{}, usageOf(c.s.Usage())
		c.x.event(c.chunk)
	}
	c.x.line([]byte("[DONE]"))
	c.x.flush()
	return nil
}

// send writes a chunk of one choice. A client that has gone shows at the flush.
func (c *chat) send(choice chatChunkChoice) {
	c.chunk.Choices[0] = choice
	c.x.event(c.chunk)
}
