package cpu

import (
	"errors"
	"runtime/debug"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
)

// errClosed is what a closed runner answers.
var errClosed = errors.New("cpu: the runner is closed")

// runner is the memory and the workers for one set of limits. One goroutine
// uses it at a time.
type runner struct {
	*model
	kern   *kern.Kernels
	limits backend.Limits
	cache  *cache
	pool   *pool
	closed bool

	bufs    []buffer
	acts    []*kern.Acts // by compiled.acts
	rounded []*buffer    // acts → the buffer they are rounded from
	ropes   []angles

	expertRows []*expertRows // by compiled.experts
	heads      []*kern.Acts  // by compiled.heads

	visits []visit
	parts  []float32 // spans of the phase that is on, see visit
	groups []int32   // sequence → its groups of 16 tokens, stride × sequences

	// The step that is on.
	batch       *prog.Batch
	logits      []float32
	groupStride int
}

// buffer is an activation buffer: rows of width values, each beginning on a
// cache line.
type buffer struct {
	values []float32
	width  int
	stride int
}

func (b *buffer) row(r int) []float32 { return b.values[r*b.stride : r*b.stride+b.width] }

func newRunner(m *model, l backend.Limits, c *cache) *runner {
	r := &runner{model: m, kern: m.kernels, limits: l, cache: c}
	plan := compile(m, l)
	for _, b := range m.prog.Bufs {
		stride := strideOf(b.Width)
		r.bufs = append(r.bufs, buffer{heapFloats(rowsOf(b.Rows, l) * stride), b.Width, stride})
	}
	for _, a := range plan.acts {
		r.acts = append(r.acts, kern.NewActs(a.kind, rowsOf(m.prog.Bufs[a.buf].Rows, l), m.prog.Bufs[a.buf].Width))
		r.rounded = append(r.rounded, &r.bufs[a.buf])
	}
	for _, rope := range plan.ropes {
		n := l.Rows * len(rope.Freqs)
		r.ropes = append(r.ropes, angles{rope: rope, cos: make([]float32, n), sin: make([]float32, n)})
	}
	for _, e := range plan.experts {
		r.expertRows = append(r.expertRows, newExpertRows(e, l))
	}
	for _, h := range plan.heads {
		r.heads = append(r.heads, plan.headActs(h, l))
	}
	parts := 0
	for _, v := range plan.visits {
		r.visits = append(r.visits, newVisit(v, l, m.device.threads))
		_, n := v.bytes(l, m.device.threads)
		parts = max(parts, n)
	}
	r.parts = heapFloats(parts)
	if c.groups > 1 {
		r.groups = make([]int32, l.Seqs*groupsOf(l))
	}
	workers := make([]*worker, m.device.threads)
	for i := range workers {
		workers[i] = plan.newWorker()
		workers[i].number = i
	}
	phases := plan.phases(r)
	if p := m.device.profile; p != nil {
		phases = p.watch(phases, len(workers))
	}
	r.pool = newPool(phases, workers)
	return r
}

// CopyPages implements backend.Runner.
func (r *runner) CopyPages(copies []backend.PageCopy) {
	for _, c := range copies {
		r.cache.copyPage(int(c.From), int(c.To))
	}
}

// Run implements backend.Runner.
func (r *runner) Run(b *prog.Batch, logits []float32) error {
	if r.closed {
		return errClosed
	}
	if err := backend.CheckBatch(r.prog, r.limits, b, logits); err != nil {
		return err
	}
	r.batch, r.logits = b, logits
	r.prepare()
	if r.cached == cacheHit { // a file that is cut short faults, which guard makes an error
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	}
	err := r.pool.step()
	r.batch, r.logits = nil, nil
	return err
}

// prepare lists what attention will visit.
func (r *runner) prepare() {
	b := r.batch
	if r.groups == nil {
		r.groupStride = b.Stride // a page is a group: the tables are the lists
	} else {
		r.groupStride = groupsOf(r.limits)
		for s := range b.Seqs() {
			n := (int(b.CtxLen[s]) + kern.GroupTokens - 1) / kern.GroupTokens
			list := r.groups[s*r.groupStride:][:n]
			for g := range list {
				list[g] = b.Tables[s*b.Stride+g/r.cache.groups]*int32(r.cache.groups) + int32(g%r.cache.groups)
			}
		}
	}
	for i := range r.visits {
		r.visits[i].prepare(b)
	}
}

// groupsOfSeq is the groups of a sequence, in order.
func (r *runner) groupsOfSeq(s int) []int32 {
	lists := r.groups
	if lists == nil {
		lists = r.batch.Tables
	}
	n := (int(r.batch.CtxLen[s]) + kern.GroupTokens - 1) / kern.GroupTokens
	return lists[s*r.groupStride:][:n]
}

// Close implements backend.Runner: it waits for the workers and gives the cache
// back. A second call does nothing.
func (r *runner) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.pool.close()
	r.runners.Add(-1)
	return r.cache.memory.close()
}

// rows is how many rows a kind of buffer has in this step.
func (r *runner) rows(k prog.RowKind) int {
	if k == prog.LogitRows {
		return len(r.batch.Logits)
	}
	return len(r.batch.Tokens)
}

// rowsOf is how many it has at most.
func rowsOf(k prog.RowKind, l backend.Limits) int {
	if k == prog.LogitRows {
		return l.LogitRows
	}
	return l.Rows
}

// groupsOf is the most groups of one sequence.
func groupsOf(l backend.Limits) int {
	return (l.Context + kern.GroupTokens - 1) / kern.GroupTokens
}

// strideOf is the distance of rows of a width.
func strideOf(width int) int { return int(roundUp(int64(width), lineBytes/4)) }
