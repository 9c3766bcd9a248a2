package cuda_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/race"
)

// decode runs a prompt for each of n sequences, in one step, and then steps of one
// token for each.
func decode(t testing.TB, s *backendtest.Session, m *backendtest.Random, n, steps int) (rows [][]float32) {
	seqs := make([]backendtest.Seq, n)
	for step := range steps + 1 {
		var parts []backendtest.Part
		for i := range seqs {
			tokens := []int32{int32(7*step+i) % int32(m.Prog.Vocab)}
			if step == 0 {
				tokens = append(tokens, 3, 1, 2)[:1+i]
			}
			parts = append(parts, backendtest.Part{Seq: &seqs[i], Tokens: tokens, Logits: true})
		}
		rows = append(rows, s.Step(parts...)...)
	}
	return rows
}

func equal(a, b [][]float32) bool {
	return slices.EqualFunc(a, b, func(x, y []float32) bool { return slices.Equal(x, y) })
}

// TestGraphs: captured or launched one by one, a step gives the same bits. How many
// calls of the driver it takes is counted.
func TestGraphs(t *testing.T) {
	var rows [2][][]float32
	for i, none := range []bool{false, true} {
		d, fake := simulated(t, fakedriver.Options{Seed: 4}, cuda.Options{NoGraphs: none})
		m := model(t, d, 5, quant.Q8_0)
		s := backendtest.NewSession(t, m.Prog, load(t, d, m), limits(backend.KVF16), nil)
		rows[i] = decode(t, s, m, 3, 3)
		var seq backendtest.Seq
		s.Step(backendtest.Part{Seq: &seq, Tokens: []int32{1}, Logits: true})
		fake.ResetCalls()
		s.Step(backendtest.Part{Seq: &seq, Tokens: []int32{2}, Logits: true})
		calls := fake.Calls()
		t.Logf("a warm step of decoding, %d ops, graphs %v: %d calls, %v", len(m.Prog.Ops), !none, fake.CallCount(), calls)
		want := map[string]int64{"cuMemcpyHtoDAsync_v2": 1, "cuMemcpyDtoHAsync_v2": 1, "cuEventRecord": 1, "cuEventSynchronize": 1, "cuGraphLaunch": 1}
		if none {
			delete(want, "cuGraphLaunch")
			if want["cuLaunchKernel"] = calls["cuLaunchKernel"]; calls["cuLaunchKernel"] < int64(len(m.Prog.Ops)) {
				t.Errorf("%d kernels for %d ops", calls["cuLaunchKernel"], len(m.Prog.Ops))
			}
		}
		if fmt.Sprint(calls) != fmt.Sprint(want) {
			t.Errorf("a warm step calls %v, want %v", calls, want)
		}
	}
	if !equal(rows[0], rows[1]) {
		t.Error("with graphs the logits are others than without")
	}
}

// TestTwoRunners: runners of one model have nothing of each other.
func TestTwoRunners(t *testing.T) {
	d, _ := simulated(t, fakedriver.Options{Seed: 5, Pace: fakedriver.Whenever}, cuda.Options{})
	m := model(t, d, 9, quant.Q4_0)
	loaded := load(t, d, m)
	a := backendtest.NewSession(t, m.Prog, loaded, limits(backend.KVF32), nil)
	b := backendtest.NewSession(t, m.Prog, loaded, limits(backend.KVF32), nil)
	first := decode(t, a, m, 2, 1)
	done := make(chan [][]float32)
	go func() { done <- decode(t, b, m, 2, 1) }()
	again := decode(t, a, m, 2, 1)
	if second := <-done; !equal(first, second) || !equal(first, again) {
		t.Error("two runners of one model give different logits")
	}
}

// TestWarmStepAllocatesNothing: decoding, with and without graphs, prompts, and copies
// of pages.
func TestWarmStepAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, none := range []bool{false, true} {
		d, _ := simulated(t, fakedriver.Options{NoExecute: true}, cuda.Options{NoGraphs: none})
		m := model(t, d, 1, quant.F16)
		s := backendtest.NewSession(t, m.Prog, load(t, d, m), limits(backend.KVF16), nil)
		var a, b backendtest.Seq
		logits, copies := make([]float32, 4*m.Prog.OutWidth()), []backend.PageCopy{{From: 20, To: 21}, {From: 21, To: 22}}
		for _, parts := range [][]backendtest.Part{
			{{Seq: &a, Tokens: m.Tokens(9)}, {Seq: &b, Tokens: m.Tokens(5), Logits: true}},
			{{Seq: &a, Tokens: m.Tokens(1), Logits: true}, {Seq: &b, Tokens: m.Tokens(1), Logits: true}},
		} {
			batch := s.Fill(parts...)
			if n := testing.AllocsPerRun(20, func() {
				s.Runner().CopyPages(copies)
				if err := s.Runner().Run(batch, logits); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("graphs %v: a warm step of %d rows allocates %v times", !none, len(batch.Tokens), n)
			}
		}
	}
}

// TestManyBuckets: the launches that are kept are bounded, and those that were let go
// are made again.
func TestManyBuckets(t *testing.T) {
	d, fake := simulated(t, fakedriver.Options{NoExecute: true}, cuda.Options{})
	m := model(t, d, 1, quant.F16)
	l := backend.Limits{Rows: 512, Seqs: 64, LogitRows: 64, Pages: 200, PageSize: 16, Context: 700, KVType: backend.KVF16}
	s := backendtest.NewSession(t, m.Prog, load(t, d, m), l, nil)
	for more := 0; more <= 300; more = 2*more + 1 { // rows of the last sequence beside its first
		for n := 1; n <= 64; n *= 2 {
			for logits := 1; logits <= n; logits *= 2 {
				seqs := make([]backendtest.Seq, n)
				var parts []backendtest.Part
				for i := range seqs {
					parts = append(parts, backendtest.Part{Seq: &seqs[i], Tokens: make([]int32, 1+(i+1)/n*more), Logits: i < logits})
				}
				b := s.Fill(parts...)
				if err := s.Runner().Run(b, make([]float32, logits*m.Prog.OutWidth())); err != nil {
					t.Fatal(err)
				}
				for i := range seqs {
					s.Free(&seqs[i])
				}
			}
		}
	}
	calls := fake.Calls()
	if calls["cuGraphLaunch"] == 0 || calls["cuGraphExecDestroy"] == 0 || calls["cuGraphInstantiateWithFlags"] > calls["cuGraphLaunch"] {
		t.Errorf("of graphs, %d were made, %d let go and %d launched", calls["cuGraphInstantiateWithFlags"], calls["cuGraphExecDestroy"], calls["cuGraphLaunch"])
	}
}

// TestNoMemoryForALaunch: a graph for which there is no memory only when it is launched
// is let go, and the step is done without.
func TestNoMemoryForALaunch(t *testing.T) {
	var rows [2][][]float32
	for i, fails := range []bool{false, true} {
		var text strings.Builder
		d, fake := simulated(t, fakedriver.Options{Seed: 4}, cuda.Options{Logger: slog.New(slog.NewTextHandler(&text, nil))})
		m := model(t, d, 5, quant.Q8_0)
		s := backendtest.NewSession(t, m.Prog, load(t, d, m), limits(backend.KVF16), nil)
		if fails {
			fake.Fail(fakedriver.Failure{Call: "cuGraphLaunch", Nth: 2, Code: driver.OutOfMemory})
		}
		rows[i] = append(decode(t, s, m, 1, 3), decode(t, s, m, 2, 1)...)
		if n := strings.Count(text.String(), "no memory for more graphs"); fails && (n != 1 || len(fake.Nodes()) != 1) {
			t.Errorf("it is logged %d times, and there are %d graphs", n, len(fake.Nodes()))
		}
	}
	if !equal(rows[0], rows[1]) {
		t.Error("without the graph the logits are others")
	}
}

// TestSpoiltCapture: where a capture comes to nothing, its steps go on without a graph.
func TestSpoiltCapture(t *testing.T) {
	var want [][]float32
	for _, call := range []string{"", "cuStreamBeginCapture_v2", "cuLaunchKernel", "cuStreamEndCapture"} {
		var text strings.Builder
		d, fake := simulated(t, fakedriver.Options{Seed: 4}, cuda.Options{Logger: slog.New(slog.NewTextHandler(&text, nil))})
		m := model(t, d, 5, quant.Q8_0)
		s := backendtest.NewSession(t, m.Prog, load(t, d, m), limits(backend.KVF16), nil)
		if call != "" {
			fake.Fail(fakedriver.Failure{Call: call, Nth: 1, Code: 901})
		}
		rows := append(decode(t, s, m, 1, 2), decode(t, s, m, 2, 1)...)
		if want == nil {
			want = rows
		}
		if n, graphs := strings.Count(text.String(), "could not be captured"), len(fake.Nodes()); call != "" && (n != 1 || graphs != 1) {
			t.Errorf("%s: it is logged %d times, and there are %d graphs", call, n, graphs)
		}
		if !equal(want, rows) {
			t.Errorf("%s: without the graph the logits are others", call)
		}
	}
}

// TestNoMemoryForGraphs: where there is none for one more graph, the oldest makes
// room; where there is none for any, steps go on without.
func TestNoMemoryForGraphs(t *testing.T) {
	for _, times := range []int{1, 2, 3} {
		var rows [2][][]float32
		for i, fails := range []int{0, times} {
			var text strings.Builder
			d, fake := simulated(t, fakedriver.Options{Seed: 4}, cuda.Options{Logger: slog.New(slog.NewTextHandler(&text, nil))})
			m := model(t, d, 5, quant.Q8_0)
			s := backendtest.NewSession(t, m.Prog, load(t, d, m), limits(backend.KVF16), nil)
			rows[i] = decode(t, s, m, 1, 1) // makes the first graph
			for range fails {
				fake.Fail(fakedriver.Failure{Call: "cuGraphInstantiateWithFlags", Nth: 1, Code: driver.OutOfMemory})
			}
			rows[i] = append(rows[i], decode(t, s, m, 2, 2)...)
			rows[i] = append(rows[i], decode(t, s, m, 1, 1)...)
			if fails == 0 {
				continue
			}
			if graphs, want := len(fake.Nodes()), max(0, 2-fails); graphs != want {
				t.Errorf("after %d failures there are %d graphs, want %d", fails, graphs, want)
			}
			if n := strings.Count(text.String(), "no memory for more graphs"); n != 1 {
				t.Errorf("%d failures are logged %d times", fails, n)
			}
		}
		if !equal(rows[0], rows[1]) {
			t.Errorf("after %d failures the logits are others", times)
		}
	}
}
