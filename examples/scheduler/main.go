// Command scheduler drives a sched.Scheduler by hand, without a model, and prints the plan of each step: who gets which
// rows, in which pages, and who has to wait. Tokens are letters, and the "model" says the alphabet: after c comes d.
//
// Five requests share nine pages of four tokens. Things to look for in what it prints:
//
//   - step 1: the long prompt of request 1 is cut into chunks of eight rows;
//   - step 2: request 2 begins like request 1, so it waits for 1's pages instead of computing them again;
//   - step 3: it is admitted with twelve tokens cached; the urgent request 4 goes before 3, which came earlier;
//   - step 5: 1 needs another page and none is left, so 2, the later one, loses its own;
//   - step 6: it is back, and since most of what it had is still cached, a single row is computed again.
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/paddock-go/paddock/kvcache"
	"github.com/paddock-go/paddock/sched"
)

// request is what a client asks for, and when.
type request struct {
	step     int // before which it arrives
	prompt   string
	tokens   int
	priority int
}

var requests = []request{
	{step: 1, prompt: "you are a helpful a", tokens: 7},
	{step: 2, prompt: "you are a heron a", tokens: 4},
	{step: 3, prompt: "hello", tokens: 9},
	{step: 3, prompt: "help", tokens: 3, priority: 1},
	{step: 4, prompt: "once", tokens: 6},
}

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scheduler:", err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	pool, err := kvcache.New(9, 4)
	if err != nil {
		return err
	}
	s := sched.New(pool, sched.Limits{MaxTokens: 8, MinChunk: 1, MaxStepTime: -1})
	const took = 10 * time.Millisecond // what each step pretends to last
	now := time.Duration(0)
	waiting := requests
	for step := 1; len(waiting) > 0 || !s.Idle(); step++ {
		for len(waiting) > 0 && waiting[0].step <= step {
			r := waiting[0]
			waiting = waiting[1:]
			q := &sched.Sequence{
				ID:        sched.SeqID(len(requests) - len(waiting)),
				Tokens:    []rune(r.prompt),
				MaxTokens: r.tokens,
				Priority:  r.priority,
				Arrival:   now,
			}
			if err := s.Add(now, q); err != nil {
				return err
			}
			fmt.Fprintf(w, "request %d arrives: %q\n", q.ID, r.prompt)
		}

		plan := s.Next(now)
		fmt.Fprintf(w, "step %d, %d rows\n%s", step, plan.Tokens, plan)
		outcomes := compute(plan)
		s.Commit(plan, took, outcomes)
		now += took

		for _, o := range outcomes {
			if o.Seq.State() == sched.StateEnded {
				fmt.Fprintf(w, "request %d ends (%s) with %q\n", o.Seq.ID, o.Seq.Reason(), string(o.Seq.Tokens[o.Seq.PromptLen:]))
			}
		}
		fmt.Fprintln(w)
	}
	t := s.Stats()
	fmt.Fprintf(w, "%d steps, %d rows; of %d prompt tokens %d were cached; %d preemptions cost %d rows\n",
		t.Steps, t.Rows, t.PromptTokens, t.PromptPrefix, t.Preemptions, t.RecomputedTokens)
	return s.Check()
}

// compute stands for the model: a real one would copy the pages of plan.Copies, run all rows of all spans at once, and
// choose a token wherever logits are wanted.
func compute(plan *sched.Plan) (outcomes []sched.Outcome) {
	for _, span := range plan.Spans {
		if span.Logits == 0 {
			continue // a part of a prompt: nothing to say yet
		}
		last := span.Seq.Tokens[len(span.Seq.Tokens)-1]
		outcomes = append(outcomes, sched.Outcome{Seq: span.Seq, Tokens: []int32{after(last)}})
	}
	return outcomes
}

// after is the next letter of the alphabet, going around.
func after(letter int32) int32 {
	if letter < 'a' || letter >= 'z' {
		return 'a'
	}
	return letter + 1
}
