package sched

import (
	"time"

	"github.com/paddock-go/paddock/kvcache"
)

// SeqID names a sequence for its whole life. The caller chooses it; two live sequences never share one.
type SeqID uint64

// State is where a sequence is in its life.
type State uint8

// The states.
const (
	StateNew     State = iota // not added yet, or refused
	StateWaiting              // admitted by Add, not in the batch; Wait says why
	StateRunning              // in the batch
	StateEnded                // gone; Reason says why
)

var stateNames = [...]string{StateNew: "new", StateWaiting: "waiting", StateRunning: "running", StateEnded: "ended"}

// String is the state in one word.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// Sequence is one stream of tokens that the scheduler serves: a request's prompt and one of its choices. The caller
// fills the exported fields, hands it to Add, and from then until it has ended changes nothing but Draft. It belongs to
// the scheduler's goroutine.
type Sequence struct {
	ID SeqID
	// Tokens are the known tokens: the prompt, then what Commit appends. Room for what will be generated keeps Commit
	// from allocating.
	Tokens []int32
	// PromptLen is set by Add to the number of tokens that came with it.
	PromptLen int
	// MaxTokens is the number of tokens to generate at most. 0: as many as context and pool allow (see Limit).
	MaxTokens int
	// Pooled sequences generate nothing: they end with the outcome of their last prompt token, which has no tokens.
	// MaxTokens is 0 then, and there are no Forks.
	Pooled bool
	// Atomic sequences can't be cut: all of their tokens are rows of one step, of which they may be the first that goes
	// beyond what the time target allows. What they compute is of no use to others, nor that of others to them. They are
	// Pooled.
	Atomic bool
	// Priority decides first who is served: higher before lower.
	Priority int
	// Tenant shares the machine fairly with other tenants of the same priority. Empty is a tenant, too.
	Tenant string
	// Adapter and Scope wall the prefix cache off: only sequences with both equal find each other's pages.
	Adapter, Scope string
	// NoPrefix computes the whole prompt although parts of it may be cached (logprobs of the prompt need every row).
	// Others still find what it computed.
	NoPrefix bool
	// Arrival is when the request came in, on the clock of the now that the scheduler's methods take. Earlier ones are
	// served first.
	Arrival time.Duration
	// Forks are the further choices of the same request, n − 1 of them. Only ID and room in Tokens are theirs to set,
	// Add copies the rest from this sequence. They start when the prompt is computed and share its pages. From then on
	// each goes its own way and Forks is empty; one that ends before leaves the list at once.
	Forks []*Sequence
	// Draft is what the caller guesses to come next, set before Next and unchanged until Commit, which empties it. Next
	// takes as much of its beginning as budget, pages and limits allow.
	Draft []int32

	leader    *Sequence // while it is a choice that has not started: in whose Forks it is
	seed      kvcache.Hash
	state     State
	reason    Reason
	place     place
	back      place // where a waiter for a prefix came from and goes back to
	tenant    *tenant
	table     kvcache.Table
	chain     []kvcache.Hash // of the known tokens' full pages, as far as a lookup needed them
	computed  int            // tokens whose keys and values are in the table's pages
	high      int            // the most that computed ever was: below it, work is repetition
	charged   int            // tokens that the tenant has paid for
	tally     Tally
	cached    int    // prefix hit at first admission
	limit     int    // tokens to generate at most
	reserve   int    // pages set aside for this sequence's part in a shared tail
	turn      uint64 // round of the tenants' queue in which it was first admitted; 0: not yet
	scheduled time.Duration
	best      rank  // own rank or the best of those who wait for it
	rows      int   // rows in the step being planned
	drafts    int   // of those, rows of Draft
	outcome   int32 // place in Commit's list, plus one
	parked    bool  // the caller parked it
	stamped   bool  // parkedAt is set
	parkedAt  time.Duration
	waitPage  kvcache.PageID // what a waiter waits for
	waitOwner *Sequence
	waitHash  kvcache.Hash
}

// State is where the sequence is in its life.
func (q *Sequence) State() State { return q.state }

// Reason is why it ended; ReasonNone while it has not.
func (q *Sequence) Reason() Reason { return q.reason }

// Wait is why it waits; WaitNone unless State is StateWaiting.
func (q *Sequence) Wait() Wait { return q.wait() }

// Computed is the number of tokens whose keys and values are in the pages of Table.
func (q *Sequence) Computed() int { return q.computed }

// Cached is the number of prompt tokens that the prefix cache held when the sequence was first admitted. It never
// changes afterwards. The choices of one request share one prompt and all report its number.
func (q *Sequence) Cached() int { return q.cached }

// Table is the list of the sequence's pages. The slice is valid until the next call of a method of the scheduler.
func (q *Sequence) Table() []kvcache.PageID { return q.table.Pages() }

// Generated is the number of tokens that Commit appended.
func (q *Sequence) Generated() int { return len(q.Tokens) - q.PromptLen }

// Limit is the number of tokens to generate at most, fixed by Add: MaxTokens, or what context and pool allow. Commit
// ends a sequence that reached it as ReasonLength if the caller does not.
func (q *Sequence) Limit() int { return q.limit }

// FirstScheduled is when the sequence was first in a plan, and whether it was. Preemption does not move it.
func (q *Sequence) FirstScheduled() (time.Duration, bool) { return q.scheduled, q.turn != 0 }

// known is the number of known tokens.
func (q *Sequence) known() int { return len(q.Tokens) }

// due is the number of known tokens that are not computed yet.
func (q *Sequence) due() int { return len(q.Tokens) - q.computed }

// weight is the number of sequences that this one stands for in the books: itself and the choices that start with it.
func (q *Sequence) weight() int { return 1 + len(q.Forks) }
