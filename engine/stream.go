package engine

import (
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/paddock-go/paddock/internal/sample"
)

// Stream is one submitted request's tokens on their way to a reader. One
// goroutine reads it; Close and Usage may be called from any.
//
// A stream that nobody reads does no harm: when its buffer is full the request
// is parked, and after Options.StallTimeout it is ended with ErrStalled.
type Stream struct {
	e   *Engine
	job *job

	text []textState      // reader's side, by choice
	show map[int32]string // control tokens that are part of the text
	tail string
	top  []sample.Alternative
	at   time.Duration // when the token that Next returned last was made

	closing sync.Once
}

// Next waits for the next token. ok is false when the stream has ended: err is
// nil if every choice finished, else why the request ended early. Its wait ends
// with the request's own context, which ends the request too.
func (s *Stream) Next() (t Token, ok bool, err error) {
	for {
		e, have, resumed, ended, err := s.job.ring.pop(s.top)
		if resumed {
			s.e.inbox.post(command{kind: cmdUnpark, job: s.job})
		}
		if have {
			s.at = e.at
			return s.token(e), true, nil
		}
		if ended {
			return Token{}, false, err
		}
		<-s.job.ring.wake
	}
}

// All ranges over the stream: one pair a token, none besides, but for a last one
// with a zero Token and the error of a request that ended early. Leaving the loop
// closes the stream.
func (s *Stream) All() iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		defer s.Close()
		for {
			t, ok, err := s.Next()
			if !ok {
				if err != nil {
					yield(Token{}, err)
				}
				return
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}

// Close gives the stream up. If the request is still going it is cancelled, and
// Close returns once the engine has let go of it, its pages included: within a
// step. Closing a finished or closed stream does nothing.
func (s *Stream) Close() {
	s.closing.Do(func() {
		s.e.inbox.post(command{kind: cmdCancel, job: s.job, err: ErrAborted})
		<-s.job.done
		s.job.ring.drop()
	})
}

// Usage counts the tokens so far; after the last token it is final.
func (s *Stream) Usage() Usage {
	u := Usage{PromptTokens: s.job.promptTokens, Seed: s.job.seed}
	u.CachedTokens = int(s.job.cached.Load())
	u.GeneratedTokens = int(s.job.generated.Load())
	return u
}

// Age is how long ago the token that Next returned last was made, counted from the
// end of its step: right after Next, how long the token took to its reader. Only the
// reader may call it, and after the first token.
func (s *Stream) Age() time.Duration { return s.e.rec.Now() - s.at }

// Choices is the number of choices the request asked for.
func (s *Stream) Choices() int { return len(s.job.choices) }

// PromptTail is the end of the text that the chat template made of the request's
// messages, at most 256 bytes: what the answer goes on from. "" for other prompts.
func (s *Stream) PromptTail() string { return s.tail }

// token makes the public form of an entry, with its text.
func (s *Stream) token(e entry) Token {
	t := Token{ID: e.id, Choice: int(e.choice), Finish: e.finish, Logprob: e.logprob}
	if len(e.top) > 0 {
		t.Top = make([]TokenLogprob, len(e.top))
		for i, a := range e.top {
			t.Top[i] = TokenLogprob{a.Token, a.Logprob}
		}
	}
	var text []byte
	if e.finish != FinishStop { // the text of a stop token is no part of the answer
		text = s.e.tokenBytes(e.id)
		if shown, ok := s.show[e.id]; ok {
			s.text[e.choice].show(shown)
		}
	}
	t.Text = s.text[e.choice].push(text, e.finish != FinishNone)
	return t
}

// run reads a stream to its end.
func (s *Stream) run() (Result, error) {
	defer s.Close()
	r := Result{Choices: make([]Answer, s.Choices())}
	texts := make([]strings.Builder, s.Choices())
	for {
		t, ok, err := s.Next()
		if err != nil {
			return Result{}, err
		}
		if !ok {
			break
		}
		a := &r.Choices[t.Choice]
		texts[t.Choice].WriteString(t.Text)
		a.Tokens = append(a.Tokens, t)
		if t.Finish != FinishNone {
			a.Finish = t.Finish
		}
	}
	for i := range r.Choices {
		r.Choices[i].Text = texts[i].String()
	}
	r.Text, r.Finish, r.Usage = r.Choices[0].Text, r.Choices[0].Finish, s.Usage()
	return r, nil
}

// Buffered tells whether Next would return at once, so that a writer can wait
// with a flush while more is there.
func (s *Stream) Buffered() bool { return !s.job.ring.empty() }
