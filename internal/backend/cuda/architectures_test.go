package cuda_test

import (
	"testing"

	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
)

// TestArchitectures runs the golden models of all architectures whose formats the
// device has: prompts of 1, 7 and 33 tokens and the first two of their continuations;
// in short mode, prompts of 1 and 7 tokens and the first.
func TestArchitectures(t *testing.T) {
	prompt, greedy := 33, 2
	if testing.Short() {
		prompt, greedy = 7, 1
	}
	d, _ := simulated(t, fakedriver.Options{Seed: 7}, cuda.Options{})
	backendtest.RunGoldenPart(t, d, supported(t, d), prompt, greedy)
}
