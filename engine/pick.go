package engine

import (
	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/sample"
	"github.com/paddock-go/paddock/sched"
)

// picking is how a step's tokens are drawn where the runner finds the likeliest ones of
// each row itself: rows stay on its device but for those, few, whose draw these don't
// decide, and those of requests that want more of a row than a token.
//
//	runner ─ Pick ─▶ 64 tokens a row ─ decided ──────────────▶ token
//	       ◀─ Row ──────────────────── not: the whole row ───▶ token
type picking struct {
	picker backend.Picker // nil: the runner hands out whole rows
	temps  []float32      // of the step's rows of logits
	whole  []bool         // of those: what was picked says nothing of it
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
	return picking{picker: p, temps: make([]float32, 0, rows), whole: make([]bool, 0, rows), picks: make([]backend.Pick, rows)}
}

// compute runs the plan's batch, to picks where any row may be drawn from its likeliest
// tokens, else to rows of logits.
func (l *loop) compute(plan *sched.Plan, logits []float32) error {
	if l.pick.now = l.pickable(plan); !l.pick.now {
		return l.runner.Run(&l.batch, logits)
	}
	return l.pick.picker.Pick(&l.batch, l.pick.temps, l.pick.picks[:len(l.batch.Logits)])
}

// pickable tells whether any row of the plan is drawn from logits as they are, with no
// log probability asked for. It notes which are not, and the temperatures.
func (l *loop) pickable(plan *sched.Plan) (any bool) {
	l.pick.temps, l.pick.whole = l.pick.temps[:0], l.pick.whole[:0]
	if l.pick.picker == nil {
		return false
	}
	for i := range plan.Spans {
		s := &plan.Spans[i]
		if s.Logits == 0 {
			continue
		}
		c := l.live[s.Seq.ID]
		if c.job.pooled != nil {
			return false
		}
		// What holds for a choice holds for the others of its job, which no row is computed for.
		whole, temp := c.job.logprobs > 0 || !c.sampler.Plain(c.tokens), float32(0)
		if !whole {
			any, temp = true, c.sampler.Temperature()
		}
		for range s.Logits {
			l.pick.temps, l.pick.whole = append(l.pick.temps, temp), append(l.pick.whole, whole)
		}
	}
	return any
}

// picked draws c's token at pos from what was picked of a row. Where that does not
// decide it the row comes to logits.
func (l *loop) picked(c *choice, row, pos int, logits []float32) (id int32, decided bool, err error) {
	if !l.pick.now {
		return 0, false, nil
	}
	if !l.pick.whole[row] {
		p := &l.pick.picks[row]
		id, decided, err = c.sampler.NextOf(sample.Likeliest{
			Vocab: l.vocab, NaN: p.NaN, Logits: p.Logits[:p.Count], Tokens: p.Tokens[:p.Count],
			Rest: float64(p.Rest), Error: backend.PickError,
		}, pos, l.scratch)
	}
	if !decided && err == nil {
		if err = l.pick.picker.Row(row, logits); err != nil {
			l.pick.err = err
		}
	}
	return id, decided, err
}
