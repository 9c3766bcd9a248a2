package chat

// target is what can stand left of "=" and after "for".
type target interface {
	assign(r *run, v Value) error
	symbols(s *scope, param bool)
	bind(b *binder, s *scope) error
	clone() target
}

// nameTarget sets a variable.
type nameTarget struct {
	at
	name string
	slot slotRef
}

func (t *nameTarget) assign(r *run, v Value) error {
	t.slot.store(r, v)
	return nil
}

func (t *nameTarget) symbols(s *scope, param bool) {
	if param {
		s.param(t.name)
	} else {
		s.set(t.name)
	}
}

func (t *nameTarget) bind(b *binder, s *scope) error {
	if t.name == "loop" && b.loops > 0 {
		return &SyntaxError{t.line(), "can't assign to the special variable loop inside a for block"}
	}
	t.slot = s.ref(t.name)
	return nil
}

func (t *nameTarget) clone() target { return &nameTarget{at: t.at, name: t.name} }

// tupleTarget takes a value apart.
type tupleTarget struct{ parts []target }

func (t *tupleTarget) assign(r *run, v Value) error {
	items, err := r.unpack(v, len(t.parts))
	if err != nil {
		return err
	}
	for i, p := range t.parts {
		if err := p.assign(r, items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *tupleTarget) symbols(s *scope, param bool) {
	for _, p := range t.parts {
		p.symbols(s, param)
	}
}

func (t *tupleTarget) bind(b *binder, s *scope) error {
	for _, p := range t.parts {
		if err := p.bind(b, s); err != nil {
			return err
		}
	}
	return nil
}

func (t *tupleTarget) clone() target {
	c := &tupleTarget{}
	for _, p := range t.parts {
		c.parts = append(c.parts, p.clone())
	}
	return c
}

// attrTarget sets an attribute of a namespace.
type attrTarget struct {
	at
	obj  *nameExpr
	attr string
}

func (t *attrTarget) assign(r *run, v Value) error {
	obj, err := t.obj.eval(r)
	if err != nil {
		return err
	}
	ns, ok := obj.(*namespace)
	if !ok {
		return failf("cannot assign attribute on non-namespace object")
	}
	if err := r.builtItems(4); err != nil { // a new name each time would grow it without end
		return err
	}
	ns.m.Set(t.attr, v)
	return nil
}

func (t *attrTarget) symbols(s *scope, _ bool) { s.read(t.obj.name) }

func (t *attrTarget) bind(b *binder, s *scope) error { return b.expr(t.obj, s, false) }

func (t *attrTarget) clone() target {
	return &attrTarget{at: t.at, obj: &nameExpr{name: t.obj.name}, attr: t.attr}
}
