package chat

// This file decides at compile time which variable each name means. Jinja does
// the same, and templates can see it: a for body, a macro, a captured block or a
// with block is a frame of its own, and setting a name inside a frame makes a
// variable of that frame, which starts out as a copy of the outer one; an if is
// no frame. Looking names up one by one while running would differ where a name
// is read before it is set.
//
//	function (has slots while it runs)     frames in it
//	template ────────────────────────────  template, for bodies, with, captures
//	  macro, call block, generation ─────  its body, …
//	  recursive for ─────────────────────  its body, …

// funcInfo is a function as the compiler sees it.
type funcInfo struct {
	depth int // functions around it
	slots int
}

type loadKind byte

const (
	loadParam   loadKind = iota // set by whoever enters the frame
	loadContext                 // starts as the context's value
	loadAlias                   // starts as the outer frame's variable
	loadNothing                 // starts with no value
)

// variable is a name in one frame.
type variable struct {
	fn     *funcInfo
	slot   int
	load   loadKind
	outer  *variable // for loadAlias
	name   string
	stored bool // something sets it; otherwise the context's value does for it
}

// scope is the symbols of one frame while compiling.
type scope struct {
	parent *scope
	fn     *funcInfo
	vars   map[string]*variable
	order  []*variable
	stores []string             // names set in this frame, in the order of first setting
	since  map[string]int       // their indexes in stores
	seen   map[string]*variable // what find found further out
	b      *binder
}

func (s *scope) inner() *scope {
	return &scope{parent: s, fn: s.fn, vars: map[string]*variable{}, since: map[string]int{}, seen: map[string]*variable{}, b: s.b}
}

// innerFunc is a frame that is a function of its own.
func (s *scope) innerFunc() *scope {
	n := s.inner()
	n.fn = &funcInfo{depth: s.fn.depth + 1}
	return n
}

// find gives the variable that name means in this frame, nil: none yet. What
// lies further out is remembered, since frames can be deep and names many; the
// frames around are complete by the time this one is looked at.
func (s *scope) find(name string) *variable {
	if v := s.vars[name]; v != nil {
		return v
	}
	if v := s.seen[name]; v != nil {
		return v
	}
	for out := s.parent; out != nil; out = out.parent {
		if v := out.vars[name]; v != nil {
			s.seen[name] = v
			return v
		}
	}
	return nil
}

func (s *scope) define(name string, load loadKind, outer *variable) *variable {
	v := s.vars[name]
	if v == nil {
		v = &variable{fn: s.fn, slot: s.fn.slots, name: name}
		s.fn.slots++
		s.vars[name] = v
		s.order = append(s.order, v)
	}
	v.load, v.outer = load, outer
	return v
}

// read notes that the frame reads name.
func (s *scope) read(name string) {
	if s.find(name) == nil {
		s.define(name, loadContext, nil)
	}
}

// set notes that the frame sets name.
func (s *scope) set(name string) {
	s.storing(name)
	v := s.vars[name]
	if v == nil {
		if outer := s.outerVar(name); outer != nil {
			v = s.define(name, loadAlias, outer)
		} else {
			v = s.define(name, loadNothing, nil)
		}
	}
	v.stored = true
}

func (s *scope) outerVar(name string) *variable {
	if s.parent == nil {
		return nil
	}
	return s.parent.find(name)
}

// param notes that name is given by whoever enters the frame.
func (s *scope) param(name string) {
	s.storing(name)
	s.define(name, loadParam, nil).stored = true
}

func (s *scope) storing(name string) {
	if _, ok := s.since[name]; !ok {
		s.since[name] = len(s.stores)
		s.stores = append(s.stores, name)
	}
}

// branched ends an if that began when before names were set: what only its
// branches set may stay unset, and then the name means what it meant outside.
func (s *scope) branched(before int) {
	for _, n := range s.stores[before:] {
		v := s.vars[n]
		if outer := s.outerVar(n); outer != nil {
			v.load, v.outer = loadAlias, outer
		} else {
			v.load, v.outer = loadContext, nil
		}
	}
}

// visit notes every name that e reads.
func (s *scope) visit(e expr) {
	if n, ok := e.(*nameExpr); ok {
		s.read(n.name)
	}
	e.each(s.visit)
}

// unknown is a name that e reads and no frame has noted, "": there is none.
func (s *scope) unknown(e expr) (name string) {
	if n, ok := e.(*nameExpr); ok && s.find(n.name) == nil {
		return n.name
	}
	e.each(func(p expr) {
		if name == "" {
			name = s.unknown(p)
		}
	})
	return name
}

// ref is how code in this frame reaches a variable.
func (s *scope) ref(name string) slotRef {
	v := s.find(name)
	if v.load == loadContext && !v.stored {
		return slotRef{context: true, slot: s.b.contextName(name)}
	}
	return slotRef{hops: s.fn.depth - v.fn.depth, slot: v.slot}
}

// frameInit is what to do with a frame's variables on entering it.
type frameInit struct {
	loads []slotLoad
	slots []int // all of the frame's
}

type slotLoad struct {
	slot int
	from slotRef // ignored where unset
	none bool
}

// init makes the frame's entry code. Call it once the frame told its symbols.
func (s *scope) init() frameInit {
	var fi frameInit
	for _, v := range s.order {
		if v.load == loadContext && !v.stored {
			continue // read straight from the context
		}
		fi.slots = append(fi.slots, v.slot)
		switch v.load {
		case loadContext:
			fi.loads = append(fi.loads, slotLoad{slot: v.slot, from: slotRef{context: true, slot: s.b.contextName(v.name)}})
		case loadAlias:
			from := slotRef{hops: s.fn.depth - v.outer.fn.depth, slot: v.outer.slot}
			if v.outer.load == loadContext && !v.outer.stored {
				from = slotRef{context: true, slot: s.b.contextName(v.name)}
			}
			fi.loads = append(fi.loads, slotLoad{slot: v.slot, from: from})
		case loadNothing:
			fi.loads = append(fi.loads, slotLoad{slot: v.slot, none: true})
		}
	}
	return fi
}

// enter and leave pay for what they do, without a check: the statement after
// them has one.
func (fi *frameInit) enter(r *run) {
	r.steps -= int64(len(fi.loads) / 4)
	for _, l := range fi.loads {
		var v Value
		if !l.none {
			v = l.from.load(r)
		}
		r.frame.slots[l.slot] = v
	}
}

func (fi *frameInit) leave(r *run) {
	r.steps -= int64(len(fi.slots) / 8)
	for _, s := range fi.slots {
		r.frame.slots[s] = nil
	}
}

// slotRef reaches a variable at run time: in the context, or in the function
// hops levels out.
type slotRef struct {
	hops, slot int
	context    bool
}

func (s slotRef) load(r *run) Value {
	if s.context {
		return r.names[s.slot]
	}
	f := r.frame
	for range s.hops {
		f = f.parent
	}
	r.steps -= int64(s.hops / 16)
	return f.slots[s.slot]
}

// store sets a variable; only a frame's own ones are ever set.
func (s slotRef) store(r *run, v Value) { r.frame.slots[s.slot] = v }

// binder is the state of connecting names to variables.
type binder struct {
	names  map[string]int // names read from the context, and their indexes
	order  []string
	inLoop bool // a break would have something to break
	loops  int  // for blocks around, functions or not
	lib    *library
}

func (b *binder) contextName(name string) int {
	i, ok := b.names[name]
	if !ok {
		i = len(b.order)
		b.names[name] = i
		b.order = append(b.order, name)
	}
	return i
}

// expr binds the names of e and checks that its filters and tests exist.
func (b *binder) expr(e expr, s *scope, soft bool) (err error) {
	switch x := e.(type) {
	case *nameExpr:
		x.slot = s.ref(x.name)
		x.undef = &undefined{name: x.name}
	case *filterExpr:
		if b.lib.filters[x.name] == nil && !soft {
			return &SyntaxError{x.line, "no filter named " + reprString(x.name)}
		}
	case *testExpr:
		if b.lib.tests[x.name] == nil && !soft {
			return &SyntaxError{x.line, "no test named " + reprString(x.name)}
		}
	case *condExpr:
		soft = true
	}
	e.each(func(p expr) {
		if err == nil {
			err = b.expr(p, s, soft)
		}
	})
	return err
}
