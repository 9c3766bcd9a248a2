package engine

import (
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/draft"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/sample"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// loop is the one goroutine that owns scheduler, cache and runner; nothing else
// can reach them.
//
//	┌▶ commands ▶ plan ▶ fill ▶ run ▶ sample ▶ commit ▶ publish ▶ push ─┐
//	└────────────────────────────────────────────────────────────────────┘
//
// Publishing comes before pushing: whoever sees a token finds it counted.
type loop struct {
	sched   *sched.Scheduler
	runner  backend.Runner
	text    func(id int32) []byte // a token's bytes
	in      *inbox
	pub     *publisher
	model   *metrics.Model
	now     func() time.Duration // the recorder's clock
	vocab   int
	width   int // of a row of output: the vocabulary, or an embedding
	page    int // tokens a KV page
	spec    draft.NGram
	context int
	costs   *estimator // nil: nothing is estimated

	nextID   sched.SeqID
	live     map[sched.SeqID]*choice
	batch    prog.Batch
	logits   []float32
	stalled  []*job    // jobs that the scheduler ended a choice of
	drafted  []*choice // those whose Draft is set
	decoding []*choice // those that the last step gave a token, in its order
	maxRows  int       // most rows of logits in a step
	maxSeqs  int       // most sequences in a step
	outcomes []sched.Outcome
	results  []result
	copies   []backend.PageCopy
	commands []command
	handled  int  // of commands
	closing  bool // cmdClose came
	adding   *job // whose submitter has no answer yet
	scratch  *sample.Scratch
	pick     picking
	step     metrics.StepStats
	steps    uint64 // how many were filled
	books    books
	log      *slog.Logger
	status   *atomic.Int32 // of the engine
	failed   error         // the device failed: every request ends with this
	drainers []chan struct{}
}

// result is what a step made of one sampled row: outcome and, by token, what the
// stream gets. It is kept apart from sched.Outcome, which knows no text.
type result struct {
	c      *choice
	first  int // index of the first of its tokens in loop.entries
	finish FinishReason
	err    error
}

// run is the goroutine. It returns when it was told to close, all jobs ended.
func (l *loop) run() error {
	for {
		next, err := l.turn()
		if err != nil {
			l.fail(err)
			continue
		}
		switch next {
		case leave:
			return l.failed
		case rest:
			<-l.in.wake
		case doze:
			l.pause()
		}
	}
}

// What a turn of the loop leaves to do.
type next uint8

const (
	again next = iota // there is more to compute
	rest              // nothing until a command comes
	doze              // everyone is parked: a command, or the stall timeout
	leave             // closed
)

// turn carries out the commands that wait, and one step. A panic on the way
// becomes an error: it ends the engine's requests, never the program.
func (l *loop) turn() (n next, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in the loop: %v", p) // clients may see it; the stack is for the log
			l.log.Error("panic in the loop", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if l.handle() {
		return leave, nil
	}
	if l.failed != nil || l.sched.Idle() {
		l.publish()
		l.drained()
		return rest, nil
	}
	worked, err := l.stepOnce()
	if err != nil || worked {
		return again, err
	}
	l.publish()
	return doze, nil
}

// drained tells those who wait in Drain that nothing is left.
func (l *loop) drained() {
	for _, d := range l.drainers {
		close(d)
	}
	l.drainers = nil
}

// pause waits for a command, or until a parked stream has stalled.
func (l *loop) pause() {
	at, ok := l.sched.Wake()
	if !ok {
		<-l.in.wake
		return
	}
	t := time.NewTimer(max(at-l.now(), time.Millisecond))
	defer t.Stop()
	select {
	case <-l.in.wake:
	case <-t.C:
	}
}

// stepOnce plans, runs and commits one step.
func (l *loop) stepOnce() (worked bool, err error) {
	l.propose()
	now := l.now()
	plan := l.sched.Next(now)
	l.begin(plan, now)
	if len(plan.Spans) == 0 {
		l.endStalled()
		return len(plan.Ended) > 0, nil
	}
	rows := l.fill(plan)
	if len(plan.Copies) > 0 {
		l.copies = l.copies[:0]
		for _, c := range plan.Copies {
			l.copies = append(l.copies, backend.PageCopy{From: int32(c.From), To: int32(c.To)})
		}
		l.runner.CopyPages(l.copies)
	}
	logits := l.logits[:rows*l.width]
	if err := l.compute(plan, logits); err != nil {
		return false, err
	}
	if l.sample(plan, logits); l.pick.err != nil {
		return false, l.pick.err
	}
	end := l.now()
	l.sched.Commit(plan, end-now, l.outcomes)
	l.finishStep(plan, now, end)
	if len(l.results) > 0 {
		// Readers were woken on this goroutine's processor: they run before the next
		// step takes it, or where Go has no other to spare they would wait for its end.
		runtime.Gosched()
	}
	l.endStalled()
	return true, nil
}

// propose sets the drafts of the sequences that decode, as far as there are rows
// of logits beyond the one that each may want.
func (l *loop) propose() {
	if l.spec.K == 0 {
		return
	}
	for _, c := range l.drafted { // one that the last step left out must not bring its draft later
		c.seq.Draft = nil
	}
	l.drafted = l.drafted[:0]
	spare := l.maxRows - l.maxSeqs
	for _, c := range l.decoding { // the order decides only who drafts, never what is drawn
		left := min(l.spec.K, spare, c.max-c.tokens-1)
		if left <= 0 || c.gone || c.job.parked {
			continue
		}
		g := l.spec
		g.K = left
		c.draft = g.Propose(c.draft[:0], c.seq.Tokens)
		c.seq.Draft = c.draft
		l.drafted = append(l.drafted, c)
		spare -= len(c.draft)
	}
}

// begin notes what the plan did to sequences before any row is computed.
func (l *loop) begin(plan *sched.Plan, now time.Duration) {
	for _, q := range plan.Admitted {
		c := l.live[q.ID]
		if c == nil {
			continue
		}
		j := c.job
		if j.rec.Scheduled == 0 {
			j.rec.Scheduled = now
		}
		if c.index == 0 {
			cached := q.Cached()
			j.rec.PromptTokens, j.rec.CachedTokens = j.promptTokens, cached
			j.cached.Store(int64(cached))
			l.books.prompt[j.op][j.origin] += uint64(j.promptTokens)
			l.books.cached[j.op][j.origin] += uint64(cached)
		}
	}
	for _, e := range plan.Ended {
		if c := l.live[e.Seq.ID]; c != nil {
			l.forget(c)
			l.stalled = append(l.stalled, c.job)
		}
	}
}

// endStalled ends the jobs of which the scheduler ended a choice. Not while a plan
// is open: what else they have in the scheduler is cancelled.
func (l *loop) endStalled() {
	for _, j := range l.stalled {
		l.endJob(j, ErrStalled)
	}
	l.stalled = l.stalled[:0]
}

// fail ends every request with a device error; the loop lives on to say so to
// those that come.
func (l *loop) fail(err error) {
	l.failed = &DeviceError{err}
	l.status.Store(statusFailed)
	l.log.Error("the device failed", "err", err)
	if j := l.adding; j != nil { // the failure came while it was taken in
		for _, c := range j.choices {
			l.forget(c)
		}
		l.refuse(j, l.failed)
	}
	if !l.closeBooks() {
		for _, c := range l.live {
			l.forget(c)
			if c.job.live == 0 && !c.job.over {
				l.close(c.job, l.failed)
			}
		}
		for _, j := range l.stalled { // those of which nothing was live any more
			if !j.over && j.live == 0 {
				l.close(j, ErrStalled)
			}
		}
	}
	l.stalled = l.stalled[:0]
	l.drained()
}

// closeBooks ends all requests through the scheduler, which drops a half-done
// step, and reports whether that went well: the scheduler may be what failed.
func (l *loop) closeBooks() (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	l.endStalled() // the step that failed may have begun with ending them
	l.abort(l.failed)
	return true
}

// abort ends every job with err.
func (l *loop) abort(err error) {
	for _, c := range l.live {
		l.endJob(c.job, err)
	}
	l.publish()
}
