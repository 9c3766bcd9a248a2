package sched

// Reason says why a sequence ended.
type Reason uint8

// The reasons. ReasonNone means that the sequence goes on.
const (
	ReasonNone         Reason = iota
	ReasonStop                // the model ended its turn, or a stop token was sampled
	ReasonLength              // the limit of tokens to generate was reached
	ReasonStopSequence        // a stop string appeared
	ReasonToolCalls           // the model asked for tools
	ReasonAbort               // the caller cancelled
	ReasonDisconnect          // nobody read the stream for Limits.StallTimeout
	ReasonDeadline            // the caller's deadline passed
	ReasonDraining            // still here when draining had to end
	ReasonError               // something failed while serving it
	NumReasons                // how many there are, for arrays indexed by Reason
)

var reasonNames = [NumReasons]string{
	ReasonNone:         "none",
	ReasonStop:         "stop",
	ReasonLength:       "length",
	ReasonStopSequence: "stop_sequence",
	ReasonToolCalls:    "tool_calls",
	ReasonAbort:        "abort",
	ReasonDisconnect:   "disconnect",
	ReasonDeadline:     "deadline",
	ReasonDraining:     "draining",
	ReasonError:        "error",
}

// String is the reason in the spelling of the metrics.
func (r Reason) String() string {
	if r < NumReasons {
		return reasonNames[r]
	}
	return "unknown"
}

// Success reports whether a sequence that ended so did what was asked of it.
func (r Reason) Success() bool { return r >= ReasonStop && r <= ReasonToolCalls }

// Wait says why an admitted sequence is not in the batch.
type Wait uint8

// The reasons to wait.
const (
	WaitNone      Wait = iota // it is in the batch
	WaitCapacity              // no place in the batch, no page or no budget yet
	WaitPreempted             // lost its pages to others and has to come back
	WaitPrefix                // another computes the beginning of the same prompt, or the prompt of the same group
	WaitRestoring             // pages come back from a tier; this scheduler has none
	WaitGrammar               // a grammar is being compiled; counted by whoever compiles it, before Add
	WaitParked                // nobody reads its stream
	NumWaits                  // how many there are, for arrays indexed by Wait
)

var waitNames = [NumWaits]string{
	WaitNone:      "none",
	WaitCapacity:  "capacity",
	WaitPreempted: "preempted",
	WaitPrefix:    "prefix",
	WaitRestoring: "restoring",
	WaitGrammar:   "grammar",
	WaitParked:    "parked",
}

// String is the reason in the spelling of the metrics.
func (w Wait) String() string {
	if w < NumWaits {
		return waitNames[w]
	}
	return "unknown"
}
