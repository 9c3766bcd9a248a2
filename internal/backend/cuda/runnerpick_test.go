package cuda_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/race"
)

// TestPickOfAStep: what is picked is the rows' best, rows stay for who asks, and the
// calls of the driver are those of a step with rows.
func TestPickOfAStep(t *testing.T) {
	d, fake := simulated(t, fakedriver.Options{Seed: 6}, cuda.Options{})
	m := model(t, d, 5, quant.Q8_0)
	s := backendtest.NewSession(t, m.Prog, load(t, d, m), limits(backend.KVF16), nil)
	picker := s.Runner().(backend.Picker)
	var a, b backendtest.Seq
	temps, picks, row := []float32{0, 1}, make([]backend.Pick, 2), make([]float32, m.Prog.Vocab)
	for step := range 3 {
		batch := s.Fill(backendtest.Part{Seq: &a, Tokens: m.Tokens(1), Logits: true}, backendtest.Part{Seq: &b, Tokens: m.Tokens(1), Logits: true})
		want := make([]float32, 2*m.Prog.Vocab)
		if err := picker.Run(batch, want); err != nil {
			t.Fatal(err)
		}
		fake.ResetCalls()
		if err := picker.Pick(batch, temps, picks); err != nil {
			t.Fatal(err)
		}
		calls := map[string]int64{"cuMemcpyHtoDAsync_v2": 1, "cuMemcpyDtoHAsync_v2": 1, "cuEventRecord": 1, "cuEventSynchronize": 1, "cuGraphLaunch": 1}
		if got := fake.Calls(); step > 0 && fmt.Sprint(got) != fmt.Sprint(calls) {
			t.Errorf("a warm step calls %v, want %v", got, calls)
		}
		for i, p := range picks {
			whole := want[i*m.Prog.Vocab : (i+1)*m.Prog.Vocab]
			top := int32(slices.Index(whole, slices.Max(whole)))
			if p.NaN != -1 || int(p.Count) != min(backend.PickTokens, m.Prog.Vocab) || p.Tokens[0] != top || p.Logits[0] != whole[top] {
				t.Errorf("row %d: %d candidates, the first %d of %v; the best is %d of %v", i, p.Count, p.Tokens[0], p.Logits[0], top, whole[top])
			}
			if err := picker.Row(i, row); err != nil || !slices.Equal(row, whole) {
				t.Errorf("row %d is not the logits' (%v)", i, err)
			}
		}
	}
	for _, i := range []int{-1, limits(backend.KVF16).LogitRows} {
		if err := picker.Row(i, row); err == nil {
			t.Errorf("there is a row %d", i)
		}
	}
	if picker.Pick(s.Fill(backendtest.Part{Seq: &a, Tokens: m.Tokens(1), Logits: true}), temps, nil) == nil {
		t.Error("a row is picked without room for it")
	}
}

// TestWarmPickAllocatesNothing: steps that pick, and rows that are fetched.
func TestWarmPickAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	d, _ := simulated(t, fakedriver.Options{NoExecute: true}, cuda.Options{})
	m := model(t, d, 1, quant.F16)
	s := backendtest.NewSession(t, m.Prog, load(t, d, m), limits(backend.KVF16), nil)
	var a backendtest.Seq
	batch := s.Fill(backendtest.Part{Seq: &a, Tokens: m.Tokens(1), Logits: true})
	picker, temps, picks, row := s.Runner().(backend.Picker), []float32{1}, make([]backend.Pick, 1), make([]float32, m.Prog.Vocab)
	if n := testing.AllocsPerRun(20, func() {
		if err := picker.Pick(batch, temps, picks); err != nil {
			t.Fatal(err)
		}
		if err := picker.Row(0, row); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a warm step that picks allocates %v times", n)
	}
}
