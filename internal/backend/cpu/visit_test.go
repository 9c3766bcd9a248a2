package cpu_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/quant"
)

// TestSpansApart: where long sequences are attended to span by span, by several
// workers, the bits are those of one worker, which does not cut them, and a warm step
// allocates nothing.
func TestSpansApart(t *testing.T) {
	l := backend.Limits{Rows: 400, Seqs: 3, LogitRows: 3, Pages: 200, PageSize: 16, Context: 1700}
	apart := 0
	for seed := range uint64(6) {
		m := backendtest.NewRandom(300+seed, quant.Q8_0, quant.F16)
		if seed > 3 {
			m = backendtest.NewRandomExperts(300+seed, quant.Q8_0) // latents among them
		}
		l.KVType = m.KV
		prompt, next := m.Tokens(1100), m.Tokens(3)
		short := m.Tokens(40)
		run := func(threads int) (rows [][]float32) {
			loaded, err := cpu.New(cpu.Options{Threads: threads}).Load(m.Prog, m, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := backendtest.NewSession(t, m.Prog, loaded, l, nil)
			cpu.Poison(s.Runner())
			var long, other backendtest.Seq
			for part := range slices.Chunk(prompt, 370) {
				rows = append(rows, s.Step(backendtest.Part{Seq: &long, Tokens: part, Logits: true})...)
			}
			rows = append(rows, s.Step(backendtest.Part{Seq: &other, Tokens: short, Logits: true}, backendtest.Part{Seq: &long, Tokens: next[:1], Logits: true})...)
			for i := range next[1:] {
				rows = append(rows, s.Step(backendtest.Part{Seq: &long, Tokens: next[1+i : 2+i], Logits: true})...)
				if n := cpu.Apart(s.Runner()); threads == 1 && n > 0 {
					t.Errorf("one worker, and %d spans apart", n)
				} else {
					apart += n
				}
			}
			batch := s.Fill(backendtest.Part{Seq: &long, Tokens: next[:1], Logits: true})
			logits := make([]float32, m.Prog.OutWidth())
			if n := testing.AllocsPerRun(5, func() {
				if err := s.Runner().Run(batch, logits); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("seed %d, %d workers: a warm step allocates %v times", seed, threads, n)
			}
			return append(rows, logits)
		}
		want := run(1)
		for _, threads := range []int{2, 5} {
			for i, row := range run(threads) {
				if fmt.Sprint(row) != fmt.Sprint(want[i]) { // any NaN is any other
					t.Fatalf("seed %d, %d workers: row %d differs from one worker's\n%v", seed, threads, i, m.Prog)
				}
			}
		}
	}
	if apart == 0 {
		t.Error("no sequence was attended to in spans")
	}
}
