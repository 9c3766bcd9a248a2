package chat

import (
	"math/big"
	"strconv"
)

// tupleMode says how a list of expressions may look.
type tupleMode struct {
	cond   bool   // inline ifs allowed; not where an if of the tag follows
	parens bool   // inside parentheses: may be empty
	end    string // a name that ends it
}

// tuple parses one expression, or several with commas as a tuple.
func (p *parser) tuple(m tupleMode) (expr, error) {
	var items []expr
	isTuple := false
	for {
		if p.is(tokVarEnd) || p.is(tokBlockEnd) || p.is(")") || m.end != "" && p.isName(m.end) {
			break
		}
		var e expr
		var err error
		if m.cond || m.parens {
			e, err = p.expression()
		} else {
			err = p.nested(func() (err error) { e, err = p.or(); return err })
		}
		if err != nil {
			return nil, err
		}
		items = append(items, e)
		comma, err := p.skip(",")
		if err != nil {
			return nil, err
		}
		if !comma {
			break
		}
		isTuple = true
	}
	if !isTuple {
		if len(items) == 1 {
			return items[0], nil
		}
		if !m.parens {
			return nil, p.fail(p.tok.line, "expected an expression, got "+describe(p.tok))
		}
	}
	return &seqExpr{items, true}, nil
}

// nested runs f one AST level deeper.
func (p *parser) nested(f func() error) error {
	if err := p.deeper(); err != nil {
		return err
	}
	defer p.shallower(1)
	return f()
}

// expression parses "a if b else c" and all below it.
func (p *parser) expression() (expr, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	levels := 1
	defer func() { p.shallower(levels) }()
	line := p.tok.line
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	for {
		ok, err := p.skipName("if")
		if err != nil || !ok {
			return e, err
		}
		if err := p.deeper(); err != nil {
			return nil, err
		}
		levels++
		c := &condExpr{then: e, line: line}
		if c.test, err = p.or(); err != nil {
			return nil, err
		}
		if ok, err := p.skipName("else"); err != nil {
			return nil, err
		} else if ok {
			if c.other, err = p.expression(); err != nil {
				return nil, err
			}
		}
		e = c
	}
}

func (p *parser) or() (expr, error)  { return p.logic("or", true, p.and) }
func (p *parser) and() (expr, error) { return p.logic("and", false, p.not) }

// logic parses a chain of one operator into one node.
func (p *parser) logic(name string, or bool, part func() (expr, error)) (expr, error) {
	e, err := part()
	if err != nil || !p.isName(name) {
		return e, err
	}
	parts := []expr{e}
	for p.isName(name) {
		if err := p.advance(); err != nil {
			return nil, err
		}
		if e, err = part(); err != nil {
			return nil, err
		}
		parts = append(parts, e)
	}
	return &logicExpr{parts, or}, nil
}

func (p *parser) not() (expr, error) {
	if !p.isName("not") {
		return p.compare()
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	var e expr
	err := p.nested(func() (err error) { e, err = p.not(); return err })
	return &unaryExpr{"not", e}, err
}

func (p *parser) compare() (expr, error) {
	e, err := p.sum()
	if err != nil {
		return nil, err
	}
	c := &compareExpr{first: e}
	for {
		op, err := p.compareOp()
		if err != nil {
			return nil, err
		}
		if op == "" {
			break
		}
		x, err := p.sum()
		if err != nil {
			return nil, err
		}
		c.ops = append(c.ops, op)
		c.rest = append(c.rest, x)
	}
	if len(c.ops) == 0 {
		return e, nil
	}
	return c, nil
}

// compareOp takes a comparison operator, "" where there is none.
func (p *parser) compareOp() (string, error) {
	switch p.tok.kind {
	case "==", "!=", "<", "<=", ">", ">=":
		op := string(p.tok.kind)
		return op, p.advance()
	case tokName:
	default:
		return "", nil
	}
	switch p.tok.text {
	case "in":
		return "in", p.advance()
	case "not":
		t, err := p.look()
		if err != nil || t.kind != tokName || t.text != "in" {
			return "", err
		}
		if err := p.advance(); err != nil {
			return "", err
		}
		return "not in", p.advance()
	}
	return "", nil
}

func (p *parser) sum() (expr, error) {
	e, err := p.concat()
	if err != nil || !p.is("+") && !p.is("-") {
		return e, err
	}
	s := &sumExpr{terms: []expr{e}}
	for p.is("+") || p.is("-") {
		op := opAdd
		if p.is("-") {
			op = opSub
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		if e, err = p.concat(); err != nil {
			return nil, err
		}
		s.terms = append(s.terms, e)
		s.ops = append(s.ops, op)
	}
	return s, nil
}

func (p *parser) concat() (expr, error) {
	e, err := p.product()
	if err != nil || !p.is("~") {
		return e, err
	}
	parts := []expr{e}
	for p.is("~") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		if e, err = p.product(); err != nil {
			return nil, err
		}
		parts = append(parts, e)
	}
	return &concatExpr{parts}, nil
}

var productOps = map[tokenKind]*arithOp{"*": opMul, "/": opDiv, "//": opFloorDiv, "%": opMod}

var powerOps = map[tokenKind]*arithOp{"**": opPow}

func (p *parser) product() (expr, error) { return p.leftChain(productOps, p.power) }

// power chains to the left too, unlike Python's.
func (p *parser) power() (expr, error) {
	return p.leftChain(powerOps, func() (expr, error) { return p.unary(true) })
}

func (p *parser) leftChain(ops map[tokenKind]*arithOp, part func() (expr, error)) (expr, error) {
	e, err := part()
	levels := 0
	defer func() { p.shallower(levels) }()
	for err == nil && ops[p.tok.kind] != nil {
		op := ops[p.tok.kind]
		if err := p.advance(); err != nil {
			return nil, err
		}
		if err := p.deeper(); err != nil {
			return nil, err
		}
		levels++
		var b expr
		if b, err = part(); err == nil {
			e = &binaryExpr{op, e, b}
		}
	}
	return e, err
}

func (p *parser) unary(withFilter bool) (e expr, err error) {
	if p.is("-") || p.is("+") {
		op := string(p.tok.kind)
		if err := p.advance(); err != nil {
			return nil, err
		}
		var x expr
		if err := p.nested(func() (err error) { x, err = p.unary(false); return err }); err != nil {
			return nil, err
		}
		e = &unaryExpr{op, x}
	} else if e, err = p.primary(); err != nil {
		return nil, err
	}
	return p.postfix(e, withFilter)
}

func (p *parser) primary() (expr, error) {
	t := p.tok
	switch t.kind {
	case "(":
		if err := p.advance(); err != nil {
			return nil, err
		}
		e, err := p.tuple(tupleMode{parens: true})
		if err != nil {
			return nil, err
		}
		_, err = p.expect(")")
		return e, err
	case "[":
		return p.listDisplay()
	case "{":
		return p.dictDisplay()
	case tokName, tokString, tokInt, tokFloat:
	default:
		return nil, p.fail(t.line, "unexpected "+describe(t))
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch t.kind {
	case tokString: // neighbours join
		s := []byte(t.text)
		for p.is(tokString) {
			s = append(s, p.tok.text...)
			if err := p.advance(); err != nil {
				return nil, err
			}
		}
		return &constExpr{text(s)}, nil
	case tokInt:
		return intLiteral(t.text), nil
	case tokFloat:
		f, _ := strconv.ParseFloat(t.text, 64) // out of range is infinite, as in Python
		return &constExpr{float(f)}, nil
	}
	if v, ok := constants[t.text]; ok {
		return &constExpr{v}, nil
	}
	p.reads[t.text]++
	return &nameExpr{name: t.text}, nil
}

func intLiteral(s string) expr {
	n, ok := new(big.Int).SetString(s, 0)
	if !ok { // only zeros: "000"
		n = new(big.Int)
	}
	return &constExpr{normInt(n)}
}

func (p *parser) listDisplay() (expr, error) {
	e := &seqExpr{}
	if err := p.advance(); err != nil {
		return nil, err
	}
	err := p.commaList("]", func() error {
		x, err := p.expression()
		e.items = append(e.items, x)
		return err
	})
	return e, err
}

func (p *parser) dictDisplay() (expr, error) {
	e := &dictExpr{}
	if err := p.advance(); err != nil {
		return nil, err
	}
	err := p.commaList("}", func() error {
		k, err := p.expression()
		if err != nil {
			return err
		}
		if _, err := p.expect(":"); err != nil {
			return err
		}
		v, err := p.expression()
		e.parts = append(e.parts, k, v)
		return err
	})
	return e, err
}

// commaList parses items up to a closing bracket, which it takes; a comma may
// stand before it.
func (p *parser) commaList(end tokenKind, item func() error) error {
	for first := true; !p.is(end); first = false {
		if !first {
			if _, err := p.expect(","); err != nil {
				return err
			}
			if p.is(end) {
				break
			}
		}
		if err := item(); err != nil {
			return err
		}
	}
	return p.advance()
}
