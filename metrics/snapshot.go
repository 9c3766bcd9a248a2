package metrics

// Source hands out an engine's counters and gauges. Snapshot fills every field of s from one consistent state, renewed at
// every step and on submit, cancel, drain and idle, before the token, finish or last byte that it tells of is handed out. It
// must not block: it is called once a scrape, from the scrape's goroutine, at the same time as the loop runs, until
// Model.Close has returned.
type Source interface {
	Snapshot(s *Snapshot)
}

// Snapshot is all counters and gauges of one engine, plain values, copied together. Counters never go down. Sequences are
// counted, not requests, except where a field says so: n = 3 counts 3. CheckBooks states how the fields hang together.
type Snapshot struct {
	// Sequences that the scheduler took, is holding, and let go.
	Admitted uint64
	Finished [NumEndReasons]uint64
	Running  int                 // in the batch
	Waiting  [NumWaitReasons]int // admitted and not in the batch, by what they wait for

	// Tokens by the labels of their requests. Prompt and cached: of started requests, once per request, when it is first
	// scheduled. Generated: as they happen, kept ones only.
	Prompt    TokenCounts
	Cached    TokenCounts
	Generated TokenCounts

	// The same prompt tokens by where they came from, and what the prefix index was asked and found. Once per request, when it
	// is first scheduled; recomputation after preemption and warm-up never count.
	PromptFrom    [NumPromptSources]uint64
	PrefixQueries uint64 // tokens looked up
	PrefixHits    uint64 // tokens found

	// Requests that the scheduler refused.
	Rejected [NumRejectReasons]uint64

	Preemptions  uint64 // of sequences
	Recomputed   uint64 // tokens computed again after a preemption
	PagesEvicted uint64 // cached pages given up to make room

	// KV pages. Used: referenced by live sequences, each once. Cached: the part of Free that a prefix hit could revive.
	PagesUsed, PagesFree, PagesCached, PagesTotal int

	PageSize int // tokens in a page
	KVType   KVType
	Memory   [NumMemoryKinds]int64 // bytes held

	MaxContext int // tokens of the longest sequence that the engine takes; 0: it doesn't say

	Spec SpecCounts

	// Estimates of the work in the batches scheduled so far; left out of the page while Estimated is false. As floats, since a
	// device of a petaflop a second fills 64 bits within hours.
	Estimated                    bool
	Flops, ReadBytes, WriteBytes float64

	Residency bool // KV pages are sampled: StepStats.Residency tells of them
}

// TokenCounts counts tokens for each operation and origin.
type TokenCounts [NumOperations][NumOrigins]uint64

// Sum adds all of c.
func (c *TokenCounts) Sum() uint64 {
	var n uint64
	for _, row := range c {
		for _, v := range row {
			n += v
		}
	}
	return n
}

// MaxDraft is the largest number of draft positions that are counted apart.
const MaxDraft = 16

// SpecCounts is what speculation did; all zero with speculation off.
type SpecCounts struct {
	Drafts         uint64           // verify steps with a draft
	DraftTokens    uint64           // proposed
	AcceptedTokens uint64           // accepted
	AcceptedAt     [MaxDraft]uint64 // accepted, by position in the draft; a position beyond the last counts under the last
	Positions      int              // positions in use, at most MaxDraft: so many series exist
}

// WaitingTotal is the number of waiting sequences, whatever they wait for.
func (s *Snapshot) WaitingTotal() int {
	n := 0
	for _, w := range s.Waiting {
		n += w
	}
	return n
}

// FinishedTotal is the number of sequences that have left the scheduler, for whatever reason.
func (s *Snapshot) FinishedTotal() uint64 {
	var n uint64
	for _, f := range s.Finished {
		n += f
	}
	return n
}

// PagesUsage is the share of the pages that live sequences hold, from 0 to 1; 0 for an engine without pages.
func (s *Snapshot) PagesUsage() float64 {
	if s.PagesTotal <= 0 {
		return 0
	}
	return float64(s.PagesUsed) / float64(s.PagesTotal)
}
