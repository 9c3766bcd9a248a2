package synth

import (
	"bytes"
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model"
)

// TestDense makes the dense shapes, cut to two layers, and holds them against the
// model's lowering; whole they have about 100 million values.
func TestDense(t *testing.T) {
	for _, s := range slices.Concat(denseShapes, encoderShapes) {
		if n := s.params() / 1e6; n < 80 || n > 125 {
			t.Errorf("%s has %d million values", s.name, n)
		}
		s.layers, s.vocab = 2, 512
		for _, typ := range []string{"Q8_0", "Q4_K_M"} {
			m, err := findMix(typ)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := write(&b, s, m, 7); err != nil {
				t.Fatal(err)
			}
			f, err := gguf.Parse(b.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			lowered, err := model.Lower(f, model.Options{})
			if err != nil {
				t.Errorf("%s:%s: %v", s.name, typ, err)
			} else if lowered.Spec.Arch != s.arch {
				t.Errorf("%s:%s: lowered to %+v", s.name, typ, lowered.Spec)
			}
		}
	}
}
