package cpu_test

import (
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/prog"
)

// TestWarmEmbedAllocates is TestWarmRunAllocates for an encoder, and for a model
// with a convolution and running sums.
func TestWarmEmbedAllocates(t *testing.T) {
	has := func(m *backendtest.Random, want func(prog.Op) bool) bool {
		return slices.ContainsFunc(m.Prog.Ops, want)
	}
	summed := func(o prog.Op) bool { p, ok := o.(prog.Pool); return ok && p.KV >= 0 }
	convolved := func(o prog.Op) bool { _, ok := o.(prog.ShortConv); return ok }
	running := backendtest.NewRandom(0)
	for seed := uint64(1); !has(running, summed) || !has(running, convolved); seed++ {
		running = backendtest.NewRandom(seed)
	}
	for _, m := range []*backendtest.Random{backendtest.NewRandomEncoder(1), running} {
		loaded, err := cpu.New(cpu.Options{Threads: 2}).Load(m.Prog, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := backendtest.NewSession(t, m.Prog, loaded, smallLimits, nil)
		batch := s.Fill(backendtest.Part{Seq: &backendtest.Seq{}, Tokens: m.Tokens(20), Logits: true}, backendtest.Part{Seq: &backendtest.Seq{}, Tokens: m.Tokens(40), Logits: true})
		out := make([]float32, len(batch.Logits)*m.Prog.OutWidth())
		if n := testing.AllocsPerRun(20, func() {
			if err := s.Runner().Run(batch, out); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: a warm step allocates %v times", m.Prog.Arch, n)
		}
	}
}
