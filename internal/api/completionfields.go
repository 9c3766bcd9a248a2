package api

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/paddock-go/paddock/engine"
)

// completionFields is the table of /v1/completions.
var completionFields = slices.Concat(shared, []paramField{
	{"prompt", setPrompt},
	{"logprobs", setCompletionLogprobs},
	{"best_of", func(p *params, v value) (err error) { p.bestOf, err = v.integer(1, engine.MaxChoices); return }},
	{"echo", refuseUnless(notServed, "false")},
	{"suffix", refuseUnless(notServed, `""`)},
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
func setPrompt(p *params, v value) error {
	switch v.raw[0] {
	case '"':
		s, err := v.str()
		p.req.Prompt = s
		return err
	case '[':
		return array(v.raw, func(i int, raw json.RawMessage) error {
			inner := value{fmt.Sprintf("%s[%d]", v.name, i), raw}
			if i > 0 && p.req.Tokens == nil || i > 0 && (raw[0] == '[' || raw[0] == '"') {
				return invalid(v.name, "has several prompts; send one request for each")
			}
			switch raw[0] {
			case '"':
				return setPrompt(p, inner)
			case '[':
				p.req.Tokens = []int32{}
				return array(raw, func(j int, raw json.RawMessage) error {
					return appendToken(p, value{fmt.Sprintf("%s[%d]", inner.name, j), raw})
				})
			}
			return appendToken(p, inner)
		})
	}
	return v.wrong("a string, an array of one string, or token ids")
}

func appendToken(p *params, v value) error {
	id, err := v.integer(0, math.MaxInt32)
	p.req.Tokens = append(p.req.Tokens, int32(id))
	return err
}
