package api

import (
	"encoding/json"
	"net/http"

	"github.com/paddock-go/paddock/engine"
)

// chunks is a route's form of a streamed reply.
type chunks interface {
	head()                // what comes before any token
	token(t engine.Token) // what a token adds
	tail(u *usage)        // the chunk of the token counts
}

// read takes a whole answer in, token by token.
func (x *exchange) read(s *engine.Stream, take func(engine.Token)) *refusal {
	for {
		t, ok, err := s.Next()
		if err != nil {
			return x.refused(err)
		}
		if !ok {
			return nil
		}
		take(t)
	}
}

// stream answers with server-sent events: a head at once, then tokens as they
// come, flushed whenever there is none to wait for, then the usage if asked for.
func (x *exchange) stream(s *engine.Stream, p *params, c chunks) *refusal {
	x.begin()
	c.head()
	x.flush()
	for left := s.Choices(); left > 0; {
		t, ok, err := s.Next()
		if !ok {
			return x.refused(err)
		}
		if t.Finish != engine.FinishNone {
			left--
		}
		if left == 0 {
			x.finish(http.StatusOK) // what follows is the end of the reply
		}
		c.token(t)
		if left > 0 && !s.Buffered() && !x.flush() {
			return x.refused(engine.ErrAborted)
		}
	}
	if p.includeUsage {
		c.tail(usageOf(s.Usage()))
	}
	x.line([]byte("[DONE]"))
	x.flush()
	return nil
}

// pendingUsage is the usage of all chunks but the last: absent, or null where the
// client asked for the counts, as the official API has it.
func (p *params) pendingUsage() any {
	if p.includeUsage {
		return json.RawMessage("null")
	}
	return nil
}
