package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/chat"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/hf"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/safetensors"
	"github.com/paddock-go/paddock/internal/tokenizer"
	"github.com/paddock-go/paddock/metrics"
)

// Errors that callers branch on. The typed ones below match them with errors.Is.
var (
	ErrClosed   = errors.New("engine: closed")
	ErrDraining = errors.New("engine: draining, takes no new requests")
	ErrStalled  = errors.New("engine: nobody read the stream")
	ErrNoChat   = errors.New("engine: the model has no chat template")
	// ErrNoEmbeddings is Embed of a model that gives none, and ErrNoText Submit of
	// one that generates none.
	ErrNoEmbeddings = errors.New("engine: the model gives no embeddings; its file must name a pooling_type other than none and rank")
	ErrNoText       = errors.New("engine: the model embeds or ranks texts and generates none")
	ErrNoRanking    = errors.New("engine: the model neither ranks nor embeds texts")
	ErrAborted      = errors.New("engine: the stream was closed by its reader")
)

// RequestError says which part of a request can't be served.
type RequestError struct {
	Field  string // as in Request
	Reason string // what is wrong, with the value and the bound
}

func (e *RequestError) Error() string { return fmt.Sprintf("engine: %s: %s", e.Field, e.Reason) }

// ContextError is a prompt that the context can't hold.
type ContextError struct {
	PromptTokens int  // or fewer than there are, if AtLeast
	AtLeast      bool // the text was too long to be worth cutting into tokens
	MaxTokens    int  // asked for; 0: as many as fit
	Context      int  // most tokens of prompt and answer together
	Pooled       bool // of an embedding or a ranking: nothing was to be generated
}

func (e *ContextError) Error() string {
	least := ""
	if e.AtLeast {
		least = "at least "
	}
	if e.Pooled {
		return fmt.Sprintf("engine: a text of %s%d tokens is too long, the most is %d; shorten it", least, e.PromptTokens, e.Context)
	}
	return fmt.Sprintf("engine: %s%d prompt tokens and %d to generate do not fit a context of %d tokens; shorten the prompt or ask for fewer",
		least, e.PromptTokens, max(e.MaxTokens, 1), e.Context)
}

// PagesError is a request that the whole KV pool could not hold, so that waiting
// would not help.
type PagesError struct {
	Need, Have int // pages
}

func (e *PagesError) Error() string {
	return fmt.Sprintf("engine: the request needs %d KV pages and the pool has %d; shorten it or open the model with more KVPages", e.Need, e.Have)
}

// QueueFullError is a request that found the queue full.
type QueueFullError struct {
	Queued, Max int
	RetryAfter  time.Duration // a guess at when a place is free
}

func (e *QueueFullError) Error() string {
	return fmt.Sprintf("engine: %d requests wait, the most is %d; try again in %v", e.Queued, e.Max, e.RetryAfter)
}

// DeviceError is a failure of the device or the loop. The engine is of no more
// use: it fails every request with this, and Close returns it.
type DeviceError struct{ Err error }

func (e *DeviceError) Error() string { return fmt.Sprintf("engine: the device failed: %v", e.Err) }
func (e *DeviceError) Unwrap() error { return e.Err }

// TokenError is a request for which no token could be drawn: the model's logits
// were not numbers, or every token was excluded.
type TokenError struct {
	Position int // of the token, counted from the prompt's first
	Err      error
}

func (e *TokenError) Error() string {
	return fmt.Sprintf("engine: no token for position %d: %v", e.Position, e.Err)
}
func (e *TokenError) Unwrap() error { return e.Err }

// EmbeddingError is a text of which the model made something that is no number.
type EmbeddingError struct {
	Index int // of the value
	Value float32
}

func (e *EmbeddingError) Error() string {
	return fmt.Sprintf("engine: value %d of the embedding is %v", e.Index, e.Value)
}

// The two ways in which a caller's context ends a request; both wrap the
// context's own error and cause.
var (
	errDeadline = errors.New("engine: the request's context ran out of time")
	errCanceled = errors.New("engine: the request's context was cancelled")
)

func contextError(ctx context.Context) error {
	kind := errCanceled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		kind = errDeadline
	}
	if cause := context.Cause(ctx); cause != ctx.Err() { // a cause of the caller's own; the context's error still tells which kind it is
		return fmt.Errorf("%w: %w: %w", kind, ctx.Err(), cause)
	}
	return fmt.Errorf("%w: %w", kind, ctx.Err())
}

// What Open refuses a file with, for errors.As: the file's form, its
// parts, a folder, its safetensors, its architecture, a key, a tensor's shape, a tensor's format, the vocabulary, the
// chat template.
type (
	FormatError   = gguf.FormatError
	SplitError    = gguf.SplitError
	FolderError   = hf.Error
	TensorsError  = safetensors.Error
	ArchError     = model.ArchError
	KeyError      = model.KeyError
	ShapeError    = model.TensorError
	WeightError   = backend.TensorError
	VocabError    = tokenizer.VocabError
	TemplateError = chat.SyntaxError
)

// failReason sorts an error into the closed list that metrics count.
func failReason(err error) metrics.FailReason {
	var (
		request *RequestError
		long    *ContextError
		pages   *PagesError
		queue   *QueueFullError
	)
	switch {
	case err == nil:
		return metrics.NoFail
	case errors.As(err, &long):
		return metrics.ContextLength
	case errors.As(err, &request), errors.As(err, &pages), errors.Is(err, ErrNoChat), errors.Is(err, ErrNoEmbeddings), errors.Is(err, ErrNoText), errors.Is(err, ErrNoRanking):
		return metrics.InvalidRequest
	case errors.As(err, &queue):
		return metrics.QueueFull
	case errors.Is(err, ErrDraining), errors.Is(err, ErrClosed):
		return metrics.Draining
	case errors.Is(err, errDeadline):
		return metrics.Deadline
	case errors.Is(err, ErrStalled), errors.Is(err, ErrAborted), errors.Is(err, errCanceled):
		return metrics.Disconnect
	}
	return metrics.EngineError
}
