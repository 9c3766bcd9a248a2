package sched

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/paddock-go/paddock/kvcache"
)

// sim drives a scheduler the way an engine does, with a made-up model and a memory that tells everything.
//
// A slot of the memory holds the history of the token that was computed into it: a hash of the scope and of all tokens up
// to it. That is what keys and values are a function of. A row may only be computed if the slots of all tokens before it
// hold their histories, so a page that is shared, kept, copied, evicted or overwritten wrongly shows at once. The token
// that follows is a function of history and choice, so what a sequence must say is known beforehand.
type sim struct {
	t      failer
	s      *Scheduler
	pool   *kvcache.Pool
	memory []uint64
	now    time.Duration
	live   map[SeqID]*Sequence
	books  Stats            // what the counters must be, counted by hand
	stop   map[SeqID]Reason // ends these with their next token
	ended  []Ended
	tally  Tally // of those that ended
}

// failer is what testing.T and rapid.T have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func newSim(t failer, pages, size int, l Limits) *sim {
	t.Helper()
	p, err := kvcache.New(pages, size)
	if err != nil {
		t.Fatal(err)
	}
	return &sim{
		t: t, s: New(p, l), pool: p, memory: make([]uint64, pages*size),
		live: map[SeqID]*Sequence{}, stop: map[SeqID]Reason{},
	}
}

// history is the hash of everything that decides keys and values of the last of tokens.
func history(q *Sequence, tokens []int32) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q %v", q.Adapter, q.Scope, tokens)
	return h.Sum64()
}

// say is the token that follows tokens in this choice.
func say(q *Sequence, tokens []int32) int32 {
	return int32((history(q, tokens)>>7 ^ uint64(q.ID)*0x9e3779b97f4a7c15>>32) % 5)
}

// alone is what q says with nobody else around.
func alone(q *Sequence, n int) []int32 {
	tokens := append([]int32(nil), q.Tokens[:q.PromptLen]...)
	for range n {
		tokens = append(tokens, say(q, tokens))
	}
	return tokens
}

func (m *sim) add(q *Sequence) error {
	err := m.s.Add(m.now, q)
	if err == nil {
		m.books.Admitted += uint64(1 + len(q.Forks))
		m.live[q.ID] = q
		for _, f := range q.Forks {
			m.live[f.ID] = f
		}
	}
	return err
}

func (m *sim) cancel(id SeqID, r Reason) {
	q, known := m.live[id], m.live[id] != nil
	if m.s.Cancel(id, r) != known {
		m.t.Fatalf("Cancel(%d) of a sequence that is live: %v", id, known)
	}
	if known {
		m.gone(q, r)
	}
}

func (m *sim) gone(q *Sequence, r Reason) {
	m.books.Finished[r]++
	m.ended = append(m.ended, Ended{q, r})
	m.tally.add(q.Tally())
	delete(m.live, q.ID)
	delete(m.stop, q.ID)
	if q.State() != StateEnded || q.Reason() != r || len(q.Table()) != 0 {
		m.t.Fatalf("sequence %d ended as %s: it is %s as %s and holds %v", q.ID, r, q.State(), q.Reason(), q.Table())
	}
	if want := alone(q, q.Generated()); fmt.Sprint(want) != fmt.Sprint(q.Tokens) {
		m.t.Fatalf("sequence %d said %v, alone it says %v", q.ID, q.Tokens, want)
	}
}

// next plans a step and checks what must hold for every plan.
func (m *sim) next() *Plan {
	started := map[*Sequence]bool{}
	for _, q := range m.live {
		_, started[q] = q.FirstScheduled()
	}
	p := m.s.Next(m.now)
	for _, e := range p.Ended {
		m.gone(e.Seq, e.Reason)
	}
	m.books.Preemptions += uint64(len(p.Preempted))
	rows, seen := 0, map[*Sequence]bool{}
	for i := range p.Spans {
		b := &p.Spans[i]
		q := b.Seq
		if seen[q] || m.live[q.ID] != q || q.State() != StateRunning {
			m.t.Fatalf("sequence %d is %s, planned before: %v", q.ID, q.State(), seen[q])
		}
		seen[q] = true
		rows += b.Count
		known := len(q.Tokens)
		final := b.From+b.Count-b.Drafts == known
		if b.From != q.Computed() || b.Count < 1 || b.Drafts > len(q.Draft) || b.From+b.Count-b.Drafts > known ||
			final != (b.Logits > 0) || final && b.Logits != 1+b.Drafts || b.Drafts > 0 && !final || b.Forks != (final && len(q.Forks) > 0) {
			m.t.Fatalf("wrong span of a sequence with %d of %d computed: %s", q.Computed(), known, b)
		}
		if (b.From+b.Count+m.pool.PageSize()-1)/m.pool.PageSize() > len(q.Table()) {
			m.t.Fatalf("no page for the last row: %s", b)
		}
	}
	if rows != p.Tokens || rows > m.s.limits.MaxTokens {
		m.t.Fatalf("%d rows, the plan says %d, at most %d may be", rows, p.Tokens, m.s.limits.MaxTokens)
	}
	if p.Empty() {
		m.idleFor(p)
	}
	for _, q := range p.Admitted {
		if started[q] {
			m.t.Fatalf("sequence %d is admitted twice", q.ID)
		}
		m.books.PromptTokens += uint64(q.PromptLen)
		m.books.PromptPrefix += uint64(q.Cached())
	}
	return p
}

// idleFor fails unless everybody is parked or waits for a parked leader.
func (m *sim) idleFor(p *Plan) {
	for _, q := range m.live {
		if !q.parked && (q.leader == nil || !q.leader.parked) {
			m.t.Fatalf("nothing is planned though sequence %d waits for %s\n%s", q.ID, q.Wait(), p)
		}
	}
}

// compute performs the copies and rows of a plan in the memory.
func (m *sim) compute(p *Plan) {
	size := m.pool.PageSize()
	for _, c := range p.Copies {
		copy(m.memory[int(c.To)*size:(int(c.To)+1)*size], m.memory[int(c.From)*size:(int(c.From)+1)*size])
	}
	for i := range p.Spans {
		b := &p.Spans[i]
		row := append(append([]int32(nil), b.Seq.Tokens...), b.Seq.Draft...)
		for pos := b.From; pos < b.From+b.Count; pos++ {
			*m.slot(b.Seq, pos) = history(b.Seq, row[:pos+1])
		}
	}
	// All rows first, then all reads: two sequences that write to one slot can't both be right.
	for i := range p.Spans {
		b := &p.Spans[i]
		m.verify(b.Seq, append(append([]int32(nil), b.Seq.Tokens...), b.Seq.Draft...), b.From+b.Count)
	}
}

func (m *sim) slot(q *Sequence, pos int) *uint64 {
	size := m.pool.PageSize()
	return &m.memory[int(q.Table()[pos/size])*size+pos%size]
}

// verify reads back the first n tokens of q.
func (m *sim) verify(q *Sequence, tokens []int32, n int) {
	for pos := range n {
		if *m.slot(q, pos) != history(q, tokens[:pos+1]) {
			m.t.Fatalf("token %d of sequence %d (of %d computed) is not in its slot, pages %v", pos, q.ID, q.Computed(), q.Table())
		}
	}
}

// sample makes the outcomes.
func (m *sim) sample(p *Plan) (out []Outcome) {
	for i := range p.Spans {
		b := &p.Spans[i]
		if b.Logits == 0 {
			continue
		}
		out = append(out, m.outcome(b.Seq, b.Drafts))
		if b.Forks {
			for _, f := range b.Seq.Forks {
				out = append(out, m.outcome(f, 0))
			}
		}
	}
	return out
}

func (m *sim) outcome(q *Sequence, drafts int) Outcome {
	o := Outcome{Seq: q}
	known := append([]int32(nil), q.Tokens...)
	for i := 0; ; i++ {
		t := say(q, known)
		known, o.Tokens = append(known, t), append(o.Tokens, t)
		if i == drafts || q.Draft[i] != t {
			break
		}
	}
	o.Finish = m.stop[q.ID]
	if o.Finish == ReasonError { // a request that fails has no token in its last step
		o.Tokens = nil
	}
	if drafts > 0 {
		m.books.Drafts++
		m.books.DraftTokens += uint64(drafts)
		m.books.AcceptedTokens += uint64(max(0, len(o.Tokens)-1))
	}
	if o.Finish == ReasonNone && q.Generated()+len(o.Tokens) >= q.Limit() && q.ID%2 == 0 {
		o.Finish = ReasonLength // every other caller notices by itself
	}
	m.books.GeneratedTokens += uint64(len(o.Tokens))
	return o
}

// commit reports the outcomes and compares the books.
func (m *sim) commit(p *Plan, out []Outcome, took time.Duration) {
	if len(p.Spans) > 0 {
		m.books.Steps++
		m.books.Rows += uint64(p.Tokens)
	}
	m.s.Commit(p, took, out)
	for _, o := range out {
		if o.Seq.State() == StateEnded {
			m.gone(o.Seq, o.Seq.Reason())
		}
	}
	m.now += took
}

// step is a whole step.
func (m *sim) step(took time.Duration) *Plan {
	p := m.next()
	m.compute(p)
	m.commit(p, m.sample(p), took)
	m.check()
	return p
}

// check verifies everything that must hold between two calls.
func (m *sim) check() {
	m.t.Helper()
	if err := m.s.Check(); err != nil {
		m.t.Fatal(err)
	}
	for _, q := range m.live {
		m.verify(q, q.Tokens, q.Computed())
	}
	got, want := m.s.Stats(), m.books
	want.Running, want.Waiting, want.WaitingBy = got.Running, got.Waiting, got.WaitingBy // Check counted them
	want.Pages, want.Rejected, want.SlowSteps, want.AcceptedPerPos = got.Pages, got.Rejected, got.SlowSteps, got.AcceptedPerPos
	want.PromptComputed = want.PromptTokens - want.PromptPrefix
	want.RecomputedTokens, want.PrefixQueries = got.RecomputedTokens, got.PrefixQueries
	want.PrefixHits = want.PromptPrefix
	if got != want {
		m.t.Fatalf("the books are\n%+v\ncounted by hand they are\n%+v", got, want)
	}
	sum := m.tally
	for _, q := range m.live {
		sum.add(q.Tally())
	}
	if all := (Tally{int(got.Preemptions), int(got.DraftTokens), int(got.AcceptedTokens)}); sum != all {
		m.t.Fatalf("the sequences' tallies add up to %+v, the books say %+v", sum, all)
	}
	accepted := uint64(0)
	for _, n := range got.AcceptedPerPos {
		accepted += n
	}
	if accepted != got.AcceptedTokens || got.Running+got.Waiting != len(m.live) || m.s.Idle() != (len(m.live) == 0) {
		m.t.Fatalf("%d live sequences, %d accepted by position: %+v", len(m.live), accepted, got)
	}
}

func (t *Tally) add(o Tally) {
	t.Preemptions += o.Preemptions
	t.Drafted += o.Drafted
	t.Accepted += o.Accepted
}

// words makes tokens of a text, one a byte, so that with pages of four tokens a page is a word of four letters.
func words(s string) []int32 {
	tokens := make([]int32, len(s))
	for i := range s {
		tokens[i] = int32(s[i])
	}
	return tokens
}

func (m *sim) takeEnded() string {
	var b strings.Builder
	for _, e := range m.ended {
		fmt.Fprintf(&b, "ended %d %s after %d\n", e.Seq.ID, e.Reason, e.Seq.Generated())
	}
	m.ended = m.ended[:0]
	return b.String()
}
