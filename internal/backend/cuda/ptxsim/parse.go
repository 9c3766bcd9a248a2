package ptxsim

import (
	"fmt"
	"strconv"
	"strings"
)

// variable is a name with an address: shared, local, global, constant or parameter.
type variable struct {
	name   string
	space  space
	align  int
	size   int
	extern bool // dynamic shared memory
	global *global
	at     uint64
	placed *fn // whose shared layout it was last given a place in
}

type parser struct {
	toks []token
	pos  int
	m    *Module
	vars map[string]*variable
}

// Parse reads a module as clang writes it. Its error is a *ParseError.
func Parse(src string) (*Module, error) {
	p := &parser{toks: scan(src), m: &Module{}, vars: map[string]*variable{}}
	for p.peek() != "" {
		if err := p.top(); err != nil {
			return nil, err
		}
	}
	if p.m.target == "" {
		return nil, &ParseError{Line: 1, Text: "(end)", What: "no .target: this is no PTX module"}
	}
	return p.m, nil
}

func (p *parser) peek() string { return p.toks[p.pos].text }
func (p *parser) line() int    { return p.toks[p.pos].line }

func (p *parser) take() string {
	t := p.toks[p.pos].text
	if t != "" {
		p.pos++
	}
	return t
}

func (p *parser) accept(s string) bool {
	if p.peek() == s {
		p.pos++
		return true
	}
	return false
}

func (p *parser) fail(format string, args ...any) error {
	at := max(p.pos-1, 0)
	line := p.toks[at].line
	var text []string
	for i := at; i > 0 && p.toks[i-1].line == line; i-- {
		at--
	}
	for i := at; i < len(p.toks) && p.toks[i].line == line && len(text) < 20; i++ {
		text = append(text, p.toks[i].text)
	}
	return &ParseError{Line: line, Text: strings.Join(text, " "), What: fmt.Sprintf(format, args...)}
}

func (p *parser) expect(s string) error {
	if !p.accept(s) {
		t := p.take()
		return p.fail("%q where %q belongs", t, s)
	}
	return nil
}

func (p *parser) number() (int, error) {
	t := p.take()
	n, err := strconv.ParseInt(t, 0, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return 0, p.fail("%q is no count", t)
	}
	return int(n), nil
}

// top reads one declaration outside functions.
func (p *parser) top() error {
	visible := false
	extern := false
	for {
		switch t := p.take(); t {
		case ".version":
			p.m.version = p.take()
			return nil
		case ".target":
			p.m.target = p.take()
			for p.accept(",") {
				p.take()
			}
			if !strings.HasPrefix(p.m.target, "sm_") {
				return p.fail("target %q", p.m.target)
			}
			return nil
		case ".address_size":
			if t := p.take(); t != "64" {
				return p.fail("addresses of %s bits: only 64 are known", t)
			}
			return nil
		case ".file", ".pragma":
			for p.peek() != "" && p.line() == p.toks[p.pos-1].line {
				p.take()
			}
			return nil
		case ".visible", ".weak":
			visible = true
		case ".extern":
			extern = true
		case ".entry":
			return p.entry()
		case ".func":
			if extern {
				return p.fail(".extern .func: no code of its own, nothing to link it with")
			}
			return p.fail("a .func: functions must be inlined (always_inline)")
		case ".shared", ".global", ".const":
			v, err := p.variable(spaces[t[1:]], extern)
			if err != nil {
				return err
			}
			p.vars[v.name] = v
			return nil
		default:
			return p.fail("%q outside a function (visible %v)", t, visible)
		}
	}
}

// variable reads a declaration after its space, with its semicolon.
func (p *parser) variable(sp space, extern bool) (*variable, error) {
	v := &variable{space: sp, extern: extern}
	var of typ
	for {
		t := p.take()
		if t == ".align" {
			n, err := p.number()
			if err != nil {
				return nil, err
			}
			if n <= 0 || n&(n-1) != 0 {
				return nil, p.fail("alignment %d is no power of two", n)
			}
			v.align = n
			continue
		}
		var ok bool
		if of, ok = types[strings.TrimPrefix(t, ".")]; !ok || of.kind == 'p' {
			return nil, p.fail("%q is no type of a variable", t)
		}
		break
	}
	v.name = p.take()
	n := 1
	if p.accept("[") {
		n = 0
		if p.peek() != "]" {
			var err error
			if n, err = p.number(); err != nil {
				return nil, err
			}
		}
		if err := p.expect("]"); err != nil {
			return nil, err
		}
	}
	elem := of.bits / 8
	v.size = n * elem
	v.align = max(v.align, elem)
	if n == 0 && !(extern && sp == sharedSpace) {
		return nil, p.fail("variable %s has no size", v.name)
	}
	if sp == globalSpace || sp == constSpace {
		v.global = &global{name: v.name, space: sp, align: v.align, size: v.size}
	}
	if p.accept("=") {
		if v.global == nil {
			return nil, p.fail("variable %s has initial values in a space without any", v.name)
		}
		if err := p.initial(v.global, elem); err != nil {
			return nil, err
		}
	}
	if v.global != nil {
		p.m.globals = append(p.m.globals, v.global)
		if sp == constSpace {
			at := (len(p.m.consts) + v.align - 1) &^ (v.align - 1)
			p.m.consts = append(p.m.consts, make([]byte, at-len(p.m.consts)+v.size)...)
			copy(p.m.consts[at:], v.global.data)
			v.global.at = uint64(at)
			v.at = uint64(at)
		}
	}
	return v, p.expect(";")
}

// initial reads the value or the list of values of a variable.
func (p *parser) initial(g *global, elem int) error {
	put := func() error {
		t := p.take()
		neg := t == "-"
		if neg {
			t = p.take()
		}
		bits, err := literal(t, elem*8)
		if err != nil {
			return p.fail("initial value %q: addresses and the like are not known here", t)
		}
		if neg {
			bits = -bits
		}
		for i := range elem {
			g.data = append(g.data, byte(bits>>(8*i)))
		}
		return nil
	}
	if !p.accept("{") {
		return put()
	}
	for !p.accept("}") {
		if err := put(); err != nil {
			return err
		}
		p.accept(",")
	}
	if len(g.data) > g.size {
		return p.fail("more initial values than variable %s has room", g.name)
	}
	return nil
}

// entry reads a kernel after ".entry".
func (p *parser) entry() error {
	k := &Kernel{Name: p.take(), module: p.m, Registers: map[string]int{}, SharedAlign: 1}
	f := newFn(p, k)
	if p.accept("(") {
		for !p.accept(")") {
			if err := p.param(k, f); err != nil {
				return err
			}
			p.accept(",")
		}
	}
	for p.peek() != "{" {
		switch t := p.take(); t {
		case ".maxntid", ".reqntid":
			k.MaxThreads = 1
			for {
				n, err := p.number()
				if err != nil {
					return err
				}
				k.MaxThreads *= n
				if !p.accept(",") {
					break
				}
			}
		case ".minnctapersm":
			n, err := p.number()
			if err != nil {
				return err
			}
			k.MinBlocks = n
		case ".maxnreg":
			if _, err := p.number(); err != nil {
				return err
			}
		default:
			return p.fail("%q before the body of kernel %s", t, k.Name)
		}
	}
	k.Lines[0] = p.line()
	p.take()
	if p.m.Kernel(k.Name) != nil {
		return p.fail("a second kernel %s", k.Name)
	}
	if err := f.body(); err != nil {
		return err
	}
	k.Lines[1] = p.toks[p.pos-1].line
	p.m.kernels = append(p.m.kernels, k)
	return nil
}

// param reads one parameter of a kernel.
func (p *parser) param(k *Kernel, f *fn) error {
	if err := p.expect(".param"); err != nil {
		return err
	}
	align := 0
	var of typ
	for {
		t := p.take()
		if t == ".align" {
			n, err := p.number()
			if err != nil {
				return err
			}
			align = n
			continue
		}
		if t == ".ptr" {
			for strings.HasPrefix(p.peek(), ".") && p.peek() != ".align" {
				p.take()
			}
			if p.accept(".align") {
				if _, err := p.number(); err != nil {
					return err
				}
			}
			break
		}
		var ok bool
		if of, ok = types[strings.TrimPrefix(t, ".")]; !ok {
			return p.fail("%q is no type of a parameter", t)
		}
		if p.peek() != ".ptr" {
			break
		}
	}
	name := p.take()
	size := of.bits / 8
	align = max(align, size)
	if p.accept("[") {
		n, err := p.number()
		if err != nil {
			return err
		}
		size *= n
		if err := p.expect("]"); err != nil {
			return err
		}
	}
	if align <= 0 || align&(align-1) != 0 {
		return p.fail("alignment %d of a parameter", align)
	}
	at := (k.ParamBytes + align - 1) &^ (align - 1)
	k.Params = append(k.Params, Param{Name: name, Offset: at, Size: size, Align: align})
	k.ParamBytes = at + size
	f.scopes[0][name] = &symbol{v: &variable{name: name, space: paramSpace, align: align, size: size, at: uint64(at)}}
	return nil
}
