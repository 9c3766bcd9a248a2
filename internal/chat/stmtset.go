package chat

// setStmt is {% set target = expression %}.
type setStmt struct {
	at
	to target
	e  expr
}

func (s *setStmt) exec(r *run) (ctl, error) {
	v, err := s.e.eval(r)
	if err != nil {
		return ctlNone, err
	}
	return ctlNone, s.to.assign(r, v)
}

func (s *setStmt) symbols(sc *scope) {
	sc.visit(s.e)
	s.to.symbols(sc, false)
}

func (s *setStmt) bind(b *binder, sc *scope, soft bool) error {
	if err := b.expr(s.e, sc, soft); err != nil {
		return err
	}
	return s.to.bind(b, sc)
}

// setBlockStmt is {% set target %}…{% endset %}, maybe with filters.
type setBlockStmt struct {
	at
	to     target
	filter expr // chain of filterExpr over nothing; nil: none
	body   block
	init   frameInit
}

func (s *setBlockStmt) exec(r *run) (ctl, error) {
	s.init.enter(r)
	defer s.init.leave(r)
	v, c, err := s.body.capture(r)
	if err != nil || c != ctlNone {
		return c, err
	}
	if s.filter != nil {
		if v, err = applyBlock(r, s.filter, v); err != nil {
			return ctlNone, err
		}
	}
	return ctlNone, s.to.assign(r, v)
}

func (s *setBlockStmt) symbols(sc *scope) { s.to.symbols(sc, false) }

func (s *setBlockStmt) bind(b *binder, sc *scope, _ bool) error {
	in := sc.inner()
	s.body.symbols(in)
	if err := s.body.bind(b, in, false); err != nil {
		return err
	}
	if s.filter != nil {
		// Jinja does not look here for names, and fails on those it met nowhere else.
		if name := in.unknown(s.filter); name != "" {
			return &SyntaxError{s.line(), "the filter of a set block reads " + reprString(name) + ", which nothing around it does"}
		}
		if err := b.expr(s.filter, in, false); err != nil {
			return err
		}
	}
	s.init = in.init()
	return s.to.bind(b, sc)
}

// filterStmt is {% filter name %}…{% endfilter %}.
type filterStmt struct {
	at
	filter expr
	body   block
	init   frameInit
}

func (s *filterStmt) exec(r *run) (ctl, error) {
	s.init.enter(r)
	defer s.init.leave(r)
	v, c, err := s.body.capture(r)
	if err != nil || c != ctlNone {
		return c, err
	}
	if v, err = applyBlock(r, s.filter, v); err != nil {
		return ctlNone, err
	}
	return ctlNone, r.writeText(v)
}

func (s *filterStmt) symbols(sc *scope) { sc.visit(s.filter) }

func (s *filterStmt) bind(b *binder, sc *scope, _ bool) error {
	in := sc.inner()
	s.body.symbols(in)
	in.visit(s.filter)
	if err := s.body.bind(b, in, false); err != nil {
		return err
	}
	s.init = in.init()
	return b.expr(s.filter, in, false)
}

// withStmt is {% with a = 1, … %}…{% endwith %}: a frame with variables. The
// values are worked out in the frame around it.
type withStmt struct {
	at
	to   []target
	vals []expr
	body block
	init frameInit
}

func (s *withStmt) exec(r *run) (ctl, error) {
	s.init.enter(r)
	defer s.init.leave(r)
	for i, e := range s.vals {
		v, err := e.eval(r)
		if err != nil {
			return ctlNone, err
		}
		if err := s.to[i].assign(r, v); err != nil {
			return ctlNone, err
		}
	}
	return s.body.exec(r)
}

func (s *withStmt) symbols(sc *scope) {
	for _, e := range s.vals {
		sc.visit(e)
	}
}

func (s *withStmt) bind(b *binder, sc *scope, soft bool) error {
	in := sc.inner()
	for _, t := range s.to {
		t.symbols(in, true)
	}
	s.body.symbols(in)
	for i, t := range s.to {
		if err := b.expr(s.vals[i], sc, soft); err != nil {
			return err
		}
		if err := t.bind(b, in); err != nil {
			return err
		}
	}
	s.init = in.init()
	return s.body.bind(b, in, false)
}
