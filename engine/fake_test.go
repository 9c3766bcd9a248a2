package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/metrics"
)

// fakeModel is a model whose logits are a hash of the whole prefix, read through
// the KV cache as a real one reads it: what a row writes to its slot is a hash of
// what stands in the slot before it and of its own token. A page that is shared,
// copied, cut or reused wrongly changes every token that follows.
type fakeModel struct {
	vocab int
	delay time.Duration // of a step
	gate  chan struct{} // if not nil, a step takes one value
	fail  atomic.Pointer[error]
	panic atomic.Bool
	first func()                           // called once, before the first step
	nan   int32                            // a token after which logits are NaN; 0: none
	wrap  func(*fakeRunner) backend.Runner // if not nil, what its runner is

	steps, rows, widest atomic.Int64
}

func (m *fakeModel) WeightBytes() int64                         { return 1000 }
func (m *fakeModel) RunnerBytes(l backend.Limits) (kv, s int64) { return int64(l.Pages) * 128, 64 }
func (m *fakeModel) Close() error                               { return nil }
func (m *fakeModel) NewRunner(l backend.Limits) (backend.Runner, error) {
	r := &fakeRunner{m: m, l: l, kv: make([]uint64, l.Pages*l.PageSize)}
	for i := range r.kv {
		r.kv[i] = 0xdead
	}
	if m.wrap != nil {
		return m.wrap(r), nil
	}
	return r, nil
}

type fakeRunner struct {
	m  *fakeModel
	l  backend.Limits
	kv []uint64
}

func (r *fakeRunner) Close() error { return nil }

func (r *fakeRunner) CopyPages(copies []backend.PageCopy) {
	n := r.l.PageSize
	for _, c := range copies {
		copy(r.kv[int(c.To)*n:int(c.To+1)*n], r.kv[int(c.From)*n:int(c.From+1)*n])
	}
}

func (r *fakeRunner) Run(b *prog.Batch, logits []float32) error {
	if f := r.m.first; f != nil {
		r.m.first = nil
		f()
	}
	if r.m.gate != nil {
		<-r.m.gate
	}
	time.Sleep(r.m.delay)
	if e := r.m.fail.Load(); e != nil {
		return *e
	}
	if r.m.panic.Load() {
		panic("fake")
	}
	if len(b.Tokens) > r.l.Rows || b.Seqs() > r.l.Seqs || len(b.Logits) > r.l.LogitRows {
		panic("a batch beyond its limits")
	}
	r.m.steps.Add(1)
	r.m.rows.Add(int64(len(b.Tokens)))
	if n := int64(b.Seqs()); n > r.m.widest.Load() {
		r.m.widest.Store(n)
	}
	out := 0
	for s := range b.Seqs() {
		for row := b.SeqStart[s]; row < b.SeqStart[s+1]; row++ {
			pos := b.Pos[row]
			prefix := uint64(1)
			if pos > 0 {
				prefix = r.kv[r.slot(b, s, pos-1)]
			}
			h := fakeHash(prefix ^ fakeHash(uint64(b.Tokens[row])+7))
			at := r.slot(b, s, pos)
			if at != int(b.Slots[row]) {
				panic("slot and table disagree")
			}
			r.kv[at] = h
			if out < len(b.Logits) && b.Logits[out] == row {
				r.logits(h, b.Tokens[row], logits[out*r.m.vocab:(out+1)*r.m.vocab])
				out++
			}
		}
	}
	return nil
}

func (r *fakeRunner) slot(b *prog.Batch, s int, pos int32) int {
	page := b.Tables[s*b.Stride+int(pos)/r.l.PageSize]
	return int(page)*r.l.PageSize + int(pos)%r.l.PageSize
}

func (r *fakeRunner) logits(h uint64, token int32, row []float32) {
	for i := range row {
		h = fakeHash(h)
		row[i] = float32(h>>40) / (1 << 22)
	}
	if r.m.nan != 0 && token == r.m.nan {
		row[1] = row[1] / 0 * 0
	}
}

func fakeHash(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// openFake starts an engine over a fake model. Its tokens have no text.
func openFake(t testing.TB, m *fakeModel, o Options) *Engine {
	t.Helper()
	if m.vocab == 0 {
		m.vocab = 32
	}
	if o.Metrics == nil {
		o.Metrics = metrics.NewRecorder(metrics.RecorderOptions{})
	}
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if o.Name == "" {
		o.Name = "fake"
	}
	e := &Engine{name: o.Name, vocab: m.vocab, context: 4096, spec: o.Spec, log: o.Logger, rec: o.Metrics}
	if o.MaxContext > 0 {
		e.context = o.MaxContext
	}
	r, err := e.plan(o, m, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.start(o, m, r, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// alone is what a request answers on an engine of its own.
func alone(t testing.TB, r Request) [][]int32 {
	t.Helper()
	e := openFake(t, &fakeModel{}, Options{KVPages: 2048, Metrics: metrics.NewRecorder(metrics.RecorderOptions{})})
	defer e.Close()
	return collect(t, e, r)
}

func collect(t testing.TB, e *Engine, r Request) [][]int32 {
	t.Helper()
	res, err := e.Complete(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return ids(res)
}

func ids(res Result) [][]int32 {
	out := make([][]int32, len(res.Choices))
	for i, a := range res.Choices {
		for _, tok := range a.Tokens {
			out[i] = append(out[i], tok.ID)
		}
	}
	return out
}

// prompt makes n tokens that depend on seed.
func prompt(n int, seed uint64) []int32 {
	p := make([]int32, n)
	for i := range p {
		seed = fakeHash(seed)
		p[i] = int32(seed % 32)
	}
	return p
}
