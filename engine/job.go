package engine

import (
	"context"
	"sync/atomic"

	"github.com/paddock-go/paddock/internal/sample"
	"github.com/paddock-go/paddock/internal/tokenizer"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// job is one submitted request inside the engine. Its parts have owners:
//
//	written before Submit posts it, then only read:   the plain fields
//	the loop's alone, until done is closed:           choices, rec, live, parked, over
//	shared:                                           ring, the atomics, done
type job struct {
	ring         *ring
	promptTokens int
	minTokens    int
	seed         int64
	ends         func(id int32) bool // token ends a choice
	logprobs     int                 // 0 none, 1+k
	pooled       []float32           // room for the embedding, the loop's until done; nil: the job generates
	parts        *heldPages          // of a request with more jobs, whose record another goroutine keeps; else nil

	choices []*choice
	rec     *metrics.Record
	op      metrics.Operation
	origin  metrics.Origin
	owned   bool // the engine made rec and finishes it
	live    int  // choices still in the scheduler
	parked  bool
	over    bool   // ended by the loop
	held    uint64 // the step for which hold has counted

	cached    atomic.Int64
	generated atomic.Int64

	unwatch atomic.Pointer[func() bool] // stops watching the caller's context
	ack     chan error                  // the loop's answer to Submit, once
	done    chan struct{}               // closed when the loop has let go of the job
}

// choice is one answer of a job: a sequence, its sampler and its stop strings.
type choice struct {
	job     *job
	index   int
	seq     sched.Sequence
	sampler *sample.Sampler
	match   *tokenizer.StopMatcher // nil: no stop strings
	last    int64                  // time of the latest token, ns; 0: none yet
	tokens  int                    // generated
	max     int                    // most tokens to generate
	draft   []int32                // proposals, reused
	out     []int32                // this step's tokens, reused
	gone    bool                   // no longer in the scheduler
}

// watch ends the job when ctx does, without a goroutine of its own. It is called
// once, after the loop took the job.
func (j *job) watch(ctx context.Context, in *inbox) {
	if ctx.Done() == nil {
		return
	}
	stop := context.AfterFunc(ctx, func() {
		in.post(command{kind: cmdCancel, job: j, err: contextError(ctx)})
	})
	j.unwatch.Store(&stop)
	select {
	case <-j.done: // it ended meanwhile, and saw nothing to stop
		stop()
	default:
	}
}

// finish lets everyone who waits for the job's end go on. Only the loop calls it,
// once.
func (j *job) finish() {
	close(j.done)
	if stop := j.unwatch.Load(); stop != nil {
		(*stop)()
	}
}
