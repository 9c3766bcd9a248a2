package cpu_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
	"go.uber.org/goleak"
)

var smallLimits = backend.Limits{Rows: 64, Seqs: 4, LogitRows: 4, Pages: 32, PageSize: 16, Context: 128}

// TestWarmRunAllocates asserts that a warm step allocates nothing: one token,
// and a batch of several sequences.
func TestWarmRunAllocates(t *testing.T) {
	m := backendtest.NewRandom(3)
	for _, threads := range []int{1, 3} {
		loaded, err := cpu.New(cpu.Options{Threads: threads}).Load(m.Prog, m, nil)
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
			logits := make([]float32, len(batch.Logits)*m.Prog.OutWidth())
			if n := testing.AllocsPerRun(20, func() {
				if err := s.Runner().Run(batch, logits); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%d workers, %d rows: a warm step allocates %v times", threads, len(batch.Tokens), n)
			}
		}
	}
}

func TestClose(t *testing.T) {
	defer goleak.VerifyNone(t)
	m := backendtest.NewRandom(4)
	loaded, err := cpu.New(cpu.Options{Threads: 3}).Load(m.Prog, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := loaded.NewRunner(smallLimits)
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Close(); err == nil {
		t.Error("a model was closed under its runner")
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := r.Run(&prog.Batch{}, nil); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a closed runner answers %v", err)
	}
	for range 2 {
		if err := loaded.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRefusals(t *testing.T) {
	m := backendtest.NewRandom(5)
	loaded, err := cpu.New(cpu.Options{Threads: 1}).Load(m.Prog, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	var limit *backend.LimitError
	bad := smallLimits
	bad.PageSize = 20
	if _, err := loaded.NewRunner(bad); !errors.As(err, &limit) {
		t.Errorf("pages of 20 tokens: %v, want a LimitError", err)
	}
	bad = smallLimits
	bad.Pages, bad.KVType = 1<<31/bad.PageSize-1, backend.KVF32
	if kv, _ := loaded.RunnerBytes(bad); kv != 4*m.Prog.KVValues()*int64(bad.Pages)*16 {
		t.Errorf("RunnerBytes says %d", kv)
	}
	r, err := loaded.NewRunner(smallLimits)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Run(&prog.Batch{Tokens: make([]int32, 65)}, nil); !errors.As(err, &limit) {
		t.Errorf("65 rows: %v, want a LimitError", err)
	}
}

// broken serves a model with one tensor changed.
type broken struct {
	*backendtest.Random
	edit func(backend.Tensor) (backend.Tensor, error)
}

func (b broken) Read(name string, use func(backend.Tensor) error) error {
	return b.Random.Read(name, func(t backend.Tensor) error {
		if name == b.Prog.Weights[len(b.Prog.Weights)/2].Tensor {
			var err error
			if t, err = b.edit(t); err != nil {
				return err
			}
		}
		return use(t)
	})
}

func TestLoadFaults(t *testing.T) {
	defer goleak.VerifyNone(t)
	cut := errors.New("cut short")
	for what, edit := range map[string]func(backend.Tensor) (backend.Tensor, error){
		"cut short":            func(t backend.Tensor) (backend.Tensor, error) { return t, cut },
		"no format of weights": func(t backend.Tensor) (backend.Tensor, error) { t.Type = quant.Type(77); return t, nil },
		"are wanted":           func(t backend.Tensor) (backend.Tensor, error) { t.Cols *= 2; return t, nil },
		"too few":              func(t backend.Tensor) (backend.Tensor, error) { t.Data = t.Data[:1]; return t, nil },
		"late": func(t backend.Tensor) (backend.Tensor, error) { // while it is packed
			return t, errors.New("late")
		},
	} {
		for seed := range uint64(3) {
			m := broken{backendtest.NewRandom(seed, quant.F32), edit}
			if what == "late" && m.Prog.Weights[len(m.Prog.Weights)/2].Kind == prog.Vector {
				continue // vectors are read before
			}
			_, err := cpu.New(cpu.Options{Threads: 2}).Load(m.Prog, m, nil)
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("got %v, want %q", err, what)
			}
		}
	}
	p := &prog.Program{}
	var shape *prog.ShapeError
	if _, err := cpu.New(cpu.Options{}).Load(p, backendtest.NewRandom(1), nil); !errors.As(err, &shape) {
		t.Errorf("an empty program: %v, want a ShapeError", err)
	}
}

// TestProgressPanics: progress is called by Load's caller, who can catch what it throws;
// no worker is left behind.
func TestProgressPanics(t *testing.T) {
	m := backendtest.NewRandom(6)
	defer func() {
		if got := recover(); got != "mine" {
			t.Errorf("recovered %v", got)
		}
	}()
	_, err := cpu.New(cpu.Options{Threads: 2}).Load(m.Prog, m, func(int64, int64) { panic("mine") })
	t.Errorf("loaded, with %v", err)
}

// TestProgress asks that the last report says that all is done.
func TestProgress(t *testing.T) {
	m := backendtest.NewRandom(6)
	var last, total, calls int64
	loaded, err := cpu.New(cpu.Options{Threads: 2}).Load(m.Prog, m, func(d, n int64) {
		if d < last {
			t.Errorf("progress went from %d back to %d", last, d)
		}
		last, total = d, n
		calls++
	})
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	if last != total || total <= 0 || calls == 0 {
		t.Errorf("%d reports, the last of %d of %d", calls, last, total)
	}
	if loaded.WeightBytes() < total {
		t.Errorf("%d bytes of weights, %d were packed", loaded.WeightBytes(), total)
	}
}
