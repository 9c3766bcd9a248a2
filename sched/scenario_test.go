package sched

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paddock-go/paddock/internal/datadriven"
)

// TestScenarios runs testdata/*.txt on a simulated machine (see sim). After each command everything is checked.
//
//	new pages=16 size=4 [tokens= seqs= queue= context= chunk= minchunk= steptime=ms stall=ms prefix=off]
//	                        begin; without steptime no time target
//	add 1 prompt=text [max= prio= tenant= scope= forks=2,3 noprefix=on]
//	step [n=1] [took=ms]    plan, compute, commit, n times; prints what the plan says and who ended
//	run                     steps until nobody is left or everybody is parked; prints the number of steps and who ended
//	draft 1 right=2 wrong=1 what the caller guesses for sequence 1
//	stop 1 [reason=stop]    its next token is its last
//	fail [4]                plan, then cancel all that is planned, or only these: the step failed
//	cancel 1 2 [reason=abort] / park 1 / unpark 1 / drain / wait ms=
//	show                    every live sequence, by id
//	stats                   the counters that are not 0
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var m *sim
		datadriven.Run(t, path, func(t *testing.T, c *datadriven.Command) string {
			if c.Name == "new" {
				m = begin(t, c)
				return ""
			}
			m.t = t
			out := m.do(t, c)
			m.check()
			return out
		})
	})
}

func begin(t *testing.T, c *datadriven.Command) *sim {
	ms := func(key string, otherwise int) time.Duration {
		return time.Duration(c.Int(t, key, otherwise)) * time.Millisecond
	}
	return newSim(t, c.Int(t, "pages", 16), c.Int(t, "size", 4), Limits{
		MaxTokens: c.Int(t, "tokens", 32), MaxSequences: c.Int(t, "seqs", 0), MaxQueue: c.Int(t, "queue", 0),
		MaxContext: c.Int(t, "context", 0), MaxChunk: c.Int(t, "chunk", 0), MinChunk: c.Int(t, "minchunk", 1),
		MaxStepTime: ms("steptime", -1), StallTimeout: ms("stall", 0), NoPrefixCache: c.String("prefix", "on") == "off",
	})
}

func (m *sim) do(t *testing.T, c *datadriven.Command) string {
	id := func() SeqID {
		n, err := strconv.Atoi(c.Arg(t, 0))
		if err != nil {
			t.Fatalf("%s: %v", c.Pos, err)
		}
		return SeqID(n)
	}
	switch c.Name {
	case "add":
		return m.doAdd(t, c, id())
	case "step":
		return m.doStep(t, c)
	case "run":
		return m.doRun(t, c)
	case "draft":
		if m.live[id()] == nil {
			t.Fatalf("%s: not live", c.Pos)
		}
		m.doDraft(m.live[id()], c.Int(t, "right", 0), c.Int(t, "wrong", 0))
	case "stop":
		m.stop[id()] = reasonOf(t, c.String("reason", "stop"))
	case "fail":
		p := m.next()
		text := p.String()
		for _, b := range slices.Clone(p.Spans) {
			if len(c.Args) == 0 || slices.Contains(c.Args, fmt.Sprint(b.Seq.ID)) {
				m.cancel(b.Seq.ID, ReasonError)
			}
		}
		m.books.Preemptions = m.s.Stats().Preemptions // dropping a plan preempts whom it copied for
		return text + m.takeEnded()
	case "cancel":
		r := reasonOf(t, c.String("reason", "abort"))
		for i := range max(1, len(c.Args)) {
			n, err := strconv.Atoi(c.Arg(t, i))
			if err != nil {
				t.Fatalf("%s: %v", c.Pos, err)
			}
			if m.live[SeqID(n)] == nil && !m.s.Cancel(SeqID(n), r) {
				return "not live"
			}
			m.cancel(SeqID(n), r)
		}
		return m.takeEnded()
	case "park", "unpark":
		if !m.s.Park(id(), c.Name == "park") {
			return "not live"
		}
	case "drain":
		m.s.Drain()
	case "wait":
		m.now += time.Duration(c.Int(t, "ms", 0)) * time.Millisecond
	case "show":
		return m.show()
	case "stats":
		return m.stats()
	default:
		t.Fatalf("%s: no command %s", c.Pos, c.Name)
	}
	return ""
}

func reasonOf(t *testing.T, name string) Reason {
	i := slices.Index(reasonNames[:], name)
	if i < 0 {
		t.Fatalf("no reason %s", name)
	}
	return Reason(i)
}

func (m *sim) doAdd(t *testing.T, c *datadriven.Command, id SeqID) string {
	q := &Sequence{
		ID: id, Tokens: words(c.String("prompt", "")), MaxTokens: c.Int(t, "max", 0), Priority: c.Int(t, "prio", 0),
		Tenant: c.String("tenant", ""), Scope: c.String("scope", ""), NoPrefix: c.Has("noprefix"), Arrival: m.now,
	}
	for f := range strings.SplitSeq(c.String("forks", ""), ",") {
		if n, err := strconv.Atoi(f); err == nil {
			q.Forks = append(q.Forks, &Sequence{ID: SeqID(n)})
		}
	}
	if err := m.add(q); err != nil {
		return err.Error()
	}
	return ""
}

func (m *sim) doStep(t *testing.T, c *datadriven.Command) string {
	var b strings.Builder
	took := time.Duration(c.Int(t, "took", 1)) * time.Millisecond
	for range c.Int(t, "n", 1) {
		p := m.next()
		text := p.String() // before Commit changes the sequences
		m.compute(p)
		m.commit(p, m.sample(p), took)
		m.check()
		if text == "" {
			text = "nothing\n"
		}
		b.WriteString(text + m.takeEnded())
	}
	return b.String()
}

func (m *sim) doRun(t *testing.T, c *datadriven.Command) string {
	took := time.Duration(c.Int(t, "took", 1)) * time.Millisecond
	for steps := 0; ; steps++ {
		if steps > 1000 {
			t.Fatalf("%s: no end after %d steps\n%s", c.Pos, steps, m.show())
		}
		if p := m.step(took); p.Empty() {
			return fmt.Sprintf("%d steps\n%s", steps, m.takeEnded())
		}
	}
}

// doDraft guesses the first so many tokens right and then so many wrong.
func (m *sim) doDraft(q *Sequence, right, wrong int) {
	tokens := append([]int32(nil), q.Tokens...)
	q.Draft = q.Draft[:0]
	for i := range right + wrong {
		next := say(q, tokens)
		if i >= right {
			next++
		}
		tokens, q.Draft = append(tokens, next), append(q.Draft, next)
	}
}

func (m *sim) show() string {
	var b strings.Builder
	ids := make([]SeqID, 0, len(m.live))
	for id := range m.live {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		q := m.live[id]
		fmt.Fprintf(&b, "%d %s", id, q.State())
		if q.Wait() != WaitNone {
			fmt.Fprintf(&b, " for %s", q.Wait())
		}
		fmt.Fprintf(&b, ", computed %d of %d, pages %v\n", q.Computed(), len(q.Tokens), q.Table())
	}
	return b.String()
}

func (m *sim) stats() string {
	s := m.s.Stats()
	var b strings.Builder
	line := func(name string, n uint64) {
		if n > 0 {
			fmt.Fprintf(&b, "%s %d\n", name, n)
		}
	}
	line("admitted", s.Admitted)
	line("running", uint64(s.Running))
	for w, n := range s.WaitingBy {
		line("waiting "+Wait(w).String(), uint64(n))
	}
	for r, n := range s.Finished {
		line("finished "+Reason(r).String(), n)
	}
	line("preemptions", s.Preemptions)
	line("recomputed", s.RecomputedTokens)
	line("prompt tokens", s.PromptTokens)
	line("prompt computed", s.PromptComputed)
	line("prompt prefix", s.PromptPrefix)
	line("prefix queries", s.PrefixQueries)
	line("prefix hits", s.PrefixHits)
	line("generated", s.GeneratedTokens)
	line("steps", s.Steps)
	line("slow steps", s.SlowSteps)
	line("rows", s.Rows)
	line("drafts", s.Drafts)
	line("draft tokens", s.DraftTokens)
	line("accepted", s.AcceptedTokens)
	for i, n := range s.AcceptedPerPos {
		line(fmt.Sprintf("accepted at %d", i), n)
	}
	line("rejected: queue full", s.Rejected.QueueFull)
	line("rejected: context", s.Rejected.ContextLength)
	line("rejected: pages", s.Rejected.OutOfPages)
	line("rejected: draining", s.Rejected.Draining)
	fmt.Fprintf(&b, "pages used %d free %d cached %d evicted %d\n", s.Pages.Used, s.Pages.Free, s.Pages.Cached, s.Pages.Evicted)
	return b.String()
}
