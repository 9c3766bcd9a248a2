package metrics

// Operation is what a request asked for. Library calls have one too: messages are Chat, a prompt is TextCompletion.
type Operation uint8

// The operations.
const (
	Chat Operation = iota
	TextCompletion
	Embeddings
	Rerank
	CountTokens

	// NumOperations is the number of operations, for arrays indexed by one.
	NumOperations = int(iota)
)

// operations has the label value of each Operation and the finish reasons that its successes can have.
var operations = [NumOperations]struct {
	label    string
	finishes []FinishReason
}{
	Chat:           {"chat", []FinishReason{Stop, Length, ToolCalls, StopSequence}},
	TextCompletion: {"text_completion", []FinishReason{Stop, Length, StopSequence}},
	Embeddings:     {"embeddings", []FinishReason{Stop}},
	Rerank:         {"rerank", []FinishReason{Stop}},
	CountTokens:    {"count_tokens", []FinishReason{Stop}},
}

// String returns the value of the label gen_ai_operation_name; "_OTHER" for a value outside the list.
func (o Operation) String() string {
	if int(o) >= NumOperations {
		return other
	}
	return operations[o].label
}

// other is what a value outside a closed list reads as.
const other = "_OTHER"

// label looks v up in names, for the enums whose only fact is their label value.
func label[E ~uint8](names []string, v E) string {
	if int(v) >= len(names) {
		return other
	}
	return names[v]
}
