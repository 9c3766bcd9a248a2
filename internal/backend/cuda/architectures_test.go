package cuda_test

import (
	"testing"

	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
)

// TestArchitectures runs the golden models of all architectures whose formats the
// device has: in short mode, prompts of 1 and 7 tokens and the first of their
// continuations. Else TestGolden runs them, longer.
func TestArchitectures(t *testing.T) {
	if !testing.Short() {
		t.Skip("TestGolden runs them with longer prompts")
	}
	d, _ := simulated(t, fakedriver.Options{Seed: 7}, cuda.Options{})
	backendtest.RunGoldenPart(t, d, supported(t, d), 7, 1)
}
