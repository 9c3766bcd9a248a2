package api

// reasons says which member of an assistant's turn holds its reasoning, and under
// which name the template shows it.
type reasons struct {
	from string // "": nothing is to be renamed
	as   string
}

// has tells whether a member is one that clients put reasoning into.
func (r reasons) has(name string) bool {
	return name == "reasoning_content" || name == "reasoning" || name == r.as
}

// reasons finds the reasoning of a turn. Servers and clients call it by several
// names, and some send more than one of them: those that say nothing do not count,
// and two that say different things are refused, since a template shows one.
func (p *params) reasons(v value, role string) (r reasons, err error) {
	if role != "assistant" {
		return r, nil
	}
	r.as = p.chat().Reasoning
	if r.as == "" {
		return r, nil
	}
	said := ""
	err = v.members(func(name string, m value) error {
		if !r.has(name) || !m.string() {
			return nil
		}
		text, err := m.str()
		switch {
		case err != nil || text == "":
			return err
		case r.from == "":
			r.from, said = name, text
		case text != said:
			return invalid(m.path(), "says otherwise than %s beside it; one is enough", r.from)
		}
		return nil
	})
	return r, err
}
