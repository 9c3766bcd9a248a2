package chat

// forStmt is {% for target in items if test recursive %}…{% else %}…{% endfor %}.
type forStmt struct {
	at
	to     target
	items  expr
	test   expr // nil: none
	body   block
	other  block
	height int // AST levels in the body, for recursive loops

	recursive bool
	usesLoop  bool // the body reads loop, or the loop is recursive
	loopVar   slotRef
	init      frameInit
	otherInit frameInit
	fn        *funcInfo // of the body, where the loop is recursive

	// The test looks at items before the body gets them, even while the body
	// runs (loop.last), so it has a target variable of its own.
	testTo   target
	testInit frameInit
}

func (s *forStmt) exec(r *run) (ctl, error) {
	v, err := s.items.eval(r)
	if err != nil {
		return ctlNone, err
	}
	if s.recursive {
		out, err := (&recursiveLoop{s}).render(r, v, r.frame, 0)
		if err != nil {
			return ctlNone, err
		}
		return ctlNone, r.writeValue(out)
	}
	it, src, err := s.source(r, v, r.frame)
	if err != nil {
		return ctlNone, err
	}
	if !s.usesLoop {
		return s.run(r, it, nil)
	}
	l := newLoop(r, src, it, 0)
	return s.run(r, l, l)
}

// source is the iterator over what the loop walks. src has its length; nil
// where a test decides.
func (s *forStmt) source(r *run, v Value, outer *frame) (it iterator, src Value, err error) {
	it, err = r.iterate(v)
	if err != nil || s.test == nil {
		return it, v, err
	}
	return &testIter{s: s, it: it, frame: outer}, nil, nil
}

// testIter lets through the items that pass a loop's test.
type testIter struct {
	s     *forStmt
	it    iterator
	frame *frame // where the test's names live, whatever runs now
	begun bool
}

func (t *testIter) next(r *run) (Value, bool, error) {
	saved := r.frame
	r.frame = t.frame
	defer func() { r.frame = saved }()
	if !t.begun {
		t.begun = true
		t.s.testInit.enter(r)
	}
	for {
		v, ok, err := t.it.next(r)
		if !ok || err != nil {
			return nil, false, err
		}
		if err := t.s.testTo.assign(r, v); err != nil {
			return nil, false, err
		}
		pass, err := t.s.test.eval(r)
		if err != nil {
			return nil, false, err
		}
		if truth(pass) {
			return v, true, nil
		}
	}
}

// run is the loop itself.
func (s *forStmt) run(r *run, it iterator, l *loopState) (ctl, error) {
	// Jinja runs the else block when no body ran to its end: a body that
	// always leaves by continue or break counts as no iteration.
	none := true
	for {
		v, ok, err := it.next(r)
		if err != nil {
			return ctlNone, err
		}
		if !ok {
			break
		}
		s.init.enter(r)
		if l != nil {
			s.loopVar.store(r, l)
		}
		if err := s.to.assign(r, v); err != nil {
			return ctlNone, err
		}
		c, err := s.body.exec(r)
		if err != nil {
			return ctlNone, err
		}
		if c == ctlBreak {
			break
		}
		if c == ctlNone {
			none = false
		}
	}
	s.init.leave(r)
	if !none || s.other == nil {
		return ctlNone, nil
	}
	s.otherInit.enter(r)
	defer s.otherInit.leave(r)
	return s.other.exec(r)
}

// recursiveLoop renders the body of a recursive loop over some items.
type recursiveLoop struct{ s *forStmt }

func (l *recursiveLoop) render(r *run, items Value, outer *frame, depth int) (Value, error) {
	s := l.s
	if err := r.enter(s.height); err != nil {
		return nil, err
	}
	defer r.leave(s.height)
	it, src, err := s.source(r, items, outer)
	if err != nil {
		return nil, err
	}
	if err := r.builtItems(s.fn.slots); err != nil {
		return nil, err
	}
	saved := r.frame
	r.frame = &frame{slots: make([]Value, s.fn.slots), parent: outer}
	defer func() { r.frame = saved }()
	state := newLoop(r, src, it, depth)
	state.again, state.outer = l, outer
	start := len(r.out)
	if _, err := s.run(r, state, state); err != nil {
		return nil, err
	}
	return r.capture(start)
}

func (s *forStmt) symbols(sc *scope) { sc.visit(s.items) }

func (s *forStmt) bind(b *binder, sc *scope, soft bool) error {
	if err := b.expr(s.items, sc, soft); err != nil {
		return err
	}
	savedIn := b.inLoop
	b.loops++
	defer func() { b.loops--; b.inLoop = savedIn }()

	if s.test != nil {
		if err := s.bindTest(b, sc); err != nil {
			return err
		}
	}
	var in *scope
	if s.recursive {
		in = sc.innerFunc()
		s.fn = in.fn
	} else {
		in = sc.inner()
	}
	if s.usesLoop {
		in.param("loop")
		s.loopVar = in.ref("loop")
	}
	s.to.symbols(in, true)
	s.body.symbols(in)
	if err := s.to.bind(b, in); err != nil {
		return err
	}
	b.inLoop = true
	if err := s.body.bind(b, in, false); err != nil {
		return err
	}
	s.init = in.init()
	// A break in the else block would leave the loop around this one, which a
	// recursive loop, being a function, is cut off from.
	b.inLoop = savedIn && !s.recursive
	other := sc.inner()
	other.fn = in.fn
	s.other.symbols(other)
	if err := s.other.bind(b, other, false); err != nil {
		return err
	}
	s.otherInit = other.init()
	return nil
}

func (s *forStmt) bindTest(b *binder, sc *scope) error {
	in := sc.inner()
	s.testTo = s.to.clone()
	s.testTo.symbols(in, true)
	in.visit(s.test)
	if err := s.testTo.bind(b, in); err != nil {
		return err
	}
	if err := b.expr(s.test, in, false); err != nil {
		return err
	}
	s.testInit = in.init()
	return nil
}
