package chat

// macroStmt is {% macro name(params) %}…{% endmacro %}.
type macroStmt struct {
	at
	def *macroDef
	to  *nameTarget
}

func (s *macroStmt) exec(r *run) (ctl, error) {
	return ctlNone, s.to.assign(r, &macro{s.def, r.frame})
}

func (s *macroStmt) symbols(sc *scope) { sc.set(s.to.name) }

func (s *macroStmt) bind(b *binder, sc *scope, _ bool) error {
	s.to.slot = sc.ref(s.to.name)
	return s.def.bind(b, sc)
}

// callStmt is {% call(params) f(args) %}…{% endcall %}: f gets the body as its
// caller.
type callStmt struct {
	at
	def  *macroDef
	call *callExpr
}

func (s *callStmt) exec(r *run) (ctl, error) {
	v, err := s.call.with(r, &macro{s.def, r.frame})
	if err != nil {
		return ctlNone, err
	}
	return ctlNone, r.writeText(v)
}

func (s *callStmt) symbols(sc *scope) { sc.visit(s.call) }

func (s *callStmt) bind(b *binder, sc *scope, soft bool) error {
	if err := b.expr(s.call, sc, soft); err != nil {
		return err
	}
	return s.def.bind(b, sc)
}

// generationStmt is {% generation %}…{% endgeneration %}: it marks the text of
// the assistant for training. Rendering prints its body, which is a function of
// its own: what it sets stays inside.
type generationStmt struct {
	at
	def *macroDef
}

func (s *generationStmt) exec(r *run) (ctl, error) {
	v, err := (&macro{s.def, r.frame}).call(r, nil, nil)
	if err != nil {
		return ctlNone, err
	}
	return ctlNone, r.writeValue(v)
}

func (s *generationStmt) symbols(*scope) {}

func (s *generationStmt) bind(b *binder, sc *scope, _ bool) error { return s.def.bind(b, sc) }
