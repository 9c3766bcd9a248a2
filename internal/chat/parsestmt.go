package chat

// tagTable is the statements there are. A function, since statements hold
// statements, and Go allows a package variable no such circle.
func tagTable() map[string]func(p *parser, line at) (block, error) {
	return map[string]func(p *parser, line at) (block, error){
		"if": (*parser).ifTag, "for": (*parser).forTag, "set": (*parser).setTag, "with": (*parser).withTag,
		"macro": (*parser).macroTag, "call": (*parser).callTag, "filter": (*parser).filterTag, "print": (*parser).printTag,
		"generation": (*parser).generationTag, "break": (*parser).jumpTag, "continue": (*parser).jumpTag,
	}
}

// foreign are tags that Jinja has and chat templates have no use for.
var foreign = map[string]string{
	"extends": "a chat template can't load other templates", "include": "a chat template can't load other templates",
	"import": "a chat template can't load other templates", "from": "a chat template can't load other templates",
	"block": "blocks for inheritance are not supported in a chat template", "autoescape": "a chat template makes no HTML",
}

// statement parses what is inside {% %}, from its first name on.
func (p *parser) statement(ends []string) (block, error) {
	if !p.is(tokName) {
		return nil, p.fail(p.tok.line, "tag name expected")
	}
	f := p.tags[p.tok.text]
	if f == nil {
		if why, ok := foreign[p.tok.text]; ok {
			return nil, p.fail(p.tok.line, "unsupported tag "+reprString(p.tok.text)+": "+why)
		}
		msg := "encountered unknown tag " + reprString(p.tok.text)
		if ends != nil {
			msg += ", looking for " + describeEnds(ends)
		}
		return nil, p.fail(p.tok.line, msg)
	}
	return f(p, at(p.tok.line))
}

func (p *parser) ifTag(line at) (block, error) {
	st := &ifStmt{at: line}
	for {
		if err := p.advance(); err != nil { // if, elif
			return nil, err
		}
		test, err := p.tuple(tupleMode{})
		if err != nil {
			return nil, err
		}
		b, err := p.body("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		st.tests = append(st.tests, test)
		st.bodies = append(st.bodies, b)
		switch {
		case p.isName("elif"):
			continue
		case p.isName("else"):
			if err := p.advance(); err != nil {
				return nil, err
			}
			if st.other, err = p.fullBody("endif"); err != nil {
				return nil, err
			}
			return block{st}, nil
		}
		return block{st}, p.advance()
	}
}

func (p *parser) forTag(line at) (block, error) {
	st := &forStmt{at: line}
	if err := p.advance(); err != nil {
		return nil, err
	}
	var err error
	if st.to, err = p.target("in", false); err != nil {
		return nil, err
	}
	if err := p.expectName("in"); err != nil {
		return nil, err
	}
	if st.items, err = p.tuple(tupleMode{end: "recursive"}); err != nil {
		return nil, err
	}
	if ok, err := p.skipName("if"); err != nil {
		return nil, err
	} else if ok {
		if st.test, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if st.recursive, err = p.skipName("recursive"); err != nil {
		return nil, err
	}
	before := p.reads["loop"]
	st.height, err = p.height(func() error {
		st.body, err = p.body("endfor", "else")
		return err
	})
	if err != nil {
		return nil, err
	}
	st.usesLoop = st.recursive || p.reads["loop"] > before
	isElse := p.isName("else")
	if err := p.advance(); err != nil {
		return nil, err
	}
	if isElse {
		if st.other, err = p.fullBody("endfor"); err != nil {
			return nil, err
		}
	}
	return block{st}, nil
}

func (p *parser) setTag(line at) (block, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	to, err := p.target("", true)
	if err != nil {
		return nil, err
	}
	if ok, err := p.skip("="); err != nil {
		return nil, err
	} else if ok {
		e, err := p.tuple(tupleMode{cond: true})
		if err != nil {
			return nil, err
		}
		return block{&setStmt{line, to, e}}, nil
	}
	st := &setBlockStmt{at: line, to: to}
	if p.is("|") {
		if st.filter, err = p.filters(nil, false); err != nil {
			return nil, err
		}
	}
	if st.body, err = p.fullBody("endset"); err != nil {
		return nil, err
	}
	return block{st}, nil
}

func (p *parser) withTag(line at) (block, error) {
	st := &withStmt{at: line}
	if err := p.advance(); err != nil {
		return nil, err
	}
	for !p.is(tokBlockEnd) {
		if len(st.to) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
		}
		t, err := p.target("", false)
		if err != nil {
			return nil, err
		}
		if _, err := p.expect("="); err != nil {
			return nil, err
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		st.to = append(st.to, t)
		st.vals = append(st.vals, e)
	}
	var err error
	if st.body, err = p.fullBody("endwith"); err != nil {
		return nil, err
	}
	return block{st}, nil
}

// macroBody parses the body of d and notes what it reads.
func (p *parser) macroBody(d *macroDef, end string) error {
	var before [3]int
	for i, n := range specials {
		before[i] = p.reads[n]
	}
	h, err := p.height(func() (err error) {
		d.body, err = p.fullBody(end)
		return err
	})
	d.height = h
	for i, n := range specials {
		d.reads[i] = p.reads[n] > before[i]
	}
	return err
}

func (p *parser) macroTag(line at) (block, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	name, err := p.plainTarget()
	if err != nil {
		return nil, err
	}
	d := &macroDef{name: name.name}
	if err := p.signature(d); err != nil {
		return nil, err
	}
	if err := p.macroBody(d, "endmacro"); err != nil {
		return nil, err
	}
	return block{&macroStmt{line, d, name}}, nil
}

// signature parses the parameters of a macro or call block.
func (p *parser) signature(d *macroDef) error {
	if _, err := p.expect("("); err != nil {
		return err
	}
	for !p.is(")") {
		if len(d.params) > 0 {
			if _, err := p.expect(","); err != nil {
				return err
			}
		}
		if len(d.params) == 255 {
			return &LimitError{"parameters of a macro", 255}
		}
		t, err := p.plainTarget()
		if err != nil {
			return err
		}
		for _, q := range d.params {
			if q.name == t.name {
				return p.fail(t.line(), "duplicate parameter "+reprString(t.name))
			}
		}
		if ok, err := p.skip("="); err != nil {
			return err
		} else if ok {
			e, err := p.expression()
			if err != nil {
				return err
			}
			d.defaults = append(d.defaults, e)
		} else if len(d.defaults) > 0 {
			return p.fail(t.line(), "non-default argument follows default argument")
		}
		d.params = append(d.params, t)
	}
	return p.advance()
}

func (p *parser) callTag(line at) (block, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	d := &macroDef{}
	if p.is("(") {
		if err := p.signature(d); err != nil {
			return nil, err
		}
	}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	call, ok := e.(*callExpr)
	if !ok {
		return nil, p.fail(line.line(), "expected call")
	}
	if err := p.macroBody(d, "endcall"); err != nil {
		return nil, err
	}
	return block{&callStmt{line, d, call}}, nil
}

func (p *parser) generationTag(line at) (block, error) {
	d := &macroDef{}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.macroBody(d, "endgeneration"); err != nil {
		return nil, err
	}
	return block{&generationStmt{line, d}}, nil
}

func (p *parser) filterTag(line at) (block, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	f, err := p.filters(nil, true)
	if err != nil {
		return nil, err
	}
	b, err := p.fullBody("endfilter")
	if err != nil {
		return nil, err
	}
	return block{&filterStmt{at: line, filter: f, body: b}}, nil
}

func (p *parser) printTag(line at) (block, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	var out block
	for !p.is(tokBlockEnd) {
		if len(out) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		out = append(out, &printStmt{line, e})
	}
	return out, nil
}

func (p *parser) jumpTag(line at) (block, error) {
	to := ctlBreak
	if p.isName("continue") {
		to = ctlContinue
	}
	return block{&jumpStmt{line, to}}, p.advance()
}
