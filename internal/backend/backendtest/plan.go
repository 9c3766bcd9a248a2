package backendtest

import (
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// loadPlanned loads a program, and asks that its sizes are those that the device
// planned without reading a weight: Open refuses by them.
func loadPlanned(tb testing.TB, d backend.Device, p *prog.Program, src backend.Source) backend.Model {
	tb.Helper()
	plan, err := d.Plan(p, src)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := d.Load(p, src, nil)
	if err != nil {
		tb.Fatal(err)
	}
	var sum int64
	for i := range p.Weights {
		sum += plan.WeightSize(prog.WeightID(i))
	}
	if got := m.WeightBytes(); plan.WeightBytes() != got || sum != got {
		tb.Errorf("%s: weights of %d bytes were planned, %d one by one, and %d loaded", p.Arch, plan.WeightBytes(), sum, got)
	}
	for _, l := range []backend.Limits{
		{Rows: 1, Seqs: 1, LogitRows: 1, Pages: 1, PageSize: 16, Context: 16},
		{Rows: 70, Seqs: 5, LogitRows: 9, Pages: 33, PageSize: 32, Context: 200, KVType: backend.KVF32},
		{Rows: 2, Seqs: 1, LogitRows: 1, Pages: 3, PageSize: 16, Context: 40, KVType: backend.KVBF16},
		{Rows: 2, Seqs: 1, LogitRows: 1, Pages: 3, PageSize: 16, Context: 40, KVType: backend.KVQ8_0},
	} {
		kv, scratch := plan.RunnerBytes(l)
		if k, s := m.RunnerBytes(l); k != kv || s != scratch {
			tb.Errorf("%s: a runner of %d and %d bytes was planned, it takes %d and %d", p.Arch, kv, scratch, k, s)
		}
	}
	return m
}
