package engine

import (
	"errors"
	"time"

	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// handle carries out what waits in the inbox and reports whether to leave. It
// keeps its place in l.handled: after a panic the next call goes on behind the
// command that raised it, so that nobody waits for an answer that was lost.
func (l *loop) handle() (leave bool) {
	if l.handled == len(l.commands) {
		l.commands, l.handled = l.in.take(l.commands), 0
	}
	for l.handled < len(l.commands) {
		c := l.commands[l.handled]
		l.commands[l.handled] = command{}
		l.handled++
		switch c.kind {
		case cmdAdd:
			l.add(c.job)
		case cmdCancel:
			l.endJob(c.job, c.err)
			l.publish()
		case cmdUnpark:
			l.park(c.job, false)
		case cmdDrain:
			l.sched.Drain()
			l.drainers = append(l.drainers, c.drained)
			l.publish()
		case cmdAbort:
			l.abort(c.err)
		case cmdClose:
			l.closing = true
		}
	}
	if l.closing {
		l.abort(ErrClosed)
		l.drained()
		for _, c := range l.in.close() {
			switch c.kind {
			case cmdAdd:
				l.refuse(c.job, ErrClosed)
			case cmdDrain:
				close(c.drained)
			}
		}
		l.publish()
	}
	return l.closing
}

// add offers a job to the scheduler and answers its submitter.
func (l *loop) add(j *job) {
	l.adding = j
	if l.failed != nil {
		l.refuse(j, l.failed)
		return
	}
	now := l.now()
	first := j.choices[0]
	for _, c := range j.choices {
		l.nextID++
		c.seq.ID = l.nextID
		c.seq.Arrival = j.rec.Arrival
	}
	if err := l.sched.Add(now, &first.seq); err != nil {
		l.refuse(j, schedError(err, j, l.context))
		l.publish()
		return
	}
	for _, c := range j.choices {
		l.live[c.seq.ID] = c
		c.max = min(c.max, c.seq.Limit()) // a small pool may hold less than the context
	}
	j.live = len(j.choices)
	j.rec.Queued = now
	l.publish()
	l.adding = nil
	j.ack <- nil
}

// refuse answers a submitter with an error and lets the job go.
func (l *loop) refuse(j *job, err error) {
	j.over = true
	l.publish()
	l.adding = nil
	j.ack <- err
	j.finish()
}

// park stops or restarts a whole job for its reader.
func (l *loop) park(j *job, parked bool) {
	if j.over || j.parked == parked {
		return
	}
	j.parked = parked
	for _, c := range j.choices {
		if !c.gone {
			l.sched.Park(c.seq.ID, parked)
		}
	}
}

// endJob takes what is left of a job out of the scheduler and ends its stream
// with err. It does nothing for a job that has ended.
func (l *loop) endJob(j *job, err error) {
	if j.over {
		return
	}
	for _, c := range j.choices {
		if !c.gone {
			l.sched.Cancel(c.seq.ID, endReason(err))
			l.forget(c)
		}
	}
	l.close(j, err)
}

// forget drops a choice that is no longer in the scheduler.
func (l *loop) forget(c *choice) {
	if c.gone {
		return
	}
	c.gone = true
	c.job.live--
	delete(l.live, c.seq.ID)
}

// close finishes a job whose choices are all gone: its record, its stream, and
// last its done channel, each seen only after what comes before it.
func (l *loop) close(j *job, err error) {
	j.over = true
	l.publish()
	l.letGo(j, err, l.now())
	j.ring.end(err)
	j.finish()
}

// letGo is the loop's last use of a job's record: it completes it, finishes one
// that came without an edge, and gives one of an edge back.
func (l *loop) letGo(j *job, err error, now time.Duration) {
	j.account(err)
	if j.parts != nil {
		return
	}
	if j.owned {
		j.rec.Finished = now
		l.model.Finish(j.rec)
	} else {
		j.rec.Release()
	}
}

// endReason says to the scheduler why a sequence is taken out.
func endReason(err error) sched.Reason {
	var device *DeviceError
	switch {
	case errors.As(err, &device):
		return sched.ReasonError
	case errors.Is(err, ErrDraining), errors.Is(err, ErrClosed):
		return sched.ReasonDraining
	case errors.Is(err, errDeadline):
		return sched.ReasonDeadline
	case failReason(err) == metrics.Disconnect:
		return sched.ReasonDisconnect
	}
	return sched.ReasonError
}

// schedError turns the scheduler's refusal into the engine's error.
func schedError(err error, j *job, context int) error {
	var (
		full  *sched.QueueFullError
		large *sched.TooLargeError
		ctx   *sched.ContextError
	)
	switch {
	case errors.As(err, &full):
		return &QueueFullError{Queued: full.Queued, Max: full.Max, RetryAfter: max(full.RetryAfter, time.Second)}
	case errors.As(err, &large):
		return &PagesError{Need: large.Need, Have: large.Have}
	case errors.As(err, &ctx):
		return &ContextError{PromptTokens: j.promptTokens, MaxTokens: j.choices[0].max, Context: context, Pooled: ctx.Pooled}
	case errors.Is(err, sched.ErrDraining):
		return ErrDraining
	}
	return err
}
