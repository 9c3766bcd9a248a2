package sched

import (
	"errors"
	"fmt"
	"time"
)

// What Add answers besides the typed errors below.
var (
	// ErrDraining: Drain was called, nothing new is taken.
	ErrDraining = errors.New("sched: draining, no new sequence is taken")
	// ErrInvalid: the sequence itself is wrong (no token, an id that is in use, …). The text says what.
	ErrInvalid = errors.New("sched: invalid sequence")
)

func invalid(id SeqID, format string, args ...any) error {
	return fmt.Errorf("%w %d: %s", ErrInvalid, id, fmt.Sprintf(format, args...))
}

// QueueFullError says that as many requests wait as Limits.MaxQueue allows.
type QueueFullError struct {
	Queued, Max int           // requests
	RetryAfter  time.Duration // when a place is likely, from how often sequences ended lately; whole seconds, at least one
}

func (e *QueueFullError) Error() string {
	return fmt.Sprintf("sched: the queue is full (%d requests wait, at most %d may); try again in %s", e.Queued, e.Max, e.RetryAfter)
}

// TooLargeError says that the request needs more pages than the whole pool has, so that it can never be served.
type TooLargeError struct {
	Need, Have int // pages: for prompt and output of all choices, what they share counted once; in the pool
	Prompt     int // tokens
	Max        int // tokens to generate in each choice
	Choices    int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("sched: %d prompt tokens and %d to generate in each of %d choices need %d cache pages, there are %d: ask for less, or configure more pages",
		e.Prompt, e.Max, e.Choices, e.Need, e.Have)
}

// ContextError says that prompt and output don't fit the context.
type ContextError struct {
	Prompt int  // tokens
	Max    int  // tokens to generate; 0: as many as fit, of which there must be at least one
	Limit  int  // Limits.MaxContext, tokens; for an atomic sequence Limits.MaxTokens if that is less
	Pooled bool // nothing was to be generated
}

func (e *ContextError) Error() string {
	if e.Pooled {
		return fmt.Sprintf("sched: %d tokens are too many, the most is %d: shorten the text", e.Prompt, e.Limit)
	}
	if e.Max == 0 {
		return fmt.Sprintf("sched: %d prompt tokens leave no room to generate in a context of %d: shorten the prompt", e.Prompt, e.Limit)
	}
	return fmt.Sprintf("sched: %d prompt tokens and %d to generate are %d, the context is %d: shorten the prompt or ask for fewer",
		e.Prompt, e.Max, e.Prompt+e.Max, e.Limit)
}
