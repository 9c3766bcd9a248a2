package api

import (
	"math"
	"slices"

	"github.com/paddock-go/paddock/engine"
)

// completionFields is the table of /v1/completions.
var completionFields = slices.Concat(shared, []paramField{
	{"prompt", setPrompt},
	{"logprobs", setCompletionLogprobs},
	{"best_of", setInt(1, engine.MaxChoices, func(p *params) *int { return &p.bestOf })},

	// Not served.
	{"echo", refuseUnless("false")},
	{"suffix", refuseUnless(`""`)},
})

// defaultCompletionTokens is the official API's default of max_tokens.
const defaultCompletionTokens = 16

func setCompletionLogprobs(p *params, v value) error {
	n, err := v.integer(0, engine.MaxLogprobs-1)
	p.req.Logprobs = 1 + int(n)
	return err
}

// setPrompt takes the prompt's four forms: a string, an array of one string,
// token ids, an array of one array of token ids.
func setPrompt(p *params, v value) (err error) {
	if v.string() {
		p.req.Prompt, err = v.str()
		return err
	}
	if !v.array() {
		return v.wrong("a string, an array of one string, or token ids")
	}
	first, n := value{}, 0
	if err := v.elements(func(e value) error {
		if n++; n == 1 {
			first = e
		}
		return nil
	}); err != nil || n == 0 {
		return err
	}
	if !first.string() && !first.array() {
		return setTokens(p, v)
	}
	if n > 1 {
		return invalid(v.path(), "has %d prompts; send one request for each", n)
	}
	if first.string() {
		p.req.Prompt, err = first.str()
		return err
	}
	return setTokens(p, first)
}

func setTokens(p *params, v value) error {
	p.req.Tokens = []int32{}
	return v.elements(func(e value) error {
		id, err := e.integer(0, math.MaxInt32)
		p.req.Tokens = append(p.req.Tokens, int32(id))
		return err
	})
}
