package synth

import (
	"bytes"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/quant"
)

// TestExperts makes the shapes with experts, cut to two layers, and holds them
// against the model's lowering; whole they have about 100 million values.
func TestExperts(t *testing.T) {
	for _, s := range expertShapes {
		if n := s.params() / 1e6; n < 70 || n > 130 {
			t.Errorf("%s has %d million values", s.name, n)
		}
		s.layers, s.vocab = 2, 512
		for typ, want := range map[string]quant.Type{"Q8_0": quant.Q8_0, "Q4_K_M": quant.Q4K, "MXFP4_MOE": quant.MXFP4} {
			if s.moe.mxfp4 {
				want = quant.MXFP4
			}
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
			if _, err := model.Lower(f, model.Options{}); err != nil {
				t.Errorf("%s:%s: %v", s.name, typ, err)
				continue
			}
			gate, _ := f.Tensor("blk.1.ffn_gate_exps.weight")
			router, _ := f.Tensor("blk.1.ffn_gate_inp.weight")
			if quant.Type(gate.Type) != want || quant.Type(router.Type) != quant.F32 {
				t.Errorf("%s:%s has experts of %v and a router of %v", s.name, typ, quant.Type(gate.Type), quant.Type(router.Type))
			}
		}
	}
}
