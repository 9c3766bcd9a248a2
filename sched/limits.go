package sched

import (
	"errors"
	"fmt"
	"time"
)

// Defaults of Limits.
const (
	DefaultMaxTokens    = 512
	DefaultMaxSequences = 64
	DefaultMaxQueue     = 1024
	DefaultMinChunk     = 16
	DefaultMaxStepTime  = 100 * time.Millisecond
	DefaultStallTimeout = 30 * time.Second
)

// Limits bound what a step may hold and who may wait. The zero value means the defaults.
type Limits struct {
	// MaxTokens is the number of rows in one step at most: the size of the engine's buffers, never exceeded.
	// 0: 512, or MaxSequences if that is more.
	MaxTokens int
	// MaxSequences is the number of sequences in the batch at most. It must not exceed MaxTokens: each of them may want
	// a row in the same step. 0: 64, or MaxTokens if that is less.
	MaxSequences int
	// MaxQueue is the number of requests at most that wait for their first admission (a request with several choices is
	// one). Beyond it Add answers QueueFullError. 0: 1024.
	MaxQueue int
	// MaxContext is the number of prompt and generated tokens of one sequence at most. 0: what the pool holds.
	MaxContext int
	// MaxChunk is the number of prompt rows in one step at most, all prompts together. 0: MaxTokens.
	MaxChunk int
	// MinChunk is the number of prompt rows below which the time target does not push a step, so that prompts finish
	// however slow the machine is. 0: 16. MaxChunk wins where it is less.
	MinChunk int
	// MaxStepTime is the time a step should take at most: the gap that a long prompt may open in the streams of
	// others. Prompt rows are cut to meet it, decode rows never are. 0: 100 ms. Negative: no target, chunks of MaxChunk
	// at once.
	MaxStepTime time.Duration
	// StallTimeout is how long a sequence may stay parked before it is ended as ReasonDisconnect. 0: 30 s. Negative: for
	// ever.
	StallTimeout time.Duration
	// NoPrefixCache turns the prefix index off: nothing is looked up, shared between requests or kept.
	NoPrefixCache bool
}

// WithDefaults returns the limits with every zero field set to what New uses, for callers who size something by them
// before they have a scheduler.
func (l Limits) WithDefaults() Limits {
	if l.MaxTokens == 0 {
		l.MaxTokens = max(DefaultMaxTokens, l.MaxSequences)
	}
	if l.MaxSequences == 0 {
		l.MaxSequences = min(DefaultMaxSequences, l.MaxTokens)
	}
	if l.MaxQueue == 0 {
		l.MaxQueue = DefaultMaxQueue
	}
	if l.MaxChunk == 0 || l.MaxChunk > l.MaxTokens {
		l.MaxChunk = l.MaxTokens
	}
	if l.MinChunk == 0 {
		l.MinChunk = DefaultMinChunk
	}
	l.MinChunk = min(l.MinChunk, l.MaxChunk)
	if l.MaxStepTime == 0 {
		l.MaxStepTime = DefaultMaxStepTime
	}
	if l.StallTimeout == 0 {
		l.StallTimeout = DefaultStallTimeout
	}
	return l
}

// Validate reports every fault at once, with name, value and bound. New panics on limits that have any, so whoever takes
// limits from a user asks here first.
func (l Limits) Validate() error {
	var errs []error
	for _, f := range []struct {
		name  string
		value int
	}{
		{"MaxTokens", l.MaxTokens}, {"MaxSequences", l.MaxSequences}, {"MaxQueue", l.MaxQueue},
		{"MaxContext", l.MaxContext}, {"MaxChunk", l.MaxChunk}, {"MinChunk", l.MinChunk},
	} {
		if f.value < 0 {
			errs = append(errs, fmt.Errorf("sched: Limits.%s is %d, it must not be negative", f.name, f.value))
		}
	}
	if l.MaxTokens > 0 && l.MaxSequences > l.MaxTokens {
		errs = append(errs, fmt.Errorf("sched: Limits.MaxSequences is %d, it must not exceed MaxTokens (%d)", l.MaxSequences, l.MaxTokens))
	}
	return errors.Join(errs...)
}
