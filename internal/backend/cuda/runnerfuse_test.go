package cuda_test

import (
	"math"
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
	"github.com/paddock-go/paddock/internal/quant"
)

// TestFusedChangesNoBit runs random programs of each format with roundings in the kernels
// before them, and with launches of their own: prompts of several lengths in one step,
// a prompt in two parts, steps of one row and of several, as graphs and not.
func TestFusedChangesNoBit(t *testing.T) {
	kinds := map[string]func(seed uint64, formats ...quant.Type) *backendtest.Random{
		"decoder": backendtest.NewRandom, "experts": backendtest.NewRandomExperts, "encoder": backendtest.NewRandomEncoder,
	}
	for kind, random := range kinds {
		for i, format := range formats {
			f, _ := quant.Lookup(format)
			rounds := f.Act == quant.ActQ8x32 || f.Act == quant.ActQ8x256
			if kind != "decoder" && !rounds {
				continue // what is never fused is looked at once
			}
			if testing.Short() && format != quant.Q8_0 && (kind != "decoder" || format != quant.Q4K) {
				continue
			}
			t.Run(kind+" "+format.String(), func(t *testing.T) {
				seeds := 2
				if testing.Short() {
					seeds = 1
				}
				for seed := uint64(100 * i); seeds > 0; seed++ {
					var rows [2][][]float32
					var launched [2]int64
					taken := true
					for i, unfused := range []bool{false, true} {
						d, fake := simulated(t, fakedriver.Options{Seed: seed}, cuda.Options{Unfused: unfused, NoGraphs: true})
						m := random(seed, format)
						if _, err := d.Plan(m.Prog, m); refused(err) {
							taken = false
							break
						}
						s := backendtest.NewSession(t, m.Prog, load(t, d, m), limits(backend.KVF16), nil)
						fake.ResetCalls()
						rows[i] = variousSteps(s, m)
						launched[i] = fake.Calls()["cuLaunchKernel"]
					}
					if !taken {
						continue
					}
					seeds--
					if !slices.EqualFunc(rows[0], rows[1], sameBits) {
						t.Errorf("seed %d: fused the logits are others", seed)
					}
					saved := launched[1] - launched[0]
					t.Logf("seed %d: %d launches, %d fewer than unfused", seed, launched[0], saved)
					if rounds != (saved > 0) || saved < 0 {
						t.Errorf("seed %d: %d launches fused, %d unfused", seed, launched[0], launched[1])
					}
				}
			})
		}
	}
}

// variousSteps are the outputs of some steps.
func variousSteps(s *backendtest.Session, m *backendtest.Random) (rows [][]float32) {
	var a, b, c backendtest.Seq
	tokens := func(n int) []int32 {
		list := make([]int32, n)
		for i := range list {
			list[i] = int32((7*i + n) % m.Prog.Vocab)
		}
		return list
	}
	step := func(parts ...backendtest.Part) { rows = append(rows, s.Step(parts...)...) }
	if m.Prog.Atomic {
		step(backendtest.Part{Seq: &a, Tokens: tokens(9), Logits: true}, backendtest.Part{Seq: &b, Tokens: tokens(2), Logits: true})
		step(backendtest.Part{Seq: &c, Tokens: tokens(1), Logits: true})
		return rows
	}
	step(backendtest.Part{Seq: &a, Tokens: tokens(11), Logits: true}, backendtest.Part{Seq: &b, Tokens: tokens(6)}, backendtest.Part{Seq: &c, Tokens: tokens(3), Logits: true})
	step(backendtest.Part{Seq: &b, Tokens: tokens(2), Logits: true})
	step(backendtest.Part{Seq: &a, Tokens: tokens(1), Logits: true})
	step(backendtest.Part{Seq: &a, Tokens: tokens(1), Logits: true}, backendtest.Part{Seq: &b, Tokens: tokens(1), Logits: true}, backendtest.Part{Seq: &c, Tokens: tokens(1), Logits: true})
	return rows
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
