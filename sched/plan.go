package sched

import (
	"fmt"
	"strings"

	"github.com/paddock-go/paddock/kvcache"
)

// Span is a sequence's part of one step: consecutive rows of it.
//
//	known     0 ··············· computed ─────── known │ Draft
//	rows                        From ··· From+Count−Drafts │ Drafts
//	logits                                        the last Logits of them
type Span struct {
	Seq    *Sequence
	From   int  // position of the first row
	Count  int  // rows: known tokens, then Drafts of Seq.Draft
	Drafts int  // rows at the end that come from Seq.Draft
	Logits int  // rows at the end whose logits are wanted: 0 while a prompt is not complete, else 1 + Drafts
	Forks  bool // the last row's logits are for Seq and for each of Seq.Forks: all of them get an Outcome
}

// Copy is a page whose content goes to another page, all layers of it.
type Copy struct{ From, To kvcache.PageID }

// Ended is a sequence that the scheduler itself ended.
type Ended struct {
	Seq    *Sequence
	Reason Reason
}

// Plan is all that one step has to do. It belongs to the scheduler and is valid until the next Next.
type Plan struct {
	Copies    []Copy      // in this order, before the first row is computed
	Spans     []Span      // decoding sequences first; each sequence at most once
	Tokens    int         // rows in all spans
	Admitted  []*Sequence // in the batch for the first time
	Resumed   []*Sequence // back in the batch after preemption or parking
	Preempted []*Sequence // lost their pages
	Ended     []Ended     // ended by the scheduler: nobody read them for too long
}

// Empty reports whether there is nothing to compute. An empty plan needs no Commit.
func (p *Plan) Empty() bool { return len(p.Spans) == 0 }

func (p *Plan) reset() {
	p.Copies, p.Spans, p.Tokens = p.Copies[:0], p.Spans[:0], 0
	p.Admitted, p.Resumed, p.Preempted, p.Ended = p.Admitted[:0], p.Resumed[:0], p.Preempted[:0], p.Ended[:0]
}

// String has a line for each thing to do, the spans last.
func (p *Plan) String() string {
	var b strings.Builder
	for _, e := range p.Ended {
		fmt.Fprintf(&b, "end %d %s\n", e.Seq.ID, e.Reason)
	}
	for _, q := range p.Preempted {
		fmt.Fprintf(&b, "preempt %d\n", q.ID)
	}
	for _, q := range p.Admitted {
		fmt.Fprintf(&b, "admit %d cached=%d\n", q.ID, q.cached)
	}
	for _, q := range p.Resumed {
		fmt.Fprintf(&b, "resume %d computed=%d\n", q.ID, q.computed)
	}
	for _, c := range p.Copies {
		fmt.Fprintf(&b, "copy page %d to %d\n", c.From, c.To)
	}
	for i := range p.Spans {
		fmt.Fprintln(&b, &p.Spans[i])
	}
	return b.String()
}

// String is the span on one line.
func (s *Span) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "span %d rows %d..%d of %d pages %v", s.Seq.ID, s.From, s.From+s.Count, s.Seq.known(), s.Seq.Table())
	if s.Drafts > 0 {
		fmt.Fprintf(&b, " drafts=%d", s.Drafts)
	}
	if s.Logits > 0 {
		fmt.Fprintf(&b, " logits=%d", s.Logits)
	}
	if s.Forks {
		fmt.Fprintf(&b, " forks=%d", len(s.Seq.Forks))
	}
	return b.String()
}

// Outcome is what the caller made of a span that wanted logits.
type Outcome struct {
	Seq *Sequence
	// Tokens are kept in this step, at most 1 + Drafts: Commit appends them. All but the last must be the draft's own.
	// None at all is allowed only together with a Finish.
	Tokens []int32
	// Finish ends the sequence after these tokens; ReasonNone: it goes on.
	Finish Reason
}
