package sched

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// load is a random run: random limits, then random commands, then everybody is let go and must drain.
type load struct {
	*sim
	draw func(n int) int // a number below n
	last SeqID
}

func newLoad(t failer, draw func(int) int) *load {
	tokens := 1 + draw(24)
	l := Limits{
		MaxTokens:     tokens,
		MaxSequences:  1 + draw(tokens),
		MaxQueue:      1 + draw(12),
		MaxChunk:      draw(tokens + 1),
		MinChunk:      draw(6),
		MaxStepTime:   time.Duration(draw(3)-1) * 10 * time.Millisecond,
		StallTimeout:  time.Duration(draw(3)-1) * 50 * time.Millisecond,
		NoPrefixCache: draw(8) == 0,
	}
	if draw(3) == 0 {
		l.MaxContext = 4 + draw(40)
	}
	return &load{sim: newSim(t, 1+draw(20), 1+draw(5), l), draw: draw}
}

// pick is a random live sequence, the same for the same draws.
func (d *load) pick() *Sequence {
	if len(d.live) == 0 {
		return nil
	}
	ids := make([]SeqID, 0, len(d.live))
	for id := range d.live {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return d.live[ids[d.draw(len(ids))]]
}

func (d *load) command() {
	switch op := d.draw(12); op {
	case 0, 1, 2:
		d.arrive()
	case 3:
		if q := d.pick(); q != nil {
			d.cancel(q.ID, ReasonAbort)
		}
	case 4:
		if q := d.pick(); q != nil {
			d.s.Park(q.ID, d.draw(3) > 0)
		}
	case 5:
		if q := d.pick(); q != nil {
			d.stop[q.ID] = []Reason{ReasonStop, ReasonStopSequence, ReasonError}[d.draw(3)]
		}
	case 6:
		if q := d.pick(); q != nil && q.Generated() > 0 {
			d.doDraft(q, d.draw(4), d.draw(3))
		}
	case 7:
		d.failed()
	default:
		d.step(time.Duration(d.draw(30)) * time.Millisecond)
	}
	d.check()
}

// arrive adds a request. Prompts come from a tree of few branches, so that many share a beginning.
func (d *load) arrive() {
	d.last++
	q := &Sequence{
		ID: d.last, MaxTokens: d.draw(12), Priority: d.draw(6) / 4, Arrival: d.now,
		Tenant: []string{"", "a", "b"}[d.draw(3)], Scope: []string{"", "s"}[d.draw(5)/4], NoPrefix: d.draw(8) == 0,
	}
	for n := 1 + d.draw(30); len(q.Tokens) < n; {
		q.Tokens = append(q.Tokens, int32(d.draw(5)/4))
	}
	if d.draw(4) == 0 {
		for range 1 + d.draw(4) {
			d.last++
			q.Forks = append(q.Forks, &Sequence{ID: d.last})
		}
	}
	if d.add(q) != nil && (q.State() != StateNew || len(q.Table()) > 0) {
		d.t.Fatalf("sequence %d was refused and is %s", q.ID, q.State())
	}
}

// failed is a step that comes to nothing: some of its sequences are cancelled and the others planned again, its copies
// were never performed.
func (d *load) failed() {
	p := d.next()
	for _, b := range slices.Clone(p.Spans) {
		if d.draw(2) == 0 {
			d.cancel(b.Seq.ID, ReasonError)
		}
	}
	if d.s.open { // nobody was cancelled: computed, but without a choice of tokens
		d.compute(p)
		d.commit(p, nil, 0)
	}
	d.books.Preemptions = d.s.Stats().Preemptions // dropping a plan preempts whom it copied for
}

// drain lets everybody read again and steps until nobody is left.
func (d *load) drain() {
	for _, q := range d.live {
		if q.parked {
			d.s.Park(q.ID, false)
		}
	}
	d.s.Drain()
	work := 0 // rows that could be needed if everything went wrong once for each row of others
	for _, q := range d.live {
		work += q.PromptLen + q.Limit()
	}
	for steps := 0; len(d.live) > 0; steps++ {
		if steps > 20*work+100 {
			d.t.Fatalf("%d sequences are left after %d steps\n%s", len(d.live), steps, d.show())
		}
		d.step(time.Millisecond)
	}
	if s := d.s.Stats(); s.Pages.Used != 0 || s.Running != 0 || s.Waiting != 0 {
		d.t.Fatalf("idle, and %+v", s)
	}
}

func TestRandomLoads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newLoad(t, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") })
		for range rapid.IntRange(1, 120).Draw(t, "commands") {
			d.command()
		}
		d.drain()
	})
}

func FuzzLoads(f *testing.F) {
	f.Add([]byte{23, 9, 7, 0, 0, 0, 1, 1, 1, 1, 19, 3, 0, 5, 0, 0, 0, 0, 9, 0, 1, 1, 1, 1, 0, 9, 9, 9, 9})
	f.Add([]byte{4, 2, 7, 0, 0, 1, 1, 1, 0, 30, 9, 2, 0, 8, 0, 0, 0, 0, 20, 4, 4, 4, 0, 0, 0, 3, 1, 9, 1, 2, 4, 0, 1, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		d := newLoad(t, func(n int) int {
			if len(data) == 0 {
				return 0
			}
			v := int(data[0]) % n
			data = data[1:]
			return v
		})
		for commands := 0; len(data) > 0 && commands < 400; commands++ {
			d.command()
		}
		d.drain()
	})
}
