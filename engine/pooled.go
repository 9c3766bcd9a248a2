package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// pooled says what a model gives that makes one row of each text.
type pooled struct {
	width  int  // of a row; 0: the model generates
	atomic bool // a text is computed in one step
	ranks  bool // the row is a reranker's score
}

func pooledOf(m *model.Model) pooled {
	if !m.Program.Embeds() {
		return pooled{}
	}
	return pooled{width: m.Program.OutWidth(), atomic: m.Program.Atomic, ranks: m.Spec.Ranks}
}

// width is that of a row of output.
func (e *Engine) width() int {
	if e.pooled.width > 0 {
		return e.pooled.width
	}
	return e.vocab
}

// serves are the operations that the model has an answer to.
func (e *Engine) serves() []metrics.Operation {
	switch {
	case e.pooled.ranks:
		return []metrics.Operation{metrics.Rerank}
	case e.pooled.width > 0:
		return []metrics.Operation{metrics.Embeddings, metrics.Rerank}
	case e.tmpl != nil:
		return []metrics.Operation{metrics.TextCompletion, metrics.Chat}
	}
	return []metrics.Operation{metrics.TextCompletion}
}

// queueOf is how many requests may wait, of the scheduler there is or will be.
func queueOf(o Options, s *sched.Scheduler) int {
	if s != nil {
		return s.Limits().MaxQueue
	}
	return o.Limits.WithDefaults().MaxQueue
}

// parts are the texts of one request, each a job of its own whose record is thrown
// together with the others' in the end.
type parts struct {
	e     *Engine
	from  source
	rec   *metrics.Record
	jobs  []*job
	pages heldPages
}

// heldPages counts what the jobs of one request hold together. It is the loop's
// until all of them are done.
type heldPages struct {
	step       uint64
	pages, top int
}

// poolAll computes a row for each list of tokens that prompts returns, all or none.
func (e *Engine) poolAll(ctx context.Context, from source, prompts func() ([][]int32, error)) (rows [][]float32, u Usage, err error) {
	rec, owned := e.record(ctx, from)
	ctx = e.model.Begin(ctx, rec)
	p := &parts{e: e, from: from, rec: rec}
	defer func() {
		p.account()
		rec.Finish = metrics.Stop
		if err != nil {
			rec.Fail, rec.Finish = failReason(err), metrics.NoFinish
		}
		switch {
		case owned:
			e.model.Finish(rec)
		case rec.Fail != metrics.NoFail && rec.Queued == 0:
			rec.Refuse(rec.Fail)
		default:
			rec.Release()
		}
	}()
	if ctx.Err() != nil {
		return nil, u, contextError(ctx)
	}
	if int(rec.Operation) >= metrics.NumOperations || int(rec.Origin) >= metrics.NumOrigins || int(from.origin) >= metrics.NumOrigins { // the loop counts by them
		return nil, u, &RequestError{"Origin", fmt.Sprintf("or the context's metrics.Record is outside its list: operation %d of %d, origin %d and %d of %d",
			rec.Operation, metrics.NumOperations, rec.Origin, from.origin, metrics.NumOrigins)}
	}
	start := e.rec.Now()
	lists, err := prompts()
	rec.Tokenizing = e.rec.Now() - start
	if err != nil {
		if errors.As(err, new(*ContextError)) {
			e.pub.tooLong.Add(1)
		}
		return nil, u, err
	}
	if rows, err = p.run(ctx, lists); err != nil {
		return nil, u, err
	}
	for _, j := range p.jobs {
		u.PromptTokens += j.promptTokens
		u.CachedTokens += int(j.cached.Load())
	}
	return rows, u, nil
}

// run keeps as many texts under way as the batch has places, so that a long list
// neither fills the queue nor runs one by one.
func (p *parts) run(ctx context.Context, lists [][]int32) ([][]float32, error) {
	rows := make([][]float32, len(lists))
	for begun, ended := 0, 0; ended < len(lists); {
		if ctx.Err() != nil { // each job is watched, too, but short ones may be over before they are told
			p.cancel(ended)
			return nil, contextError(ctx)
		}
		n := min(p.e.window-(begun-ended), len(lists)-begun)
		if err := p.begin(ctx, lists[begun:begun+n]); err != nil {
			p.cancel(ended)
			return nil, err
		}
		begun += n
		<-p.jobs[ended].done // the oldest; those that are done besides make room with it
		for ; ended < begun && closed(p.jobs[ended].done); ended++ {
			j := p.jobs[ended]
			if _, _, _, _, err := j.ring.pop(nil); err != nil {
				p.cancel(ended)
				return nil, err
			}
			rows[ended] = j.pooled
		}
	}
	return rows, nil
}

func closed(done chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// begin hands texts over, in one go, and waits until they are taken.
func (p *parts) begin(ctx context.Context, lists [][]int32) (err error) {
	if len(lists) == 0 {
		return nil
	}
	first := len(p.jobs)
	commands := make([]command, len(lists))
	for i, tokens := range lists {
		p.jobs = append(p.jobs, p.job(tokens))
		commands[i] = command{kind: cmdAdd, job: p.jobs[first+i]}
	}
	if !p.e.inbox.postAll(commands) {
		p.jobs = p.jobs[:first]
		return ErrClosed
	}
	for _, j := range p.jobs[first:] {
		if refused := <-j.ack; refused != nil {
			if err == nil {
				err = refused
			}
			continue
		}
		j.watch(ctx, p.e.inbox)
	}
	return err
}

// job makes the job of one text.
func (p *parts) job(tokens []int32) *job {
	j := &job{
		ring: &ring{entries: make([]entry, 1), wake: make(chan struct{}, 1)}, promptTokens: len(tokens), pooled: make([]float32, p.e.pooled.width), parts: &p.pages,
		rec: &metrics.Record{Operation: p.rec.Operation, Origin: p.rec.Origin, Arrival: p.rec.Arrival},
		op:  p.rec.Operation, origin: p.rec.Origin,
		ack: make(chan error, 1), done: make(chan struct{}),
	}
	c := &choice{job: j}
	c.seq = sched.Sequence{
		Tokens: tokens, Pooled: true, Atomic: p.e.pooled.atomic,
		Priority: p.from.priority, Tenant: p.from.tenant, Scope: p.from.scope,
	}
	j.choices = []*choice{c}
	return j
}

// cancel ends what is still going from a job on, and waits until the loop has let
// go of it.
func (p *parts) cancel(from int) {
	commands := make([]command, 0, len(p.jobs)-from)
	for _, j := range p.jobs[from:] {
		commands = append(commands, command{kind: cmdCancel, job: j, err: ErrAborted})
	}
	p.e.inbox.postAll(commands) // where the loop is gone, so are the jobs
	for _, j := range p.jobs[from:] {
		<-j.done
	}
}

// account puts what the jobs went through into the request's record: the first
// stamp of each kind, the sum of each count.
func (p *parts) account() {
	r := p.rec
	for _, j := range p.jobs {
		r.Queued, r.Scheduled = earlier(r.Queued, j.rec.Queued), earlier(r.Scheduled, j.rec.Scheduled)
		r.PromptTokens += j.rec.PromptTokens
		r.CachedTokens += j.rec.CachedTokens
		r.Preemptions += j.rec.Preemptions
	}
	r.KVPages = p.pages.top
}

// earlier is the lesser of two stamps, 0 being none.
func earlier(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// hold notes what a job of the request holds in a step.
func (h *heldPages) hold(step uint64, pages int) {
	if h.step != step {
		h.step, h.pages = step, 0
	}
	h.pages += pages
	h.top = max(h.top, h.pages)
}

// pool hands a job its row, and ends it.
func (l *loop) pool(c *choice, row []float32) {
	res, reason := result{c: c, first: len(l.books.entries), finish: FinishStop}, sched.ReasonStop
	for i, x := range row {
		if x-x != 0 { // NaN or infinite
			res, reason = result{c: c, first: res.first, err: &EmbeddingError{Index: i, Value: x}}, sched.ReasonError
			break
		}
	}
	if res.err == nil {
		copy(c.job.pooled, row)
	}
	l.results = append(l.results, res)
	l.outcomes = append(l.outcomes, sched.Outcome{Seq: &c.seq, Finish: reason})
}
