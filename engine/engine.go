// Package engine runs a model: it takes requests, batches them step by step over
// a paged, prefix-sharing KV cache, and hands out tokens.
//
// An Engine is one goroutine, the loop, that owns scheduler, cache and device.
// Everything else, a caller's Submit or a reader's Next, talks to it through an
// inbox and bounded rings, so the loop never waits for anyone. What a request
// answers depends on the model, the request and its seed alone, not on who else
// is being served.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/paddock-go/paddock/internal/chat"
	"github.com/paddock-go/paddock/internal/tokenizer"
	"github.com/paddock-go/paddock/metrics"
)

// Engine is an open model. Its methods are safe for concurrent use.
type Engine struct {
	name    string
	vocab   int
	context int // most tokens of prompt and answer

	contextWhy string // what set it
	card       Card
	pooled     pooled
	window     int // most texts of one Embed that are under way at once
	tok        *tokenizer.Tokenizer
	tmpl       *chat.Template // nil: the model has none
	learnt     learnt         // about it
	spec       Spec
	log        *slog.Logger
	rec        *metrics.Recorder
	model      *metrics.Model
	inbox      *inbox
	pub        *publisher
	status     atomic.Int32

	done    chan struct{} // closed when the loop has returned
	loopErr error         // what it returned; read after done

	release   []func() error // what Close frees, latest first, after the loop has returned
	closeOnce sync.Once
	closeErr  error
}

// What Engine.status holds.
const (
	statusReady int32 = iota
	statusDraining
	statusFailed
	statusClosed
)

// Stats are an engine's counters and gauges at one moment, all of one state: the
// numbers that its metrics page shows.
type Stats = metrics.Snapshot

// Name is the model's name in metrics and API.
func (e *Engine) Name() string { return e.name }

// MaxContext is the most tokens that prompt and answer may have together.
func (e *Engine) MaxContext() int { return e.context }

// VocabSize is the number of tokens the model knows: ids are below it.
func (e *Engine) VocabSize() int { return e.vocab }

// Metrics is the recorder that the engine reports to.
func (e *Engine) Metrics() *metrics.Recorder { return e.rec }

// MetricsModel is the engine's handle on its recorder: what a frontend that
// observes requests itself puts into their records.
func (e *Engine) MetricsModel() *metrics.Model { return e.model }

// Ready tells whether the engine takes requests.
func (e *Engine) Ready() bool { return e.status.Load() == statusReady }

// Stats returns the state that the loop last published: never older than the
// last token, finish or Submit that the caller saw.
func (e *Engine) Stats() Stats {
	var s Stats
	e.pub.Snapshot(&s)
	return s
}

// Generate submits r when the first token is asked for and ranges over its
// tokens. Leaving the loop cancels the request. A request that can't be served, or
// ends early, gives one last pair with a zero Token and the error.
func (e *Engine) Generate(ctx context.Context, r Request) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		s, err := e.Submit(ctx, r)
		if err != nil {
			yield(Token{}, err)
			return
		}
		s.All()(yield)
	}
}

// Complete runs r to its end.
func (e *Engine) Complete(ctx context.Context, r Request) (Result, error) {
	s, err := e.Submit(ctx, r)
	if err != nil {
		return Result{}, err
	}
	return s.run()
}

// Tokenize turns text into tokens; special tells whether the text of special
// tokens becomes their ids, and whether the tokens that the model expects around
// a text (BOS, EOS) are added.
func (e *Engine) Tokenize(text string, special bool) ([]int32, error) {
	if e.tok == nil {
		return nil, errNoTokenizer
	}
	return e.tok.Encode(text, special, special), nil
}

// Detokenize turns tokens into text, without special tokens; bytes that are no
// UTF-8 become U+FFFD.
func (e *Engine) Detokenize(tokens []int32) string {
	if e.tok == nil {
		return ""
	}
	return e.tok.Decode(tokens, true)
}

// TokenBytes is the text of one token, as bytes: part of a character, perhaps.
// Nil for special tokens and ids outside the vocabulary.
func (e *Engine) TokenBytes(id int32) []byte { return e.tokenBytes(id) }

// HasChat tells whether the model has a chat template.
func (e *Engine) HasChat() bool { return e.tmpl != nil }

// Drain refuses new requests from now on and waits until those that were taken
// have ended. When ctx ends first, the rest are ended with ErrDraining and ctx's
// error is returned.
func (e *Engine) Drain(ctx context.Context) error {
	e.status.CompareAndSwap(statusReady, statusDraining)
	drained := make(chan struct{})
	if !e.inbox.post(command{kind: cmdDrain, drained: drained}) {
		return nil // closed: nothing is left
	}
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		e.inbox.post(command{kind: cmdAbort, err: ErrDraining})
		<-drained
		return ctx.Err()
	}
}

// Close ends what is still going with ErrClosed, waits until the loop and its
// workers have stopped, and frees everything. It returns the error of a device
// that failed. Closing again does nothing and returns the same.
func (e *Engine) Close() error {
	e.closeOnce.Do(func() {
		e.status.Store(statusClosed)
		e.inbox.post(command{kind: cmdClose})
		<-e.done
		e.closeErr = errors.Join(e.loopErr, e.free())
	})
	return e.closeErr
}

var errNoTokenizer = errors.New("engine: the model's file has no tokenizer; submit tokens")

// tokenBytes is what a token adds to the text; nil for special tokens.
func (e *Engine) tokenBytes(id int32) []byte {
	if e.tok == nil || id < 0 || int(id) >= e.tok.VocabSize() || e.tok.IsControl(id) {
		return nil
	}
	return e.tok.TokenBytes(id)
}

// rawJSON tells whether a raw value was given at all: null is as good as none.
func rawJSON(r json.RawMessage) bool { return len(r) > 0 && string(r) != "null" }
