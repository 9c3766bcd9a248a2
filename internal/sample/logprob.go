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
	most, _, nan := largest(logits)
	if !nan && !math.IsInf(float64(most), 0) {
		low, high := bounds(logits, most)
		if lp, ok := logprobs(logits, token, top, low, high); ok {
			return lp
		}
	}
	z := logSumExp(logits)
	lp, _ := logprobs(logits, token, top, z, z)
	return lp
}

// logprobs is Logprobs for a log of the sum that lies between two bounds; ok tells
// whether all that is between them rounds to the same float32 everywhere.
func logprobs(logits []float32, token int32, top []Alternative, low, high float64) (lp float32, ok bool) {
	for n := range top {
		top[n] = Alternative{Token: -1, Logprob: float32(math.Inf(-1))}
	}
	filled, least := 0, float32(math.Inf(-1)) // the logit of the last alternative, when all are filled
	for i, x := range logits {
		if len(top) == 0 {
			break
		}
		if filled == len(top) && x <= least {
			continue
		}
		lp := float32(float64(x) - low)
		if lp != float32(float64(x)-high) {
			return 0, false
		}
		if filled < len(top) {
			filled++
		}
		at := filled - 1
		for at > 0 && logits[top[at-1].Token] < x { // not their float32 logs, of which two may be equal
			top[at] = top[at-1]
			at--
		}
		top[at] = Alternative{int32(i), lp}
		if filled == len(top) {
			least = logits[top[filled-1].Token]
		}
	}
	lp = float32(float64(logits[token]) - low)
	return lp, lp == float32(float64(logits[token])-high)
}

// bounds are what logSumExp lies between, for a finite largest logit. The terms are
// added in four sums, and each is off by 2e-13 of itself at most.
func bounds(logits []float32, top float32) (low, high float64) {
	var s [4]float64
	t, n := float64(top), len(logits)
	for ; len(logits) >= 4; logits = logits[4:] {
		s[0] += quickExp(float64(logits[0]) - t)
		s[1] += quickExp(float64(logits[1]) - t)
		s[2] += quickExp(float64(logits[2]) - t)
		s[3] += quickExp(float64(logits[3]) - t)
	}
	for _, x := range logits {
		s[0] += quickExp(float64(x) - t)
	}
	sum := s[0] + s[1] + s[2] + s[3]
	// Of the sum, a rounding for each of the definition's additions and the error of
	// the terms here; z has a few more.
	z := t + num.Log64(sum)
	e := float64(n)*0x1p-53 + 5e-13 + 0x1p-50*math.Abs(z)
	return z - e, z + e
}

// quickExp is e^x for x ≤ 0, to a relative 1e-13, and 0 where that is below 1e-130:
// 2^(n/64) from a table, and four terms for the rest.
func quickExp(x float64) float64 {
	if x < -300 {
		return 0
	}
	const magic = 3 << 51
	t := x*(64/math.Ln2) + magic // an integer in the low bits
	n := int64(math.Float64bits(t)) - int64(math.Float64bits(magic))
	r := x - (t-magic)*(math.Ln2/64)
	p := 1 + r*(1+r*(1./2+r*(1./6+r*(1./24+r*(1./120)))))
	return p * math.Float64frombits(uint64(n>>6+1023)<<52) * powers[n&63]
}

// powers are 2^(i/64).
var powers = func() (p [64]float64) {
	for i := range p {
		p[i] = num.Exp64(float64(i) * (math.Ln2 / 64))
	}
	return p
}()

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
