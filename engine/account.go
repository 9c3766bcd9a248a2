package engine

import (
	"github.com/paddock-go/paddock/kvcache"
	"github.com/paddock-go/paddock/metrics"
)

// hold notes the KV pages that the job's sequences hold in a step, if they are more
// than ever: the sum over its choices, so that a page that two of them share counts
// for both, as it does in their block tables. It looks once a step, when pages
// were taken and none were given back yet.
func (j *job) hold(step uint64) {
	if j.held == step {
		return
	}
	j.held = step
	n := 0
	for _, c := range j.choices {
		n += len(c.seq.Table())
	}
	if j.parts != nil {
		j.parts.hold(step, n)
		return
	}
	j.rec.KVPages = max(j.rec.KVPages, n)
}

// account writes into the record of a job that is over what its sequences went
// through. err is nil where every choice finished.
func (j *job) account(err error) {
	r := j.rec
	r.Preemptions, r.Drafted, r.Accepted = 0, 0, 0
	for _, c := range j.choices {
		t := c.seq.Tally()
		r.Preemptions += t.Preemptions
		r.Drafted += t.Drafted
		r.Accepted += t.Accepted
	}
	if r.Fail = failReason(err); r.Fail != metrics.NoFail {
		r.Finish = metrics.NoFinish // some of its choices may have finished; the request has not
	}
}

// evicted takes note of a sampled KV page; the step that is being planned tells of it.
func (l *loop) evicted(r kvcache.Residency) {
	l.step.Residency = append(l.step.Residency, metrics.PageResidency(r))
}
