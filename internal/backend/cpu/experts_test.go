package cpu_test

import (
	"fmt"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/backend/ref"
	"github.com/paddock-go/paddock/internal/quant"
)

// TestExperts holds experts and latent attention on all levels of this machine.
func TestExperts(t *testing.T) {
	var list []backend.Device
	for i, level := range kern.Supported() {
		list = append(list, cpu.New(cpu.Options{Threads: 1 + i%3, Level: &level}))
	}
	backendtest.RunExperts(t, ref.New(ref.Options{}), cpu.Poison, list...)
}

// TestLawExperts demands the same bits of experts in any company: in mixes, and
// in the formats that their files come in.
func TestLawExperts(t *testing.T) {
	d := cpu.New(cpu.Options{Threads: 2})
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			backendtest.RunLawExperts(t, d, seed, cpu.Poison)
		})
	}
	for _, typ := range []quant.Type{quant.F16, quant.MXFP4} {
		t.Run(typ.String(), func(t *testing.T) {
			backendtest.RunLawExperts(t, d, 3, cpu.Poison, typ)
		})
	}
}

// TestWarmExpertsAllocate: a warm step of experts and latent attention allocates
// nothing, however its rows are spread.
func TestWarmExpertsAllocate(t *testing.T) {
	for seed := range uint64(4) {
		m := backendtest.NewRandomExperts(seed)
		loaded, err := cpu.New(cpu.Options{Threads: 2}).Load(m.Prog, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := backendtest.NewSession(t, m.Prog, loaded, smallLimits, nil)
		var a, b backendtest.Seq
		for _, parts := range [][]backendtest.Part{
			{{Seq: &a, Tokens: m.Tokens(1), Logits: true}},
			{{Seq: &a, Tokens: m.Tokens(20), Logits: true}, {Seq: &b, Tokens: m.Tokens(40), Logits: true}},
		} {
			batch := s.Fill(parts...)
			logits := make([]float32, len(batch.Logits)*m.Prog.Vocab)
			if n := testing.AllocsPerRun(20, func() {
				if err := s.Runner().Run(batch, logits); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("seed %d, %d rows: a warm step allocates %v times", seed, len(batch.Tokens), n)
			}
		}
	}
}
