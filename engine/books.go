package engine

import (
	"github.com/paddock-go/paddock/internal/sample"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// books is what the loop counts beside the scheduler, and the entries of one
// step before they are pushed.
type books struct {
	prompt, cached, generated metrics.TokenCounts
	work                      work // estimated, of all steps

	entries []entry
	tops    []sample.Alternative // the entries' alternatives, end to end

	fixed metrics.Snapshot // what never changes: page size, KV type, memory
}

// kvLabels are the element types of the KV cache as metrics have them.
var kvLabels = map[KVType]metrics.KVType{KVF32: metrics.KVF32, KVF16: metrics.KVF16, KVBF16: metrics.KVBF16, KVQ8_0: metrics.KVQ8_0}

// alternatives returns room for k alternatives of one entry. Room given earlier
// stays as it is when the buffer grows.
func (b *books) alternatives(k int) []sample.Alternative {
	n := len(b.tops)
	for range k {
		b.tops = append(b.tops, sample.Alternative{})
	}
	return b.tops[n : n+k : n+k]
}

// publish renews the snapshot that a scrape reads, from the scheduler's counts and
// the loop's own.
func (l *loop) publish() {
	b := l.pub.next()
	st := l.sched.Stats()
	s := &b.s
	*s = l.books.fixed
	s.Prompt, s.Cached, s.Generated = l.books.prompt, l.books.cached, l.books.generated
	s.Flops, s.ReadBytes, s.WriteBytes = l.books.work.flops, l.books.work.read, l.books.work.write
	fromSched(s, &st)
	l.pub.publish(b)
}

// endReasons sorts the scheduler's reasons into those that metrics count.
var endReasons = [sched.NumReasons]metrics.EndReason{
	sched.ReasonStop:         metrics.EndStop,
	sched.ReasonStopSequence: metrics.EndStop,
	sched.ReasonToolCalls:    metrics.EndStop,
	sched.ReasonLength:       metrics.EndLength,
	sched.ReasonAbort:        metrics.EndAbort,
	sched.ReasonDisconnect:   metrics.EndAbort,
	sched.ReasonDeadline:     metrics.EndAbort,
	sched.ReasonDraining:     metrics.EndAbort,
	sched.ReasonError:        metrics.EndError,
}

// waitReasons does the same for what a sequence waits for.
var waitReasons = [sched.NumWaits]metrics.WaitReason{
	sched.WaitCapacity:  metrics.WaitCapacity,
	sched.WaitPreempted: metrics.WaitPreempted,
	sched.WaitPrefix:    metrics.WaitPrefix,
	sched.WaitRestoring: metrics.WaitRestoring,
	sched.WaitGrammar:   metrics.WaitGrammar,
	sched.WaitParked:    metrics.WaitParked,
}

// fromSched copies the scheduler's counts to the fields that tell of them.
func fromSched(s *metrics.Snapshot, st *sched.Stats) {
	s.Admitted, s.Running = st.Admitted, st.Running
	for r := sched.ReasonNone + 1; r < sched.NumReasons; r++ {
		s.Finished[endReasons[r]] += st.Finished[r]
	}
	for w := sched.WaitNone + 1; w < sched.NumWaits; w++ {
		s.Waiting[waitReasons[w]] += st.WaitingBy[w]
	}
	s.PromptFrom[metrics.FromCompute] = st.PromptComputed
	s.PromptFrom[metrics.FromPrefix] = st.PromptPrefix
	s.PrefixQueries, s.PrefixHits = st.PrefixQueries, st.PrefixHits
	s.Rejected[metrics.RejectQueueFull] = st.Rejected.QueueFull
	s.Rejected[metrics.RejectContextLength] = st.Rejected.ContextLength
	s.Rejected[metrics.RejectDraining] = st.Rejected.Draining
	s.Rejected[metrics.RejectOutOfPages] = st.Rejected.OutOfPages
	s.Preemptions, s.Recomputed, s.PagesEvicted = st.Preemptions, st.RecomputedTokens, st.Pages.Evicted
	s.PagesUsed, s.PagesFree, s.PagesCached, s.PagesTotal = st.Pages.Used, st.Pages.Free, st.Pages.Cached, st.Pages.Pages
	s.Spec.Drafts, s.Spec.DraftTokens, s.Spec.AcceptedTokens = st.Drafts, st.DraftTokens, st.AcceptedTokens
	s.Spec.AcceptedAt = st.AcceptedPerPos
}

// The two packages count as many positions of a draft.
var _ = [1]struct{}{}[metrics.MaxDraft-sched.MaxDraft]
