package metrics

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Record is one request's life, from its arrival to its end. There is one per request, whether it came over HTTP or through a
// library call: an edge makes it, puts it into the request's context ([NewContext]), the engine finds it there
// ([FromContext]) and fills it, and the edge finishes it. A request without an edge has its record made and finished by the
// engine.
//
// Stamps are on the clock of [Recorder.Now] and 0 where the request never got that far. Their order holds:
//
//	Arrival ≤ Queued ≤ Scheduled ≤ First ≤ Last ≤ Finished
//
// A Record has one owner at a time: the edge until Submit, the engine until the stream has ended, then the edge again. It
// isn't safe for concurrent use where nothing else is said, and must not be copied after first use.
type Record struct {
	Operation Operation
	Origin    Origin
	Model     *Model // the model that owns the route, or that answered; may be nil
	Edge      bool   // an edge made this record and calls Finish; the engine then only fills it
	Stream    bool   // the reply is streamed

	// For events only; never labels.
	ID      string
	Tenant  string
	Session string
	User    string
	Route   string // the pattern of the route that the request came by
	Status  int    // of the HTTP reply; 0: none was sent

	// The trace that the request is part of; zero: none. Exemplars carry them.
	TraceID   [16]byte
	SpanID    [8]byte
	Unsampled bool // the caller doesn't record the trace: a span of ours follows suit

	Arrival   time.Duration // the request's head was read, or Submit was called
	Queued    time.Duration // the scheduler took it
	Scheduled time.Duration // first in a batch; preemption doesn't move it
	First     time.Duration // first generated token of any choice pushed into the stream
	Last      time.Duration // last generated token of any choice
	Finished  time.Duration // just before the last write; 0: Finish stamps it

	PromptTokens    int // once whatever N is; 0 until the request is first scheduled, so that records add up to the counters
	CachedTokens    int // of those, from prefix or tier
	GeneratedTokens int // over all choices, sampled stop tokens and tokens cut away by a stop string included
	MaxTokens       int // most tokens that the request asked for; 0: it didn't say

	Tokenizing  time.Duration // spent on rendering and tokenising the prompt; before Queued
	Preemptions int           // of its sequences
	Drafted     int           // tokens that speculation proposed
	Accepted    int           // of those, accepted
	KVPages     int           // most pages that its sequences held in a step; one that two of them share counts for both

	// Choices has one entry for each choice; see Open. Nil for a request that generates nothing.
	Choices []Choice

	Finish FinishReason // of a success; NoFinish counts as Stop
	Fail   FailReason   // why it failed, also after streaming began

	one       [1]Choice   // what Choices is for a single choice, so that the common request allocates nothing
	begun     atomic.Bool // Begin has taken it
	undecided bool        // InstrumentHTTP made it: no route has said the operation
	refused   bool        // Fail is the reason of an engine that didn't take it
	span      trace.Span  // nil: none
	began     time.Time   // time of day at Arrival, where there is a span

	countedBy *Recorder // InstrumentHTTP of that one has the request
	seen      edgeFacts // what the edge knows of the reply; read once nobody fills the record any more
	held      holds
}

// Choice is one of a request's n answers.
type Choice struct {
	First  time.Duration // first token pushed; 0: none yet
	Last   time.Duration // last token pushed
	Tokens int           // generated and kept, as in Record.GeneratedTokens
	Finish FinishReason  // NoFinish: the request ended before the choice did
}

// Open makes Choices n zero entries; for n = 1 it allocates nothing.
func (r *Record) Open(n int) {
	if n == 1 {
		r.one[0] = Choice{}
		r.Choices = r.one[:]
		return
	}
	r.Choices = make([]Choice, n)
}

// Token notes that choice got tokens more tokens at now, just before they are pushed into the stream. A choice outside
// Choices still counts for the request. It allocates nothing.
func (r *Record) Token(choice int, now time.Duration, tokens int) {
	if tokens <= 0 {
		return
	}
	if r.First == 0 {
		r.First = now
	}
	r.Last = now
	r.GeneratedTokens += tokens
	if choice < 0 || choice >= len(r.Choices) {
		return
	}
	c := &r.Choices[choice]
	if c.First == 0 {
		c.First = now
	}
	c.Last = now
	c.Tokens += tokens
}

// Suppose says what the request turns out to be: its operation where no route has said it, and its origin where the edge found none. An
// engine says so of what it is asked for, before it begins the record.
func (r *Record) Suppose(op Operation, or Origin) {
	if r.undecided && !r.begun.Load() {
		r.Operation = op
	}
	if r.Origin == Live {
		r.Origin = or
	}
}

type contextKey struct{}

// NewContext returns a context that carries r from an edge to the engine.
func NewContext(ctx context.Context, r *Record) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the record that NewContext put into ctx, or nil.
func FromContext(ctx context.Context) *Record {
	r, _ := ctx.Value(contextKey{}).(*Record)
	return r
}
