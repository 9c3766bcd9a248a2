package cuda_test

import (
	"testing"

	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
	"github.com/paddock-go/paddock/internal/backend/ref"
	"github.com/paddock-go/paddock/internal/quant"
)

// TestNear holds the device against the definition on random models of each format.
func TestNear(t *testing.T) {
	d, _ := simulated(t, fakedriver.Options{Seed: 1}, cuda.Options{})
	backendtest.RunNear(t, ref.New(ref.Options{}), d, near(1))
}

// TestNearLaw: a prompt row by row, in chunks, beside others and on copied pages comes
// to the same.
func TestNearLaw(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes in the interpreter; TestNear has ragged batches over pages in random order")
	}
	d, _ := simulated(t, fakedriver.Options{Seed: 2}, cuda.Options{})
	n := near(1)
	n.Formats = []quant.Type{quant.F16, quant.Q4K}
	backendtest.RunNearLaw(t, d, n)
}

// TestNearLawTogether: so it does with memory laid out as it is outside of tests, all
// of a page in one piece and all activations in one allocation, and with work done at
// once.
func TestNearLawTogether(t *testing.T) {
	d, _ := faked(t, fakedriver.Options{Seed: 6, Pace: fakedriver.Early}, cuda.Options{Rubbish: cuda.Left})
	n := near(1)
	n.Formats = []quant.Type{quant.Q8_0}
	backendtest.RunNearLaw(t, d, n)
}
