package main

import "fmt"

// kind is what a task does.
type kind uint8

const (
	prompting  kind = iota // one prompt of so many tokens
	generating             // so many tokens one after the other, in each of batch sequences
	opening                // from the start of a process over an open model to one token
)

// task is one figure that a program is asked for.
type task struct {
	kind   kind
	tokens int
	depth  int // tokens that are in the cache before
	batch  int // sequences
}

// String is the name of the task's row, as llama-bench has them.
func (t task) String() string {
	at := ""
	if t.depth > 0 {
		at = fmt.Sprintf("@d%d", t.depth)
	}
	switch {
	case t.kind == opening:
		return "open"
	case t.kind == prompting:
		return fmt.Sprintf("pp%d%s", t.tokens, at)
	case t.batch > 1:
		return fmt.Sprintf("b%d%s", t.batch, at)
	}
	return fmt.Sprintf("tg%d%s", t.tokens, at)
}

// context is the longest that a sequence becomes.
func (t task) context() int { return t.depth + max(t.tokens, 1) }

// tasks is what the flags ask for, in the order of the rows.
func (c *config) tasks() []task {
	if c.open {
		return []task{{kind: opening, tokens: 1, batch: 1}}
	}
	var list []task
	for _, depth := range c.depths {
		if c.prompt > 0 {
			list = append(list, task{prompting, c.prompt, depth, 1})
		}
		for _, n := range c.batches {
			if c.generate > 0 {
				list = append(list, task{generating, c.generate, depth, n})
			}
		}
	}
	return list
}
