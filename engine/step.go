package engine

import (
	"time"

	"github.com/paddock-go/paddock/internal/sample"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// fill writes a plan into the batch and returns the rows of logits wanted.
func (l *loop) fill(plan *sched.Plan) int {
	l.steps++
	b := &l.batch
	b.Reset()
	b.SeqStart = append(b.SeqStart, 0)
	b.Stride = 1
	for i := range plan.Spans {
		s := &plan.Spans[i]
		b.Stride = max(b.Stride, (s.From+s.Count+l.page-1)/l.page)
	}
	for i := range plan.Spans {
		s := &plan.Spans[i]
		q := s.Seq
		table := q.Table()
		l.live[q.ID].job.hold(l.steps)
		row := len(b.Tokens)
		known := s.From + s.Count - s.Drafts
		b.Tokens = append(b.Tokens, q.Tokens[s.From:known]...)
		b.Tokens = append(b.Tokens, q.Draft[:s.Drafts]...)
		for p := s.From; p < s.From+s.Count; p++ {
			b.Pos = append(b.Pos, int32(p))
			b.Slots = append(b.Slots, int32(table[p/l.page])*int32(l.page)+int32(p%l.page))
		}
		pages := (s.From + s.Count + l.page - 1) / l.page
		for k := range b.Stride {
			page := int32(0)
			if k < pages {
				page = int32(table[k])
			}
			b.Tables = append(b.Tables, page)
		}
		b.SeqStart = append(b.SeqStart, int32(len(b.Tokens)))
		b.CtxLen = append(b.CtxLen, int32(s.From+s.Count))
		for k := s.Count - s.Logits; k < s.Count; k++ {
			b.Logits = append(b.Logits, int32(row+k))
		}
	}
	return len(b.Logits)
}

// sample draws the tokens of every row that wanted logits, in the plan's order.
func (l *loop) sample(plan *sched.Plan, logits []float32) {
	l.outcomes, l.results = l.outcomes[:0], l.results[:0]
	row := 0
	for i := range plan.Spans {
		s := &plan.Spans[i]
		if s.Logits == 0 {
			continue
		}
		first := row
		rows := logits[row*l.width : (row+s.Logits)*l.width]
		row += s.Logits
		if c := l.live[s.Seq.ID]; c.job.pooled != nil {
			l.pool(c, rows)
			continue
		}
		l.sampleChoice(l.live[s.Seq.ID], first, rows, s.From+s.Count-s.Drafts, s.Seq.Draft[:s.Drafts])
		if s.Forks {
			for _, f := range s.Seq.Forks {
				if c := l.live[f.ID]; c != nil {
					l.sampleChoice(c, first, rows, s.From+s.Count, nil)
				}
			}
		}
	}
}

// sampleChoice draws from rows until a drawn token is not the next draft: row i
// was computed as if drafts 0..i-1 had been drawn, so it counts only if they
// were. The first drawn token is the one at position pos, from the step's row first.
func (l *loop) sampleChoice(c *choice, first int, rows []float32, pos int, drafts []int32) {
	c.out = c.out[:0]
	res := result{c: c, first: len(l.books.entries)}
	reason := sched.ReasonNone
	for i := 0; i <= len(drafts); i++ {
		logits := rows[i*l.vocab : (i+1)*l.vocab]
		id, decided, err := l.picked(c, first+i, pos+i, logits)
		if !decided && err == nil {
			id, err = c.sampler.Next(logits, pos+i, c.tokens, l.scratch)
		}
		if err != nil {
			res.err = &TokenError{Position: pos + i, Err: err}
			break
		}
		c.sampler.Accept(id)
		c.tokens++
		c.out = append(c.out, id)
		e := entry{id: id, choice: int32(c.index)}
		if k := c.job.logprobs; k > 0 {
			e.top = l.books.alternatives(k - 1)
			e.logprob = sample.Logprobs(logits, id, e.top)
		}
		e.finish, reason = l.ends(c, id, pos+i+1)
		l.books.entries = append(l.books.entries, e)
		if res.finish = e.finish; e.finish != FinishNone || i == len(drafts) || id != drafts[i] {
			break
		}
	}
	if res.err != nil {
		c.out, reason = c.out[:0], sched.ReasonError
	}
	l.results = append(l.results, res)
	l.outcomes = append(l.outcomes, sched.Outcome{Seq: &c.seq, Tokens: c.out, Finish: reason})
}

// ends decides whether a choice is over with token id, the known-th of its
// sequence, and how.
func (l *loop) ends(c *choice, id int32, known int) (FinishReason, sched.Reason) {
	if c.tokens > c.job.minTokens {
		if c.job.ends(id) {
			return FinishStop, sched.ReasonStop
		}
		if c.match != nil {
			if _, stop := c.match.Push(l.text(id)); stop >= 0 {
				return FinishStopSequence, sched.ReasonStopSequence
			}
		}
	}
	if c.tokens >= c.max || known >= l.context {
		return FinishLength, sched.ReasonLength
	}
	return FinishNone, sched.ReasonNone
}

// finishStep counts the step, publishes, and only then pushes its tokens.
func (l *loop) finishStep(plan *sched.Plan, start, end time.Duration) {
	l.step.Tokens, l.step.Took, l.step.Gaps = plan.Tokens, end-start, l.step.Gaps[:0]
	if l.costs != nil {
		l.books.work.add(l.costs.step(plan))
	}
	for i, r := range l.results {
		j, n := r.c.job, len(l.outcomes[i].Tokens)
		if r.err != nil {
			continue
		}
		l.books.generated[j.op][j.origin] += uint64(n)
		j.generated.Add(int64(n))
		j.rec.Token(r.c.index, end, n)
		switch last := time.Duration(r.c.last); {
		case last == 0 && n > 1:
			l.step.Gaps = append(l.step.Gaps, metrics.TokenGap{Operation: j.op, Origin: j.origin, N: n - 1})
		case last != 0:
			l.step.Gaps = append(l.step.Gaps, metrics.TokenGap{Operation: j.op, Origin: j.origin, Gap: end - last, N: n})
		}
		r.c.last = int64(end)
		if r.finish != FinishNone {
			if r.c.index < len(j.rec.Choices) {
				j.rec.Choices[r.c.index].Finish = r.finish
			}
			j.rec.Finish = r.finish
			l.forget(r.c)
		}
	}
	l.model.Step(&l.step)
	l.step.Residency = l.step.Residency[:0]
	l.publish()
	for i, r := range l.results {
		j := r.c.job
		if r.err != nil {
			l.forget(r.c) // Commit has ended it
			l.endJob(j, r.err)
			continue
		}
		if j.over {
			continue
		}
		closing := j.live == 0 && r.finish != FinishNone && l.lastOf(j, i)
		if closing { // observed before the last token can be seen
			l.letGo(j, nil, end)
		}
		full := false
		for _, e := range l.books.entries[r.first : r.first+len(l.outcomes[i].Tokens)] {
			e.at = end
			full = j.ring.push(e)
		}
		switch {
		case closing:
			j.over = true
			j.ring.end(nil)
			j.finish()
		case full:
			l.park(j, true)
		}
	}
	l.books.entries, l.books.tops = l.books.entries[:0], l.books.tops[:0]
	l.decoding = l.decoding[:0]
	for _, r := range l.results {
		if !r.c.gone {
			l.decoding = append(l.decoding, r.c)
		}
	}
}

// lastOf tells whether no later result of this step belongs to j.
func (l *loop) lastOf(j *job, i int) bool {
	for _, r := range l.results[i+1:] {
		if r.c.job == j {
			return false
		}
	}
	return true
}
