package chat

// parser turns tokens into statements and expressions. Its methods follow the
// levels of the grammar; parseexpr.go has those of expressions.
type parser struct {
	lex   *lexer
	tok   token  // the current one
	ahead *token // the one after, where it was looked at
	// depth counts the AST levels around the current point, peak the highest
	// since it was last reset: rendering will need that much stack.
	depth, peak int
	// reads counts reads of names that frames treat specially, so that a block
	// knows whether its text has any: compare before and after parsing it.
	reads map[string]int
	tags  map[string]func(p *parser, line at) (block, error)
}

func parse(src string) (block, error) {
	p := &parser{lex: newLexer(src), reads: map[string]int{}, tags: tagTable()}
	if err := p.advance(); err != nil {
		return nil, err
	}
	return p.block()
}

func (p *parser) advance() (err error) {
	if p.ahead != nil {
		p.tok, p.ahead = *p.ahead, nil
		return nil
	}
	p.tok, err = p.lex.next()
	return err
}

// look returns the token after the current one.
func (p *parser) look() (token, error) {
	if p.ahead == nil {
		t, err := p.lex.next()
		if err != nil {
			return token{}, err
		}
		p.ahead = &t
	}
	return *p.ahead, nil
}

func (p *parser) fail(line int, msg string) error { return &SyntaxError{line, msg} }

// deeper enters one more AST level; shallower leaves n.
func (p *parser) deeper() error {
	p.depth++
	p.peak = max(p.peak, p.depth)
	if p.depth > maxParseDepth {
		return &LimitError{"levels of nesting in a template", maxParseDepth}
	}
	return nil
}

func (p *parser) shallower(n int) { p.depth -= n }

// height parses with f and returns how many AST levels that took.
func (p *parser) height(f func() error) (int, error) {
	saved := p.peak
	p.peak = p.depth
	err := f()
	h := p.peak - p.depth
	p.peak = max(p.peak, saved)
	return h + 1, err
}

func (p *parser) isName(name string) bool { return p.tok.kind == tokName && p.tok.text == name }

func (p *parser) is(kind tokenKind) bool { return p.tok.kind == kind }

// skip takes the token if it is an operator of that kind.
func (p *parser) skip(kind tokenKind) (bool, error) {
	if p.tok.kind != kind {
		return false, nil
	}
	return true, p.advance()
}

func (p *parser) skipName(name string) (bool, error) {
	if !p.isName(name) {
		return false, nil
	}
	return true, p.advance()
}

func (p *parser) expect(kind tokenKind) (token, error) {
	t := p.tok
	if t.kind != kind {
		return t, p.unexpected(string(kind))
	}
	return t, p.advance()
}

func (p *parser) expectName(name string) error {
	if !p.isName(name) {
		return p.unexpected(name)
	}
	return p.advance()
}

func (p *parser) unexpected(want string) error {
	return p.fail(p.tok.line, "expected "+reprString(want)+", got "+describe(p.tok))
}

func describe(t token) string {
	if t.kind == tokName {
		return reprString(t.text)
	}
	return reprString(string(t.kind))
}

// block parses statements up to a tag that begins with one of the ends, which
// stays the current token; without ends, up to the end of the template.
func (p *parser) block(ends ...string) (block, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer p.shallower(1)
	var out block
	for {
		line := at(p.tok.line)
		switch p.tok.kind {
		case tokEOF:
			if ends != nil {
				return nil, p.fail(p.tok.line, "unexpected end of template, expected "+describeEnds(ends))
			}
			return out, nil
		case tokData:
			out = append(out, &dataStmt{line, p.tok.text})
			if err := p.advance(); err != nil {
				return nil, err
			}
		case tokVarBegin:
			if err := p.advance(); err != nil {
				return nil, err
			}
			e, err := p.tuple(tupleMode{cond: true})
			if err != nil {
				return nil, err
			}
			if _, err := p.expect(tokVarEnd); err != nil {
				return nil, err
			}
			out = append(out, &printStmt{line, e})
		case tokBlockBegin:
			if err := p.advance(); err != nil {
				return nil, err
			}
			for _, e := range ends {
				if p.isName(e) {
					return out, nil
				}
			}
			more, err := p.statement(ends)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
			if _, err := p.expect(tokBlockEnd); err != nil {
				return nil, err
			}
		default:
			return nil, p.unexpected("template text")
		}
	}
}

func describeEnds(ends []string) string {
	s := ""
	for i, e := range ends {
		if i > 0 {
			s += " or "
		}
		s += reprString(e)
	}
	return s
}

// body parses the rest of a tag and the block after it, up to and without the
// tag that ends it.
func (p *parser) body(ends ...string) (block, error) {
	if _, err := p.skip(":"); err != nil { // as Python has it
		return nil, err
	}
	if _, err := p.expect(tokBlockEnd); err != nil {
		return nil, err
	}
	return p.block(ends...)
}

// fullBody is body for a block with one end, which it takes too.
func (p *parser) fullBody(end string) (block, error) {
	b, err := p.body(end)
	if err != nil {
		return nil, err
	}
	return b, p.advance()
}
