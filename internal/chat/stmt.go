package chat

// ctl is how a statement ended.
type ctl byte

const (
	ctlNone ctl = iota
	ctlBreak
	ctlContinue
)

// stmt is one node of a template outside expressions.
type stmt interface {
	exec(r *run) (ctl, error)
	line() int
	// symbols tells the frame it stands in which names it reads and sets there.
	symbols(s *scope)
	// bind connects its names to variables, after the whole frame told its
	// symbols. soft: inside an if, where an unknown filter only fails when used.
	bind(b *binder, s *scope, soft bool) error
}

// at is the line of a statement.
type at int

func (a at) line() int { return int(a) }

// block is a run of statements.
type block []stmt

func (b block) exec(r *run) (ctl, error) {
	for _, s := range b {
		if err := r.step(); err != nil {
			return ctlNone, err
		}
		c, err := s.exec(r)
		if err != nil {
			if e, ok := err.(*RuntimeError); ok && e.Line == 0 {
				e.Line = s.line()
			}
			return ctlNone, err
		}
		if c != ctlNone {
			return c, nil
		}
	}
	return ctlNone, nil
}

func (b block) symbols(s *scope) {
	for _, st := range b {
		st.symbols(s)
	}
}

func (b block) bind(bd *binder, s *scope, soft bool) error {
	for _, st := range b {
		if err := st.bind(bd, s, soft); err != nil {
			return err
		}
	}
	return nil
}

// capture runs b and returns what it printed instead of printing it.
func (b block) capture(r *run) (Value, ctl, error) {
	start := len(r.out)
	c, err := b.exec(r)
	if err != nil {
		return nil, c, err
	}
	if c != ctlNone { // a break out of a capture drops what was captured
		r.drop(start)
		return nil, c, nil
	}
	v, err := r.capture(start)
	return v, c, err
}

// dataStmt is plain text.
type dataStmt struct {
	at
	text string
}

func (s *dataStmt) exec(r *run) (ctl, error)         { return ctlNone, r.write(s.text) }
func (s *dataStmt) symbols(*scope)                   {}
func (s *dataStmt) bind(*binder, *scope, bool) error { return nil }

// printStmt is {{ expression }}.
type printStmt struct {
	at
	e expr
}

func (s *printStmt) exec(r *run) (ctl, error) {
	v, err := s.e.eval(r)
	if err != nil {
		return ctlNone, err
	}
	return ctlNone, r.writeValue(v)
}

func (s *printStmt) symbols(sc *scope) { sc.visit(s.e) }

func (s *printStmt) bind(b *binder, sc *scope, soft bool) error { return b.expr(s.e, sc, soft) }

// jumpStmt is break or continue.
type jumpStmt struct {
	at
	to ctl
}

func (s *jumpStmt) exec(*run) (ctl, error) { return s.to, nil }
func (s *jumpStmt) symbols(*scope)         {}
func (s *jumpStmt) bind(b *binder, _ *scope, _ bool) error {
	if !b.inLoop {
		return &SyntaxError{s.line(), "break or continue outside a loop"}
	}
	return nil
}

// ifStmt is if, elif and else: tests[i] guards bodies[i].
type ifStmt struct {
	at
	tests  []expr
	bodies []block
	other  block
}

func (s *ifStmt) exec(r *run) (ctl, error) {
	for i, t := range s.tests {
		v, err := t.eval(r)
		if err != nil {
			return ctlNone, err
		}
		if truth(v) {
			return s.bodies[i].exec(r)
		}
	}
	return s.other.exec(r)
}

func (s *ifStmt) symbols(sc *scope) {
	before := len(sc.stores)
	for i, t := range s.tests {
		sc.visit(t)
		s.bodies[i].symbols(sc)
	}
	s.other.symbols(sc)
	sc.branched(before)
}

func (s *ifStmt) bind(b *binder, sc *scope, _ bool) error {
	for i, t := range s.tests {
		if err := b.expr(t, sc, true); err != nil {
			return err
		}
		if err := s.bodies[i].bind(b, sc, true); err != nil {
			return err
		}
	}
	return s.other.bind(b, sc, true)
}
