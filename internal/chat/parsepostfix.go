package chat

import "math/big"

// postfix parses what follows a primary: attributes, indexes and calls, and
// then, where allowed, filters and tests.
func (p *parser) postfix(e expr, withFilter bool) (expr, error) {
	levels := 0
	defer func() { p.shallower(levels) }()
	filtered := false // after a filter or test only calls, filters and tests go on
	for {
		var err error
		switch {
		case p.is("("):
			e, err = p.call(e)
		case !filtered && p.is("."):
			e, err = p.dot(e)
		case !filtered && p.is("["):
			e, err = p.subscript(e)
		case withFilter && p.is("|"):
			filtered = true
			e, err = p.filters(e, false)
		case withFilter && p.isName("is"):
			filtered = true
			e, err = p.test(e)
		default:
			return e, nil
		}
		if err == nil {
			err = p.deeper()
			levels++
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) dot(e expr) (expr, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	t := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch t.kind {
	case tokName:
		return &attrExpr{e, t.text}, nil
	case tokInt:
		n, ok := new(big.Int).SetString(t.text, 0)
		if !ok {
			n = new(big.Int)
		}
		return &itemExpr{e, &constExpr{normInt(n)}}, nil
	}
	return nil, p.fail(t.line, "expected name or number")
}

func (p *parser) subscript(e expr) (expr, error) {
	line := p.tok.line
	if err := p.advance(); err != nil {
		return nil, err
	}
	var keys []expr
	var slice *sliceExpr
	for !p.is("]") {
		if len(keys) > 0 || slice != nil {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
			if slice != nil {
				return nil, p.fail(line, "a slice can't be part of a tuple index")
			}
		}
		k, s, err := p.subscribed(e)
		if err != nil {
			return nil, err
		}
		if s != nil && len(keys) > 0 {
			return nil, p.fail(line, "a slice can't be part of a tuple index")
		}
		if slice = s; s == nil {
			keys = append(keys, k)
		}
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch {
	case slice != nil:
		return slice, nil
	case len(keys) == 1:
		return &itemExpr{e, keys[0]}, nil
	}
	return &itemExpr{e, &seqExpr{keys, true}}, nil
}

// subscribed parses one index or one slice of e.
func (p *parser) subscribed(e expr) (key expr, s *sliceExpr, err error) {
	if !p.is(":") {
		if key, err = p.expression(); err != nil || !p.is(":") {
			return key, nil, err
		}
	}
	s = &sliceExpr{x: e, start: key}
	for _, part := range []*expr{&s.stop, &s.step} {
		colon, err := p.skip(":")
		if err != nil || !colon {
			return nil, s, err
		}
		if p.is(":") || p.is("]") || p.is(",") {
			continue
		}
		if *part, err = p.expression(); err != nil {
			return nil, nil, err
		}
	}
	return nil, s, nil
}

func (p *parser) call(f expr) (expr, error) {
	c := &callExpr{f: f}
	return c, p.arguments(&c.args)
}

// arguments parses a call's arguments, parentheses included.
func (p *parser) arguments(a *callArgs) error {
	line := p.tok.line
	if _, err := p.expect("("); err != nil {
		return err
	}
	return p.commaList(")", func() (err error) {
		invalid := func(bad bool) error {
			if bad {
				return p.fail(line, "invalid syntax for function call expression")
			}
			return p.advance()
		}
		switch {
		case p.is("*"):
			if err := invalid(a.star != nil || a.kwstar != nil); err != nil {
				return err
			}
			a.star, err = p.expression()
			return err
		case p.is("**"):
			if err := invalid(a.kwstar != nil); err != nil {
				return err
			}
			a.kwstar, err = p.expression()
			return err
		case p.is(tokName):
			next, err := p.look()
			if err != nil {
				return err
			}
			if next.kind == "=" {
				return p.keywordArg(a, invalid)
			}
		}
		if a.star != nil || a.kwstar != nil || len(a.names) > 0 {
			return p.fail(line, "invalid syntax for function call expression")
		}
		e, err := p.expression()
		a.pos = append(a.pos, e)
		return err
	})
}

func (p *parser) keywordArg(a *callArgs, invalid func(bool) error) error {
	name := p.tok
	for _, n := range a.names {
		if n == name.text {
			return p.fail(name.line, "keyword argument repeated: "+name.text)
		}
	}
	if len(a.names) == 255 {
		return &LimitError{"keyword arguments in a call", 255}
	}
	if err := invalid(a.kwstar != nil); err != nil {
		return err
	}
	if err := p.advance(); err != nil { // the "="
		return err
	}
	e, err := p.expression()
	a.names = append(a.names, name.text)
	a.vals = append(a.vals, e)
	return err
}

// filters parses a chain of filters; bare: the first has no bar before it.
func (p *parser) filters(e expr, bare bool) (expr, error) {
	levels := 0
	defer func() { p.shallower(levels) }()
	for bare || p.is("|") {
		if !bare {
			if err := p.advance(); err != nil {
				return nil, err
			}
		}
		bare = false
		if err := p.deeper(); err != nil {
			return nil, err
		}
		levels++
		line := p.tok.line
		name, err := p.dottedName()
		if err != nil {
			return nil, err
		}
		f := &filterExpr{x: e, name: name, line: line}
		if p.is("(") {
			if err := p.arguments(&f.args); err != nil {
				return nil, err
			}
		}
		e = f
	}
	return e, nil
}

func (p *parser) dottedName() (string, error) {
	t, err := p.expect(tokName)
	if err != nil {
		return "", err
	}
	name := t.text
	for p.is(".") {
		if err := p.advance(); err != nil {
			return "", err
		}
		if t, err = p.expect(tokName); err != nil {
			return "", err
		}
		name += "." + t.text
	}
	return name, nil
}

// test parses "is name", "is not name" and an argument: in parentheses, or one
// primary right after.
func (p *parser) test(e expr) (expr, error) {
	line := p.tok.line
	if err := p.advance(); err != nil {
		return nil, err
	}
	negated, err := p.skipName("not")
	if err != nil {
		return nil, err
	}
	name, err := p.dottedName()
	if err != nil {
		return nil, err
	}
	t := &testExpr{x: e, name: name, line: line}
	switch {
	case p.is("("):
		err = p.arguments(&t.args)
	case p.isName("is"):
		return nil, p.fail(p.tok.line, "You cannot chain multiple tests with is")
	case p.startsArgument():
		var a expr
		err = p.nested(func() (err error) {
			if a, err = p.primary(); err == nil {
				a, err = p.postfix(a, false)
			}
			return err
		})
		t.args.pos = []expr{a}
	}
	if err != nil {
		return nil, err
	}
	if negated {
		return &unaryExpr{"not", t}, nil
	}
	return t, nil
}

func (p *parser) startsArgument() bool {
	switch p.tok.kind {
	case tokName:
		return p.tok.text != "else" && p.tok.text != "or" && p.tok.text != "and"
	case tokString, tokInt, tokFloat, "[", "{":
		return true
	}
	return false
}
