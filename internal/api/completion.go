package api

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/paddock-go/paddock/engine"
)

// completionReply is a whole reply and, with the same shape, a chunk of a stream.
type completionReply struct {
	ID      string             `json:"id"`
	Object  string             `json:"object"`
	Created int64              `json:"created"`
	Model   string             `json:"model"`
	Choices []completionChoice `json:"choices"`
	Usage   any                `json:"usage,omitempty"`
}

type completionChoice struct {
	Index    int                 `json:"index"`
	Text     string              `json:"text"`
	Logprobs *completionLogprobs `json:"logprobs"`
	Finish   *string             `json:"finish_reason"`
}

type completionLogprobs struct {
	Tokens   []string             `json:"tokens"`
	Logprobs []float32            `json:"token_logprobs"`
	Top      []map[string]float32 `json:"top_logprobs"`
	Offsets  []int                `json:"text_offset"`
}

// serveCompletion is POST /v1/completions.
func serveCompletion(x *exchange) *refusal {
	p, f := parse(x, completionFields)
	if f != nil {
		return f
	}
	if p.req.Prompt == "" && p.req.Tokens == nil {
		return invalid("prompt", "is missing or empty")
	}
	if n := max(p.req.N, 1); p.bestOf != 0 && p.bestOf != n {
		return invalid("best_of", "is %d; only the value of n (%d) is served", p.bestOf, n)
	}
	if p.req.MaxTokens == 0 {
		p.req.MaxTokens = max(defaultCompletionTokens, p.req.MinTokens)
	}
	s, f := x.open(p)
	if f != nil {
		return f
	}
	defer s.Close()
	c := &completion{x: x, s: s, p: p, offsets: make([]int, s.Choices()), out: completionReply{
		ID: newID("cmpl-"), Object: "text_completion", Created: time.Now().Unix(), Model: x.h.o.Names[0],
		Choices: make([]completionChoice, 1), Usage: p.pendingUsage(),
	}}
	if p.stream {
		return x.stream(s, p, c)
	}
	return c.whole()
}

// completion is one completion on its way out.
type completion struct {
	x       *exchange
	s       *engine.Stream
	p       *params
	out     completionReply
	offsets []int // by choice: characters that its tokens have begun so far
}

// whole answers with one JSON object.
func (c *completion) whole() *refusal {
	choices, texts := make([]completionChoice, c.s.Choices()), make([]strings.Builder, c.s.Choices())
	for i := range choices {
		choices[i].Index = i
	}
	f := c.x.read(c.s, func(t engine.Token) {
		ch := &choices[t.Choice]
		texts[t.Choice].WriteString(t.Text)
		c.logprobs(ch, t)
		ch.Finish = finishName(t.Finish)
	})
	if f != nil {
		return f
	}
	for i := range choices {
		choices[i].Text = texts[i].String()
	}
	c.out.Choices, c.out.Usage = choices, usageOf(c.s.Usage())
	c.x.reply(http.StatusOK, c.out)
	return nil
}

func (c *completion) head() {}

func (c *completion) token(t engine.Token) {
	ch := completionChoice{Index: t.Choice, Text: t.Text, Finish: finishName(t.Finish)}
	c.logprobs(&ch, t)
	if ch.Text != "" || ch.Logprobs != nil || ch.Finish != nil {
		c.out.Choices[0] = ch
		c.x.event(c.out)
	}
}

func (c *completion) tail(u *usage) {
	c.out.Choices, c.out.Usage = []completionChoice{}, u
	c.x.event(c.out)
}

// logprobs appends a token to those of a choice, if they are asked for.
func (c *completion) logprobs(ch *completionChoice, t engine.Token) {
	if c.p.req.Logprobs == 0 || !shown(t) {
		return
	}
	if ch.Logprobs == nil {
		ch.Logprobs = &completionLogprobs{}
	}
	l, h := ch.Logprobs, c.x.h
	bytes := h.e.TokenBytes(t.ID)
	l.Tokens = append(l.Tokens, validUTF8(bytes))
	l.Logprobs = append(l.Logprobs, finite(t.Logprob))
	l.Offsets = append(l.Offsets, c.offsets[t.Choice])
	for _, b := range bytes { // a token may hold part of a character
		if utf8.RuneStart(b) {
			c.offsets[t.Choice]++
		}
	}
	var top map[string]float32
	if len(t.Top) > 0 {
		top = make(map[string]float32, len(t.Top))
	}
	for _, a := range t.Top { // likeliest first: the best of equal texts stays
		name := validUTF8(h.e.TokenBytes(a.ID))
		if _, ok := top[name]; !ok {
			top[name] = finite(a.Logprob)
		}
	}
	l.Top = append(l.Top, top)
}
