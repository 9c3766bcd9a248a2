package engine

import (
	"encoding/json"

	"github.com/paddock-go/paddock/metrics"
)

// Sampling says how tokens are drawn. The zero value is greedy.
type Sampling struct {
	Temperature float32 // 0: greedy, always the likeliest token
	TopK        int     // keep the K likeliest; 0: all
	TopP        float32 // keep the smallest set that reaches this probability; 0 or 1: all
	MinP        float32 // keep tokens at least this share of the likeliest one's probability; 0: all

	RepetitionPenalty float32 // divides (or multiplies, below zero) the logits of tokens in prompt and output; 0 or 1: none
	PresencePenalty   float32 // taken from the logits of tokens in the output
	FrequencyPenalty  float32 // the same, for each time they occur

	LogitBias map[int32]float32 // added to the logits of these tokens

	// Seed makes the draws repeatable: the same request with the same seed gives
	// the same tokens. Nil: one is drawn at Submit and reported in Usage.Seed.
	Seed *int64
}

// Request is what to generate from, and how. Its zero value but for a prompt is
// greedy, until the model ends its text or the context is full.
type Request struct {
	// One of these three: text, tokens as they stand, or a conversation that the
	// model's own chat template turns into text.
	Prompt   string
	Tokens   []int32
	Messages []Message

	Tools        json.RawMessage // JSON array of tools for the template; nil: none
	TemplateArgs json.RawMessage // JSON object of further variables for the template (enable_thinking, …)

	Sampling
	MaxTokens int // most tokens to generate; 0: as many as context and KV pages allow
	MinTokens int // no end of text and no stop string before so many tokens
	N         int // choices, which share the prompt's KV pages; 0: 1

	// Logprobs is how many log probabilities a token carries: 0 none, 1 its own,
	// 1+k its own and those of the k likeliest tokens.
	Logprobs int

	// ShowTokens are control tokens, by their text in the vocabulary, that are part of
	// the answer's text, where others are left out: the markers of tool calls, say.
	// Stop strings don't see them. Texts that are no control token have no effect.
	ShowTokens []string

	Stop       []string // text that ends a choice; it is not part of the answer
	StopTokens []int32  // tokens that end a choice, beside the model's own
	IgnoreEOS  bool     // go on past the model's own end tokens

	Priority   int    // higher is served first
	Tenant     string // requests of different tenants share the machine fairly; never a metric label
	CacheScope string // only requests of one scope share cached prefixes
	Origin     metrics.Origin
}

// Most of these a request may ask for.
const (
	MaxChoices     = 128
	MaxLogprobs    = 1 + 20
	MaxStops       = 16
	MaxStopBytes   = 1024 // of one stop string
	MaxLogitBias   = 1024
	MaxStopTokens  = 1024
	maxPenalty     = 1000
	maxTemperature = 1000
)

// FinishReason says why a choice ended.
type FinishReason = metrics.FinishReason

// Why a choice ended.
const (
	FinishNone         = metrics.NoFinish // it goes on
	FinishStop         = metrics.Stop
	FinishLength       = metrics.Length
	FinishStopSequence = metrics.StopSequence
)

// TokenLogprob is a token with its natural log probability.
type TokenLogprob struct {
	ID      int32
	Logprob float32
}

// Token is one generated token.
type Token struct {
	ID     int32
	Choice int // 0..N-1

	// Text is what can be shown now. It may be empty (a token inside a multi-byte
	// character, or text held back because a stop string may be starting) and then
	// comes with a later token.
	Text string

	Logprob float32        // natural log, of the model's own distribution; only where asked for
	Top     []TokenLogprob // the likeliest tokens, likeliest first; only where asked for

	Finish FinishReason // on the last token of a choice
}

// Usage counts a request's tokens.
type Usage struct {
	PromptTokens    int
	CachedTokens    int   // of the prompt, not computed again
	GeneratedTokens int   // over all choices; a sampled stop token and cut-off text count
	Seed            int64 // of the draws, given or drawn
}

// Answer is one finished choice.
type Answer struct {
	Text   string
	Tokens []Token
	Finish FinishReason
}

// Result is a finished request.
type Result struct {
	Text    string // of the first choice
	Finish  FinishReason
	Choices []Answer
	Usage   Usage
}
