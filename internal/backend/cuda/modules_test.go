package cuda_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// TestModulesOnDemand: loading a model and making its runner compile the modules that
// its steps need, of all at most two thirds, so that no step, of whatever size, waits
// for the driver to compile; a second runner compiles nothing that is there.
func TestModulesOnDemand(t *testing.T) {
	modules := stubs(t)
	for _, format := range formats {
		for seed := range uint64(4) {
			kv := kvTypes[seed%uint64(len(kvTypes))]
			d, fake := simulated(t, fakedriver.Options{NoExecute: true}, cuda.Options{Modules: modules})
			m := model(t, d, 100*seed, format)
			loaded := load(t, d, m)
			l := limits(kv)
			compiled := func() int64 { return fake.Calls()["cuModuleLoadDataEx"] }
			if compiled() == 0 {
				t.Errorf("%v, seed %d: Load has compiled nothing", format, seed)
			}
			var before int64
			for range 2 {
				r, err := loaded.NewRunner(l)
				if err != nil {
					t.Fatal(err)
				}
				if before == 0 {
					before = compiled()
				}
				for rows := 1; rows <= l.Rows; rows++ {
					for _, seqs := range []int{1, 2, 3, 4} {
						if seqs > rows {
							break
						}
						stepOf(t, m, r, l, rows, seqs)
					}
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			if after := compiled(); after != before {
				t.Errorf("%v, %v, seed %d: %d modules were compiled by steps", format, kv, seed, after-before)
			}
			if before > int64(len(modules))*2/3 {
				t.Errorf("%v, %v, seed %d: %d of %d modules were compiled", format, kv, seed, before, len(modules))
			}
		}
	}
}

// stepOf runs a step of so many rows of so many sequences, each on pages of its own, by
// Run, and by Pick where the runner can.
func stepOf(t *testing.T, m *backendtest.Random, r backend.Runner, l backend.Limits, rows, seqs int) {
	t.Helper()
	b := &prog.Batch{SeqStart: []int32{0}, Stride: l.Pages / l.Seqs}
	for s := range seqs {
		n := (rows + s) / seqs
		for i := range n {
			page := s*b.Stride + i/l.PageSize
			b.Tokens, b.Pos, b.Slots = append(b.Tokens, 0), append(b.Pos, int32(i)), append(b.Slots, int32(page*l.PageSize+i%l.PageSize))
		}
		b.SeqStart, b.CtxLen = append(b.SeqStart, b.SeqStart[s]+int32(n)), append(b.CtxLen, int32(n))
		b.Logits = append(b.Logits, b.SeqStart[s+1]-1)
		for i := range b.Stride {
			b.Tables = append(b.Tables, int32(s*b.Stride+i))
		}
	}
	err := r.Run(b, make([]float32, seqs*m.Prog.OutWidth()))
	if p, ok := r.(backend.Picker); ok && !m.Prog.Embeds() {
		err = errors.Join(err, p.Pick(b, make([]float32, seqs), make([]backend.Pick, seqs)))
	}
	if err != nil {
		t.Fatalf("%d rows of %d sequences: %v", rows, seqs, err)
	}
}

// TestModuleMayFail: where one of the modules does not compile, the others that do are
// given back when the device is closed, and a later attempt compiles what is missing.
func TestModuleMayFail(t *testing.T) {
	modules := stubs(t)
	whole, all := simulated(t, fakedriver.Options{NoExecute: true}, cuda.Options{Modules: modules})
	m := model(t, whole, 1, quant.Q8_0)
	load(t, whole, m)
	n := int(all.Calls()["cuModuleLoadDataEx"])
	if n < 3 {
		t.Fatalf("%d modules are compiled: too few to tell anything", n)
	}
	for nth := 1; nth <= n; nth++ {
		d, fake := simulated(t, fakedriver.Options{NoExecute: true}, cuda.Options{Modules: modules})
		fake.Fail(fakedriver.Failure{Call: "cuModuleLoadDataEx", Nth: nth, Code: driver.InvalidPTX})
		_, err := d.Load(m.Prog, m, nil)
		var e *driver.Error
		if !errors.As(err, &e) || e.Code != driver.InvalidPTX || !strings.Contains(err.Error(), "module ") {
			t.Fatalf("module %d fails: %v", nth, err)
		}
		load(t, d, m)
		if calls := int(fake.Calls()["cuModuleLoadDataEx"]); calls != n+1 {
			t.Errorf("module %d fails: %d modules were compiled in all, want %d and the one that failed", nth, calls, n)
		}
	}
}
