package sample

import (
	"fmt"
	"math"
)

// leastTemperature is the lowest at which a device's rest is believed: it divides in
// float32, where the inverse of less, or a quotient, may be infinite.
const leastTemperature = 1e-30

// Likeliest is what a device says of a row of logits that it keeps: the likeliest
// tokens, and about what all others weigh at the sampler's temperature.
type Likeliest struct {
	Vocab  int       // of the row
	NaN    int32     // the first token whose logit is NaN; −1: none
	Logits []float32 // of tokens above −∞: the largest of the row, descending, ids ascending among equals
	Tokens []int32
	Rest   float64 // Σ e^((logit − Logits[0]) ÷ temperature) of the other tokens above −∞; 0: there are none
	Error  float64 // of Rest, at most, as a part of what it should be
}

// Temperature is what the sampler divides logits by. Safe for concurrent use.
func (s *Sampler) Temperature() float32 { return s.p.Temperature }

// Plain tells whether the generated-th token of the choice, and all after it, are drawn
// from logits as they are: no bias, penalty or minimum length changes them.
func (s *Sampler) Plain(generated int) bool {
	return len(s.p.Bias) == 0 && s.output == nil && !s.masks(generated)
}

// masks tells whether the minimum length excludes tokens.
func (s *Sampler) masks(generated int) bool {
	return generated < s.p.MinTokens && len(s.p.Ends) > 0
}

// NextOf is Next for a row of which only the likeliest tokens are known, where the
// sampler is Plain. decided tells whether they say what Next would; if not, Next has to
// see the row. It allocates nothing but for an error.
func (s *Sampler) NextOf(l Likeliest, pos int, sc *Scratch) (id int32, decided bool, err error) {
	switch {
	case l.NaN >= 0:
		return 0, false, fmt.Errorf("%w (token %d of %d at position %d)", ErrNaN, l.NaN, l.Vocab, pos)
	case len(l.Logits) == 0:
		return 0, false, ErrNoToken
	case s.p.Temperature == 0, math.IsInf(float64(l.Logits[0]), 1):
		return l.Tokens[0], true, nil
	case l.Rest != l.Rest, s.p.Temperature < leastTemperature:
		return 0, false, nil
	}
	e := sc.a[:len(l.Logits)]
	for i, x := range l.Logits {
		e[i] = entry{descending(x), l.Tokens[i]}
	}
	lo, hi := l.Rest/(1+l.Error), l.Rest/(1-l.Error)
	if s.p.TopK > 0 || s.p.MinP > 0 { // part of the rest may be left out
		lo = 0
	}
	id, decided = s.decide(e, float64(l.Logits[0]), lo, hi, uniform(s.p.Seed, s.p.Choice, pos), sc)
	return id, decided, nil
}
