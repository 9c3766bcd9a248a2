package cuda_test

import (
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
	"github.com/paddock-go/paddock/internal/quant"
)

// paced are the answers of a card that does its work at some pace: of prompts and steps
// of decoding, pages copied between them, rows that are picked from and fetched.
func paced(t *testing.T, pace fakedriver.Pace, seed uint64) (rows [][]float32, picks []backend.Pick) {
	d, fake := simulated(t, fakedriver.Options{Seed: seed, Pace: pace}, cuda.Options{})
	m := model(t, d, 5, quant.Q8_0)
	loaded := load(t, d, m)
	l := limits(backend.KVF16)
	rows = decode(t, backendtest.NewSession(t, m.Prog, loaded, l, nil), m, 3, 2)
	runner, err := loaded.NewRunner(l)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("pace %d: %v (%v)", pace, err, fake.Fault())
		}
	}
	keep := func(row []float32) { rows = append(rows, slices.Clone(row)) }
	picker, row, pick := runner.(backend.Picker), make([]float32, m.Prog.Vocab), make([]backend.Pick, 1)
	for step := range 3 {
		// A prompt on the pages 0, 1; then they are copied away and back again, over
		// rubbish that another prompt left, and read by the steps that follow.
		must(runner.Run(batch(l, 0, 20+step), row))
		keep(row)
		runner.CopyPages([]backend.PageCopy{{From: 0, To: 6}, {From: 1, To: 7}})
		other := batch(l, 0, 30)
		slices.Reverse(other.Tokens)
		must(runner.Run(other, row))
		runner.CopyPages([]backend.PageCopy{{From: 6, To: 0}})
		runner.CopyPages([]backend.PageCopy{{From: 7, To: 1}})
		for i := range 2 {
			must(picker.Pick(batch(l, 20+step+i, 1), []float32{0.8}, pick))
			must(picker.Row(0, row))
			keep(row)
			picks = append(picks, pick...)
			must(runner.Run(batch(l, 21+step+i, 1), row))
			keep(row)
		}
	}
	return rows, picks
}

// TestPaces: whenever between its call and the wait for it a card does a piece of work,
// the answers are the same bits: no memory of the host is written to or read too early.
func TestPaces(t *testing.T) {
	rows, picks := paced(t, fakedriver.Late, 4)
	for seed := range uint64(3) {
		for _, pace := range []fakedriver.Pace{fakedriver.Early, fakedriver.Whenever} {
			if pace == fakedriver.Early && seed > 0 {
				continue // nothing of it is drawn
			}
			r, p := paced(t, pace, 4+seed)
			if !equal(rows, r) || !slices.Equal(picks, p) {
				t.Errorf("pace %d, seed %d: the answers are others", pace, seed)
			}
		}
	}
}
