package api

import (
	"strings"

	"github.com/paddock-go/paddock/engine"
)

// usage is the token counts of a reply.
type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	PromptDetails    struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func usageOf(u engine.Usage) *usage {
	out := &usage{PromptTokens: u.PromptTokens, CompletionTokens: u.GeneratedTokens, TotalTokens: u.PromptTokens + u.GeneratedTokens}
	out.PromptDetails.CachedTokens = u.CachedTokens
	return out
}

// finishNames are the values of finish_reason; a stop string is a stop.
var finishNames = map[engine.FinishReason]string{
	engine.FinishStop: "stop", engine.FinishStopSequence: "stop", engine.FinishLength: "length",
}

// finishName is a finish_reason, nil while a choice goes on.
func finishName(f engine.FinishReason) *string {
	if s, ok := finishNames[f]; ok {
		return &s
	}
	return nil
}

// leastLogprob stands for minus infinity, which JSON lacks.
const leastLogprob = -9999

func validUTF8(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

func finite(lp float32) float32 { return max(lp, leastLogprob) }

// chatLogprob is a token of a chat reply's logprobs.
type chatLogprob struct {
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

type chatLogprobTop struct {
	chatLogprob
	Top []chatLogprob `json:"top_logprobs"`
}

type chatLogprobs struct {
	Content []chatLogprobTop `json:"content"`
	Refusal []chatLogprobTop `json:"refusal"`
}

func (h *handler) chatLogprob(id int32, lp float32) chatLogprob {
	b := h.e.TokenBytes(id)
	c := chatLogprob{Token: validUTF8(b), Logprob: finite(lp), Bytes: make([]int, len(b))}
	for i, x := range b {
		c.Bytes[i] = int(x)
	}
	return c
}

func (h *handler) chatLogprobs(t engine.Token) chatLogprobTop {
	c := chatLogprobTop{chatLogprob: h.chatLogprob(t.ID, t.Logprob), Top: make([]chatLogprob, len(t.Top))}
	for i, a := range t.Top {
		c.Top[i] = h.chatLogprob(a.ID, a.Logprob)
	}
	return c
}

// shown tells whether a token is part of the answer: a stop token is not.
func shown(t engine.Token) bool { return t.Finish != engine.FinishStop }
