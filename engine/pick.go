package engine

import (
	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/sample"
	"github.com/paddock-go/paddock/sched"
)

// picking is how a step's tokens are drawn where the runner finds the likeliest ones of
// each row itself: rows stay on its device but for those, few, whose draw these don't
// decide.
//
//	runner ─ Pick ─▶ 64 tokens a row ─ decided ──────────────▶ token
//	       ◀─ Row ──────────────────── not: the whole row ───▶ token
type picking struct {
	picker backend.Picker // nil: the runner hands out whole rows
	temps  []float32      // of the step's rows of logits
	picks  []backend.Pick
	now    bool  // in this step
	err    error // of a Row: the device failed
}

// newPicking makes what a runner for so many rows of logits needs.
func newPicking(r backend.Runner, rows int) picking {
	p, ok := r.(backend.Picker)
	if !ok {
		return picking{}
	}
	return picking{picker: p, temps: make([]float32, 0, rows), picks: make([]backend.Pick, rows)}
}

// compute runs the plan's batch, to rows of logits or, where all of them may be drawn
// from their likeliest tokens, to picks.
func (l *loop) compute(plan *sched.Plan, logits []float32) error {
	if l.pick.now = l.pickable(plan); !l.pick.now {
		return l.runner.Run(&l.batch, logits)
	}
	return l.pick.picker.Pick(&l.batch, l.pick.temps, l.pick.picks[:len(l.batch.Logits)])
}

// pickable tells whether every row of the plan is drawn from logits as they are, with
// no log probability asked for, and notes the temperatures.
func (l *loop) pickable(plan *sched.Plan) bool {
	l.pick.temps = l.pick.temps[:0]
	if l.pick.picker == nil {
		return false
	}
	for i := range plan.Spans {
		s := &plan.Spans[i]
		if s.Logits == 0 {
			continue
		}
		c := l.live[s.Seq.ID]
		if c.job.pooled != nil || c.job.logprobs > 0 || !c.sampler.Plain(c.tokens) {
			return false // so for the other choices of the job, which no row is computed for
		}
		for range s.Logits {
			l.pick.temps = append(l.pick.temps, c.sampler.Temperature())
		}
	}
	return len(l.pick.temps) > 0
}

// picked draws c's token at pos from what was picked of a row. Where that does not
// decide it the row comes to logits.
func (l *loop) picked(c *choice, row, pos int, logits []float32) (id int32, decided bool, err error) {
	if !l.pick.now {
		return 0, false, nil
	}
	p := &l.pick.picks[row]
	id, decided, err = c.sampler.NextOf(sample.Likeliest{
		Vocab: l.vocab, NaN: p.NaN, Logits: p.Logits[:p.Count], Tokens: p.Tokens[:p.Count],
		Rest: float64(p.Rest), Error: backend.PickError,
	}, pos, l.scratch)
	if !decided && err == nil {
		if err = l.pick.picker.Row(row, logits); err != nil {
			l.pick.err = err
		}
	}
	return id, decided, err
}
