package ref_test

import (
	"testing"

	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/ref"
)

func TestGolden(t *testing.T) {
	backendtest.RunGoldenBrief(t, ref.New(ref.Options{}), backendtest.Goldens(t))
}

// TestGoldenWeights holds the lowering and the decoders, apart from any
// rounding of activations.
func TestGoldenWeights(t *testing.T) {
	backendtest.RunGoldenBrief(t, ref.New(ref.Options{F32: true}), backendtest.Weights)
}

func TestEmbeddings(t *testing.T) { backendtest.RunEmbeddings(t, ref.New(ref.Options{})) }

func TestStory(t *testing.T) { backendtest.RunStory(t, ref.New(ref.Options{})) }
