package ptxsim

import (
	"strconv"
	"strings"
)

// register is a declared register. A predicate gets its place at its first use, others
// share rows: see allocate.
type register struct {
	name    string
	typ     typ
	row     int32 // of rows, or of predicates; -1: not given yet
	index   int32 // among the function's registers
	written bool
	read    int // line of the first read, 0: none
}

// symbol is what a name within a function means.
type symbol struct {
	reg *register
	v   *variable
}

// family is a declaration of numbered registers, %r<33>.
type family struct {
	typ   typ
	count int
}

// fn is a function while it is read.
type fn struct {
	p        *parser
	k        *Kernel
	scopes   []map[string]*symbol
	families []map[string]family // per scope
	labels   map[string]int32
	tables   map[string][]string // .branchtargets
	pending  []fixup
	tables2  []fixup
	consts   map[constKey]int32
	placed   []pendingConst
	specials map[special]int32
	regs     []*register
	stmts    []*stmt
	dry      bool // builders only note which registers they read and write
	shared   int
	line     int
}

type constKey struct {
	v     *variable
	value uint64
}

type pendingConst struct {
	row int32
	key constKey
}

// fixup is an instruction whose label is not known yet.
type fixup struct {
	at    int
	label string
	line  int
}

func newFn(p *parser, k *Kernel) *fn {
	return &fn{
		p: p, k: k,
		scopes:   []map[string]*symbol{{}},
		families: []map[string]family{{}},
		dry:      true,
		labels:   map[string]int32{}, tables: map[string][]string{},
		consts: map[constKey]int32{}, specials: map[special]int32{},
	}
}

// lookup finds a name from the innermost scope outwards.
func (f *fn) lookup(name string) *symbol {
	for i := len(f.scopes) - 1; i >= 0; i-- {
		if s := f.scopes[i][name]; s != nil {
			return s
		}
		stem := strings.TrimRight(name, "0123456789")
		if stem == name {
			continue
		}
		if fam, ok := f.families[i][stem]; ok {
			n, err := strconv.Atoi(name[len(stem):])
			if err == nil && n < fam.count {
				return f.declare(i, name, fam.typ)
			}
		}
	}
	return nil
}

func (f *fn) declare(scope int, name string, t typ) *symbol {
	r := &register{name: name, typ: t, row: -1, index: int32(len(f.regs))}
	f.regs = append(f.regs, r)
	s := &symbol{reg: r}
	f.scopes[scope][name] = s
	return s
}

// body reads a function's body after its brace, to the closing one.
func (f *fn) body() error {
	p := f.p
	depth := 1
	for depth > 0 {
		t := p.take()
		switch {
		case t == "":
			return p.fail("the text ends within kernel %s", f.k.Name)
		case t == "{":
			depth++
			f.scopes = append(f.scopes, map[string]*symbol{})
			f.families = append(f.families, map[string]family{})
		case t == "}":
			depth--
			if depth > 0 {
				f.scopes = f.scopes[:len(f.scopes)-1]
				f.families = f.families[:len(f.families)-1]
			}
		case t == ";":
		case t == ".reg":
			if err := f.registers(); err != nil {
				return err
			}
		case t == ".shared" || t == ".local":
			v, err := p.variable(spaces[t[1:]], false)
			if err != nil {
				return err
			}
			if v.space == localSpace {
				v.at = uint64((f.k.LocalBytes + v.align - 1) &^ (v.align - 1))
				f.k.LocalBytes = int(v.at) + v.size
			}
			f.scopes[len(f.scopes)-1][v.name] = &symbol{v: v}
		case t == ".pragma" || t == ".loc" || t == ".file":
			for p.peek() != "" && p.line() == p.toks[p.pos-1].line {
				p.take()
			}
		case t[0] == '.':
			return p.fail("%s is not known in a function", t)
		case p.peek() == ":":
			if err := f.label(t); err != nil {
				return err
			}
		default:
			f.line = p.toks[p.pos-1].line
			if err := f.instruction(t); err != nil {
				return err
			}
		}
	}
	return f.finish()
}

// label notes where a label points, or reads the table of targets it names.
func (f *fn) label(name string) error {
	p := f.p
	p.take()
	if p.accept(".branchtargets") {
		for {
			f.tables[name] = append(f.tables[name], p.take())
			if !p.accept(",") {
				return p.expect(";")
			}
		}
	}
	if _, ok := f.labels[name]; ok {
		return p.fail("a second label %s", name)
	}
	f.labels[name] = int32(len(f.stmts))
	return nil
}

// registers reads a declaration of registers after ".reg".
func (f *fn) registers() error {
	p := f.p
	kind := strings.TrimPrefix(p.take(), ".")
	t, ok := types[kind]
	if !ok {
		return p.fail("registers of type %q", kind)
	}
	top := len(f.scopes) - 1
	for {
		name := p.take()
		n := 1
		if p.accept("<") {
			var err error
			if n, err = p.number(); err != nil {
				return err
			}
			if err := p.expect(">"); err != nil {
				return err
			}
			f.families[top][name] = family{t, n}
			n-- // clang declares one more than it uses
		} else {
			f.declare(top, name, t)
		}
		f.k.Registers[kind] += n
		if !p.accept(",") {
			return p.expect(";")
		}
	}
}

// instruction reads one instruction whose first word is t, with its semicolon.
func (f *fn) instruction(t string) error {
	p := f.p
	s := &stmt{guard: -1}
	if t == "@" {
		g, err := f.single()
		if err != nil {
			return err
		}
		if g.kind != opPred {
			return p.fail("guard %s is no predicate", g.text)
		}
		s.guard, s.negated = f.pred(&g, false), g.neg
		t = p.take()
	}
	s.line = p.toks[p.pos-1].line
	s.name = t
	s.base, _, _ = strings.Cut(t, ".")
	if builders[s.base] == nil {
		return p.fail("instruction %s is not known", t)
	}
	for p.peek() != ";" {
		o, err := f.operand()
		if err != nil {
			return err
		}
		s.ops = append(s.ops, o)
		if !p.accept(",") {
			break
		}
	}
	if err := p.expect(";"); err != nil {
		return err
	}
	s.f = f
	var in instr
	s.build(&in) // only to learn its registers and to refuse it here
	s.flow = in.flow
	f.stmts = append(f.stmts, s)
	return s.err
}

// build makes the instruction of a statement.
func (s *stmt) build(in *instr) {
	s.mods = strings.Split(s.name, ".")[1:]
	*in = instr{guard: s.guard, negated: s.negated, line: int32(s.line), name: s.name}
	builders[s.base](s, in)
	if s.err == nil && len(s.mods) > 0 {
		s.fail("instruction %s is not known (%s)", s.name, strings.Join(s.mods, " "))
	}
}

// pred is a predicate's place.
func (f *fn) pred(o *operand, write bool) int32 {
	r := o.reg
	if r.row < 0 {
		r.row = int32(f.k.preds)
		f.k.preds++
	}
	f.touch(r, write)
	return r.row
}

// row is a register's place, as statement s uses it.
func (f *fn) row(s *stmt, r *register, write bool) int32 {
	if !f.dry {
		return r.row
	}
	f.touch(r, write)
	if write {
		s.writes = append(s.writes, r.index)
	}
	if !write || s.guard >= 0 { // a guarded write keeps what other lanes hold
		s.reads = append(s.reads, r.index)
	}
	return 0
}

func (f *fn) touch(r *register, write bool) {
	if write {
		r.written = true
	} else if r.read == 0 {
		r.read = f.line
	}
}

// constant is the row of a value that all lanes share.
func (f *fn) constant(v *variable, value uint64) int32 {
	key := constKey{v, value}
	if at, ok := f.consts[key]; ok {
		return at
	}
	if f.dry {
		return 0
	}
	at := int32(f.k.rows)
	f.k.rows++
	f.consts[key] = at
	f.placed = append(f.placed, pendingConst{at, key})
	if v != nil && v.space == sharedSpace && v.placed != f {
		v.placed = f
		f.k.SharedAlign = max(f.k.SharedAlign, v.align)
		if v.extern {
			f.k.Dynamic = true
		} else {
			v.at = uint64((f.shared + v.align - 1) &^ (v.align - 1))
			f.shared = int(v.at) + v.size
		}
	}
	return at
}

// labelled tells whether a label points at statement n.
func (f *fn) labelled(n int) bool {
	for _, at := range f.labels {
		if int(at) == n {
			return true
		}
	}
	return false
}

// finish gives registers their rows, builds the code and resolves labels and addresses.
func (f *fn) finish() error {
	k := f.k
	if n := len(f.stmts); n == 0 || f.stmts[n-1].flow != leave || f.stmts[n-1].guard >= 0 || f.labelled(n) {
		f.stmts = append(f.stmts, &stmt{f: f, name: "ret", base: "ret", guard: -1, flow: leave, line: f.p.line()})
	}
	for _, x := range f.pending {
		if _, ok := f.labels[x.label]; !ok {
			return &ParseError{Line: x.line, Text: x.label, What: "no such label"}
		}
	}
	for _, r := range f.regs {
		if r.read > 0 && !r.written {
			return &ParseError{Line: r.read, Text: r.name, What: "a register that nothing writes is read"}
		}
	}
	f.allocate()
	f.dry, f.pending, f.tables2 = false, nil, nil
	k.code = make([]instr, 0, len(f.stmts))
	for _, s := range f.stmts {
		var in instr
		s.build(&in)
		if s.err != nil {
			return s.err
		}
		k.code = append(k.code, in)
	}
	for _, x := range f.pending {
		k.code[x.at].target = f.labels[x.label]
	}
	for _, x := range f.tables2 {
		for _, l := range f.tables[x.label] {
			at, ok := f.labels[l]
			if !ok {
				return &ParseError{Line: x.line, Text: l, What: "no such label"}
			}
			k.code[x.at].x.targets = append(k.code[x.at].x.targets, at)
		}
		if len(f.tables[x.label]) == 0 {
			return &ParseError{Line: x.line, Text: x.label, What: "no such table of branch targets"}
		}
	}
	k.SharedBytes = f.shared
	k.dynOff = uint64((f.shared + k.SharedAlign - 1) &^ (k.SharedAlign - 1))
	for _, c := range f.placed {
		out := constant{row: c.row, value: c.key.value}
		if v := c.key.v; v != nil {
			switch {
			case v.extern && v.space == sharedSpace:
				out.value += k.dynOff
			case v.space == globalSpace:
				out.global = v.global
			default:
				out.value += v.at
			}
		}
		k.consts = append(k.consts, out)
	}
	return nil
}
