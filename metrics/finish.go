package metrics

// FinishReason is how a successful request ended. NoFinish is for a request that generates nothing by nature (embeddings,
// counting tokens) or that failed; a success with NoFinish counts as Stop.
type FinishReason uint8

// The finish reasons.
const (
	NoFinish     FinishReason = iota
	Stop                      // the model ended its text, or a stop token came
	Length                    // MaxTokens or the context was reached
	ToolCalls                 // the model called tools
	StopSequence              // a stop string of the request came

	numFinishReasons = int(iota)
)

var finishReasons = [numFinishReasons]string{"", "stop", "length", "tool_calls", "stop_sequence"}

// String returns the value of the label finish_reason; "" for NoFinish.
func (f FinishReason) String() string { return label(finishReasons[:], f) }
