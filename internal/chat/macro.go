package chat

// macroDef is the parameters and body of a macro or of a call block.
type macroDef struct {
	name     string // "" for a call block
	params   []*nameTarget
	defaults []expr // of the last params
	body     block
	height   int // AST levels

	fn    *funcInfo
	init  frameInit
	undef []*undefined // per parameter, when it is not given
	reads [3]bool      // whether the body reads caller, kwargs and varargs
	wants [3]bool      // … and does not declare them as parameters
	extra [3]slotRef   // … and where they go
}

// specials are parameters that a macro has because its body reads them.
var specials = [3]string{"caller", "kwargs", "varargs"}

const (
	spCaller = iota
	spKwargs
	spVarargs
)

func (d *macroDef) bind(b *binder, sc *scope) error {
	in := sc.innerFunc()
	d.fn = in.fn
	for _, p := range d.params {
		p.symbols(in, true)
	}
	for i, name := range specials {
		if d.reads[i] && !d.declares(name) {
			d.wants[i] = true
			in.param(name)
			d.extra[i] = in.ref(name)
		}
	}
	if d.reads[spCaller] && d.declares("caller") && !d.hasDefault("caller") {
		return &SyntaxError{d.params[0].line(), "the special parameter caller must be omitted or be given a default"}
	}
	for _, e := range d.defaults {
		in.visit(e)
	}
	d.body.symbols(in)
	savedIn := b.inLoop
	b.inLoop = false
	defer func() { b.inLoop = savedIn }()
	for _, p := range d.params {
		p.slot = in.ref(p.name)
		d.undef = append(d.undef, &undefined{hint: "parameter " + quoted(p.name) + " was not provided"})
	}
	for _, e := range d.defaults {
		if err := b.expr(e, in, false); err != nil {
			return err
		}
	}
	if err := d.body.bind(b, in, false); err != nil {
		return err
	}
	d.init = in.init()
	return nil
}

func (d *macroDef) declares(name string) bool {
	for _, p := range d.params {
		if p.name == name {
			return true
		}
	}
	return false
}

func (d *macroDef) hasDefault(name string) bool {
	for _, p := range d.params[len(d.params)-len(d.defaults):] {
		if p.name == name {
			return true
		}
	}
	return false
}

// macro is a macroDef with the variables it was defined among.
type macro struct {
	def   *macroDef
	outer *frame
}

func (*macro) pyType() string { return "Macro" }

func (m *macro) attribute(r *run, name string) (Value, error) {
	switch name {
	case "name":
		if m.def.name == "" {
			return None, nil
		}
		return text(m.def.name), nil
	case "arguments":
		var out []Value
		if err := r.builtItems(4 * len(m.def.params)); err != nil {
			return nil, err
		}
		for _, p := range m.def.params {
			out = append(out, text(p.name))
		}
		return &tuple{items: out}, nil
	case "catch_kwargs":
		return boolean(m.def.wants[spKwargs]), nil
	case "catch_varargs":
		return boolean(m.def.wants[spVarargs]), nil
	case "caller":
		return boolean(m.def.reads[spCaller]), nil
	}
	return nil, nil
}

// call runs the macro; what it printed is its value.
func (m *macro) call(r *run, pos []Value, kw []keyword) (Value, error) {
	d := m.def
	if err := r.enter(d.height); err != nil {
		return nil, err
	}
	defer r.leave(d.height)
	if err := r.builtItems(d.fn.slots); err != nil {
		return nil, err
	}
	saved := r.frame
	r.frame = &frame{slots: make([]Value, d.fn.slots), parent: m.outer}
	defer func() { r.frame = saved }()
	if err := d.arguments(r, pos, kw); err != nil {
		return nil, err
	}
	v, _, err := d.body.capture(r)
	return v, err
}

// arguments puts a call's arguments into the variables of the new frame.
func (d *macroDef) arguments(r *run, pos []Value, kw []keyword) error {
	d.init.enter(r)
	n := len(d.params)
	if err := r.charge(n * len(kw) / 8); err != nil {
		return err
	}
	for i, p := range d.params {
		if i < len(pos) {
			p.slot.store(r, pos[i])
			continue
		}
		for j, k := range kw {
			same, err := r.sameText(k.name, p.name)
			if err != nil {
				return err
			}
			if same {
				p.slot.store(r, k.val)
				kw = append(kw[:j:j], kw[j+1:]...)
				break
			}
		}
	}
	if d.wants[spCaller] {
		var caller Value = &undefined{hint: "No caller defined"}
		for j, k := range kw {
			if k.name == "caller" {
				if _, isNone := k.val.(none); !isNone {
					caller = k.val
				}
				kw = append(kw[:j:j], kw[j+1:]...)
				break
			}
		}
		d.extra[spCaller].store(r, caller)
	}
	switch {
	case d.wants[spKwargs]:
		m := NewMap(len(kw))
		for _, k := range kw {
			m.Set(k.name, k.val)
		}
		d.extra[spKwargs].store(r, m)
	case len(kw) > 0:
		return failf("macro %s takes no keyword argument %s", quoted(d.name), quoted(kw[0].name))
	}
	switch {
	case d.wants[spVarargs]:
		d.extra[spVarargs].store(r, &tuple{items: pos[min(n, len(pos)):]})
	case len(pos) > n:
		return failf("macro %s takes not more than %d argument(s)", quoted(d.name), n)
	}
	return d.fillDefaults(r)
}

// fillDefaults works out the defaults of what was not given, in order, so that
// a default can use the parameters before it.
func (d *macroDef) fillDefaults(r *run) error {
	first := len(d.params) - len(d.defaults)
	for i, p := range d.params {
		if p.slot.load(r) != nil {
			continue
		}
		var v Value = d.undef[i]
		if i >= first {
			var err error
			if v, err = d.defaults[i-first].eval(r); err != nil {
				return err
			}
		}
		p.slot.store(r, v)
	}
	return nil
}
