package sample

import (
	"math"

	"github.com/paddock-go/paddock/internal/num"
)

// Logprobs gives the natural log probability of a token under the model's own
// distribution, before bias, penalties and temperature, and the len(top) likeliest
// tokens with theirs (logit descending, id ascending). Sums run over ids in
// order. It allocates nothing.
func Logprobs(logits []float32, token int32, top []Alternative) float32 {
	z := logSumExp(logits)
	for n := range top {
		top[n] = Alternative{Token: -1, Logprob: float32(math.Inf(-1))}
	}
	filled := 0
	for i, x := range logits {
		lp := float32(float64(x) - z)
		if len(top) == 0 || filled == len(top) && lp <= top[filled-1].Logprob {
			continue
		}
		if filled < len(top) {
			filled++
		}
		at := filled - 1
		for at > 0 && top[at-1].Logprob < lp {
			top[at] = top[at-1]
			at--
		}
		top[at] = Alternative{int32(i), lp}
	}
	return float32(float64(logits[token]) - z)
}

// logSumExp is log Σ exp(x), stable, in float64 and in the order of the ids.
func logSumExp(logits []float32) float64 {
	top := math.Inf(-1)
	for _, x := range logits {
		top = max(top, float64(x))
	}
	if math.IsInf(top, 0) {
		return top
	}
	sum := 0.0
	for _, x := range logits {
		sum += num.Exp64(float64(x) - top)
	}
	return top + num.Log64(sum)
}
