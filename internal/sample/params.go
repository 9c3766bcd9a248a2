// Package sample turns a row of logits into a token.
//
// It is pure: a draw is a function of the logits, the parameters, the tokens so
// far and (seed, choice, position), so the same request draws the same tokens
// however it was batched, preempted or speculated on. Orders are total (logit
// descending, id ascending) and sums run in that order in float64.
package sample

// Bias is an amount added to one token's logit.
type Bias struct {
	Token  int32
	Amount float32
}

// Params says how one choice is sampled. The zero value is greedy.
type Params struct {
	Temperature float32 // 0: greedy
	TopK        int     // keep the K largest; 0: all
	TopP        float32 // keep the smallest set whose probability reaches this; 0 or 1: all
	MinP        float32 // keep tokens at least this share of the likeliest; 0: all

	Repetition float32 // divides positive, multiplies negative logits of tokens seen in prompt and output; 0 or 1: none
	Presence   float32 // subtracted once from tokens in the output
	Frequency  float32 // subtracted per occurrence in the output
	Bias       []Bias

	MinTokens int     // until so many tokens are generated, those of Ends can't be drawn
	Ends      []int32 // tokens that would end the choice

	Logprobs int    // -1: none; else the chosen token's, and this many alternatives
	Seed     uint64 // of the request
	Choice   int    // index of the choice
}

// penalised tells whether the history of tokens matters.
func (p *Params) penalised() bool {
	return p.repeats() || p.Presence != 0 || p.Frequency != 0
}

func (p *Params) repeats() bool { return p.Repetition != 0 && p.Repetition != 1 }
