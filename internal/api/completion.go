package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/paddock-go/paddock/engine"
)

// completionReply is a whole reply and, with the same shape, a chunk of a stream.
type completionReply struct {
	ID      string             `json:"id"`
	Object  string             `json:"object"`
	Created int64              `json:"created"`
	Model   string             `json:"model"`
	Choices []completionChoice `json:"choices"`
	Usage   *usage             `json:"usage,omitempty"`
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

func validUTF8(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// add appends one token, whose text begins at offset.
func (l *completionLogprobs) add(h *handler, t engine.Token, offset int) {
	l.Tokens = append(l.Tokens, validUTF8(h.e.TokenBytes(t.ID)))
	l.Logprobs = append(l.Logprobs, finite(t.Logprob))
	l.Offsets = append(l.Offsets, offset)
	var top map[string]float32
	if len(t.Top) > 0 {
		top = make(map[string]float32, len(t.Top))
		for _, a := range t.Top {
			if name := validUTF8(h.e.TokenBytes(a.ID)); top[name] == 0 { // likeliest first: the best of equal texts stays
				top[name] = finite(a.Logprob)
			}
		}
	}
	l.Top = append(l.Top, top)
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
	if p.bestOf != 0 && p.bestOf != int64(max(p.req.N, 1)) {
		return invalid("best_of", "is %d; only the value of n (%d) is served", p.bestOf, max(p.req.N, 1))
	}
	if p.req.MaxTokens == 0 {
		p.req.MaxTokens = max(defaultCompletionTokens, p.req.MinTokens)
	}
	s, err := x.h.e.Submit(x.r.Context(), p.req)
	if err != nil {
		return refused(err)
	}
	defer s.Close()
	c := &completion{x: x, s: s, p: p, offsets: make([]int, s.Choices()), out: completionReply{
		ID: newID("cmpl-"), Object: "text_completion", Created: time.Now().Unix(), Model: x.h.o.Names[0],
		Choices: make([]completionChoice, 1),
	}}
	if p.stream {
		return c.stream()
	}
	return c.whole()
}

// completion is one completion on its way out.
type completion struct {
	x       *exchange
	s       *engine.Stream
	p       *params
	out     completionReply
	offsets []int // by choice: characters of text so far
}

// take adds a token to a choice.
func (c *completion) take(ch *completionChoice, t engine.Token) {
	ch.Text += t.Text
	if c.p.req.Logprobs > 0 && shown(t) {
		if ch.Logprobs == nil {
			ch.Logprobs = &completionLogprobs{}
		}
		ch.Logprobs.add(c.x.h, t, c.offsets[t.Choice])
	}
	c.offsets[t.Choice] += len([]rune(t.Text))
	if name := finishName(t.Finish); name != nil {
		ch.Finish = name
	}
}

// whole answers with one JSON object.
func (c *completion) whole() *refusal {
	choices := make([]completionChoice, c.s.Choices())
	for i := range choices {
		choices[i].Index = i
	}
	for {
		t, ok, err := c.s.Next()
		if err != nil {
			return refused(err)
		}
		if !ok {
			break
		}
		c.take(&choices[t.Choice], t)
	}
	c.out.Choices, c.out.Usage = choices, usageOf(c.s.Usage())
	c.x.reply(http.StatusOK, c.out)
	return nil
}

// stream answers with server-sent events.
func (c *completion) stream() *refusal {
	c.x.begin()
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
		ch := completionChoice{Index: t.Choice}
		c.take(&ch, t)
		if ch.Finish != nil {
			left--
		}
		if left == 0 {
			c.x.finish() // what follows is the end of the reply
		}
		if ch.Text != "" || ch.Logprobs != nil || ch.Finish != nil {
			c.out.Choices[0] = ch
			c.x.event(c.out)
		}
		if left > 0 && !c.s.Buffered() && !c.x.flush() {
			return refused(engine.ErrAborted)
		}
	}
	if c.p.includeUsage {
		c.out.Choices, c.out.Usage = []completionChoice{}, usageOf(c.s.Usage())
		c.x.event(c.out)
	}
	c.x.line([]byte("[DONE]"))
	c.x.flush()
	return nil
}
