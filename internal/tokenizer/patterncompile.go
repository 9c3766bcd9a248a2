package tokenizer

// compilePattern makes a program of a pattern. What it can't do it refuses, with
// ErrUnsupported and the part's name.
func compilePattern(field, src string) (p *pattern, err error) {
	parser := patternParser{src: src, byKey: map[string]uint8{}}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case patternError:
			p, err = nil, unsupported(field, src, "the pattern has what is not supported: %s", string(e))
		default:
			panic(e)
		}
	}()
	n := parser.alternatives()
	if parser.more() {
		parser.fail("a bracket that closes nothing")
	}
	c := patternCompiler{parser: &parser}
	start := c.emit(&n, c.op(instr{op: opMatch}))
	p = &pattern{prog: c.prog, start: start, words: (len(c.prog) + 63) / 64, sets: parser.sets}
	p.order = inOrder(c.prog)
	return p, nil
}

type patternCompiler struct {
	parser *patternParser
	prog   []instr
}

func (c *patternCompiler) op(x instr) int32 {
	if len(c.prog) == maxInstrs {
		c.parser.fail("more than %d steps", maxInstrs)
	}
	c.prog = append(c.prog, x)
	return int32(len(c.prog) - 1)
}

// emit adds what matches n and goes on at next; it returns where that begins.
func (c *patternCompiler) emit(n *pnode, next int32) int32 {
	switch n.kind {
	case pSeq:
		for i := len(n.list) - 1; i >= 0; i-- {
			next = c.emit(&n.list[i], next)
		}
		return next
	case pAlt:
		at := c.emit(&n.list[len(n.list)-1], next)
		for i := len(n.list) - 2; i >= 0; i-- {
			at = c.op(instr{op: opSplit, next: c.emit(&n.list[i], next), alt: at})
		}
		return at
	case pSet:
		return c.op(instr{op: opSet, set: n.set, next: next})
	case pHold:
		return c.op(instr{op: n.op, not: n.not, set: n.set, next: next})
	case pAhead:
		inner := c.emit(&n.list[0], c.op(instr{op: opMatch}))
		return c.op(instr{op: opAhead, not: n.not, next: next, alt: inner})
	}
	return c.times(n, next)
}

func (c *patternCompiler) times(n *pnode, next int32) int32 {
	part, after := &n.list[0], next
	if n.how == '+' { // taken as often as can be: no further one follows
		inner := c.emit(part, c.op(instr{op: opMatch}))
		next = c.op(instr{op: opAhead, not: true, next: next, alt: inner})
	}
	at := next
	choice := func(again, stop int32) instr {
		if n.how == '?' {
			again, stop = stop, again
		}
		return instr{op: opSplit, next: again, alt: stop}
	}
	if n.max < 0 {
		loop := c.op(instr{op: opSplit})
		c.prog[loop] = choice(c.emit(part, loop), next)
		at = loop
	} else {
		if n.how == '+' {
			at = after // at the most, one more may follow
		}
		for range n.max - n.min {
			at = c.op(choice(c.emit(part, at), next))
		}
	}
	for range n.min {
		at = c.emit(part, at)
	}
	return at
}

// inOrder sorts a program so that what an instruction leads to without a character
// comes before it; a loop always takes a character.
func inOrder(prog []instr) (order []int32) {
	done := make([]bool, len(prog))
	var stack []int32
	for pc := range prog {
		stack = append(stack, int32(pc))
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			x, waits := &prog[at], false
			if !done[at] && x.op != opMatch && x.op != opSet {
				if !done[x.next] {
					stack, waits = append(stack, x.next), true
				}
				if (x.op == opSplit || x.op == opAhead) && !done[x.alt] {
					stack, waits = append(stack, x.alt), true
				}
			}
			if waits {
				continue
			}
			stack = stack[:len(stack)-1]
			if !done[at] {
				done[at] = true
				order = append(order, at)
			}
		}
	}
	return order
}
