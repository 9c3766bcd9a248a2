package chat

// constants are names with a fixed meaning.
var constants = map[string]Value{
	"true": boolean(true), "True": boolean(true), "false": boolean(false), "False": boolean(false),
	"none": None, "None": None,
}

// plainTarget parses one name that is given a value.
func (p *parser) plainTarget() (*nameTarget, error) {
	t, err := p.expect(tokName)
	if err != nil {
		return nil, err
	}
	if _, ok := constants[t.text]; ok {
		return nil, p.fail(t.line, "can't assign to "+reprString(t.text))
	}
	return &nameTarget{at: at(t.line), name: t.text}, nil
}

// target parses names, maybe in tuples, up to the name end or the end of the
// tag; with attrs, namespace attributes too.
func (p *parser) target(end string, attrs bool) (target, error) {
	t, n, err := p.targetList(end, attrs)
	if err == nil && n == 0 {
		return nil, p.unexpected("name")
	}
	return t, err
}

// targetList parses targets with commas between; n is how many there were. As
// with values, only a comma makes a tuple: (a,) is one and (a) is none. Unlike with
// values, nothing may follow the last comma without parentheses.
func (p *parser) targetList(end string, attrs bool) (t target, n int, err error) {
	if err := p.deeper(); err != nil {
		return nil, 0, err
	}
	defer p.shallower(1)
	var parts []target
	tuple := false
	for !p.is(")") && (tuple || !p.isName(end) && !p.is("=") && !p.is(tokBlockEnd)) {
		one, err := p.oneTarget(attrs)
		if err != nil {
			return nil, 0, err
		}
		parts = append(parts, one)
		comma, err := p.skip(",")
		if err != nil {
			return nil, 0, err
		}
		if !comma {
			break
		}
		tuple = true
	}
	if len(parts) == 1 && !tuple {
		return parts[0], 1, nil
	}
	return &tupleTarget{parts}, len(parts), nil
}

func (p *parser) oneTarget(attrs bool) (target, error) {
	if p.is("(") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		t, _, err := p.targetList("", attrs)
		if err != nil {
			return nil, err
		}
		_, err = p.expect(")")
		return t, err
	}
	name, err := p.plainTarget()
	if err != nil || !attrs || !p.is(".") {
		return name, err
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	attr, err := p.expect(tokName)
	if err != nil {
		return nil, err
	}
	p.reads[name.name]++
	return &attrTarget{at: name.at, obj: &nameExpr{name: name.name}, attr: attr.text}, nil
}
