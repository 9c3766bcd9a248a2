package metrics

import "time"

// StepStats is one executed step of an engine. The loop owns it and reuses it, slice included.
type StepStats struct {
	Tokens int           // rows computed in the step, prompts and decode together
	Took   time.Duration // wall time of the step
	Gaps   []TokenGap    // one entry for each sequence that got tokens after its first in this step

	// Residency has the sampled KV pages that gave up their content since the step before; empty where the engine doesn't sample.
	Residency []PageResidency
}

// PageResidency is the life of one KV page's content, told when the page is taken for other content.
type PageResidency struct {
	Lifetime time.Duration    // from being filled first to being taken
	Idle     time.Duration    // from its last use to being taken
	Gaps     [3]time.Duration // between its last four uses, oldest first; the first NGaps are valid
	NGaps    int              // 0 to 3
}

// TokenGap is the time since a sequence's previous token (which an earlier step made) and the number of tokens that this step
// gave it. It counts as N observations of Gap/N, so that speculation shows as shorter gaps. A sequence's first token has no gap;
// tokens that a step gives beyond a first one have a gap of 0.
type TokenGap struct {
	Operation Operation
	Origin    Origin
	Gap       time.Duration
	N         int
}

// Observer takes what a loop pushes. Its methods must not block, keep their argument, or allocate; they are called from the
// loop's goroutine (Step) and from any goroutine (Finish). *Model implements it.
type Observer interface {
	Step(*StepStats)
	Finish(*Record)
}
