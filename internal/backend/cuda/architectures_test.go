package cuda_test

import (
	"testing"

	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
)

// TestArchitectures runs the golden models of all architectures whose formats the
// device has: prompts of 1, 7 and 33 tokens and the first of their continuations, in
// short mode those of 1 and 7.
func TestArchitectures(t *testing.T) {
	d, _ := simulated(t, fakedriver.Options{Seed: 7}, cuda.Options{})
	prompt := 33
	if testing.Short() {
		prompt = 7
	}
	backendtest.RunGoldenPart(t, d, supported(t, d), prompt, 1)
}

// TestEmbeddings runs the golden models that embed: encoders, whose rows look both ways,
// and a decoder.
func TestEmbeddings(t *testing.T) {
	if testing.Short() {
		t.Skip("ten seconds in the interpreter")
	}
	d, _ := simulated(t, fakedriver.Options{Seed: 8}, cuda.Options{})
	backendtest.RunEmbeddings(t, d)
}
