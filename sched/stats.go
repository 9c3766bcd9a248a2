package sched

import "github.com/paddock-go/paddock/kvcache"

// MaxDraft is the number of draft rows of one sequence that a step takes at most.
const MaxDraft = 16

// Stats are all counters and gauges of a scheduler at one moment: a plain value. Counters only grow. At every moment
// between two calls
//
//	Admitted = Running + Waiting + the sum of Finished
type Stats struct {
	Admitted uint64             // sequences that Add accepted
	Finished [NumReasons]uint64 // sequences gone, by reason

	Running   int           // sequences in the batch
	Waiting   int           // sequences accepted and not in the batch: the sum of WaitingBy
	WaitingBy [NumWaits]int // by what they wait for

	Preemptions      uint64 // times a sequence lost its pages to others
	RecomputedTokens uint64 // rows computed again after that

	PromptTokens    uint64 // prompt tokens of requests that were started, once per request: PromptComputed + PromptPrefix
	PromptComputed  uint64 // of those, to be computed
	PromptPrefix    uint64 // of those, found in the prefix cache
	PrefixQueries   uint64 // prompt tokens that were looked up in it
	PrefixHits      uint64 // prompt tokens that were found
	GeneratedTokens uint64 // tokens appended by Commit

	Steps          uint64           // plans committed that had rows
	SlowSteps      uint64           // of those, over Limits.MaxStepTime
	Rows           uint64           // rows computed in them, rejected drafts and recomputation included
	Drafts         uint64           // spans that carried a draft
	DraftTokens    uint64           // draft rows
	AcceptedTokens uint64           // of those, kept
	AcceptedPerPos [MaxDraft]uint64 // kept, by place in the draft

	Rejected Rejections

	Pages kvcache.Stats
}

// Rejections count the requests that Add refused.
type Rejections struct {
	QueueFull     uint64 // QueueFullError
	ContextLength uint64 // ContextError
	OutOfPages    uint64 // TooLargeError
	Draining      uint64 // ErrDraining
}

// FinishedAll is the number of sequences gone for whatever reason.
func (s *Stats) FinishedAll() uint64 {
	var n uint64
	for _, f := range s.Finished {
		n += f
	}
	return n
}
