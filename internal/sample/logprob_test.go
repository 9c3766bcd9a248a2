package sample

import (
	"math"
	"testing"
)

// TestAlternativesOfCloseLogits: two logits whose logs of probability are one float32
// stand in the order of the logits, so that the first is what greedy sampling takes.
func TestAlternativesOfCloseLogits(t *testing.T) {
	row := make([]float32, 100_000)
	row[3], row[9] = 0.1, math.Nextafter32(0.1, 1)
	top := make([]Alternative, 2)
	Logprobs(row, 9, top)
	if top[0].Token != 9 || top[1].Token != 3 || top[0].Logprob != top[1].Logprob {
		t.Errorf("alternatives %v, want 9 and then 3 with equal logs", top)
	}
}
