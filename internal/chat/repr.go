package chat

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// str is Python's str(v): what printing gives.
func (r *run) str(v Value) (string, error) {
	switch x := v.(type) {
	case text:
		return string(x), nil
	case markup:
		return string(x), nil
	case *undefined:
		return "", nil
	case none, boolean, integer, float:
		return scalarRepr(x), nil
	}
	return r.repr(v)
}

// repr is Python's repr(v): what printing a list gives for its elements.
func (r *run) repr(v Value) (string, error) {
	switch x := v.(type) {
	case none, boolean, integer, float:
		return scalarRepr(x), nil
	}
	p := printer{r: r}
	if err := p.value(v, 0); err != nil {
		return "", err
	}
	if err := r.built(len(p.b)); err != nil {
		return "", err
	}
	return string(p.b), nil
}

// scalarRepr prints what needs no limits.
func scalarRepr(v Value) string {
	switch x := v.(type) {
	case boolean:
		if x {
			return "True"
		}
		return "False"
	case integer:
		return strconv.FormatInt(int64(x), 10)
	case float:
		return reprFloat(float64(x))
	}
	return "None"
}

// printer builds a repr. Its size is bounded by the memory the run has left.
type printer struct {
	r    *run
	b    []byte
	open []any // lists and dicts that are being printed: a namespace can hold itself
}

// enter begins a list or dict; one that is being printed already gives only short.
func (p *printer) enter(v any, short string) (ok bool, err error) {
	if err := p.r.charge(len(p.open) / 8); err != nil {
		return false, err
	}
	for _, o := range p.open {
		if o == v {
			p.b = append(p.b, short...)
			return false, nil
		}
	}
	p.open = append(p.open, v)
	return true, nil
}

func (p *printer) leave() { p.open = p.open[:len(p.open)-1] }

func (p *printer) value(v Value, depth int) error {
	if depth > maxDataDepth {
		return &LimitError{"levels of nesting in a value", maxDataDepth}
	}
	if err := p.r.step(); err != nil {
		return err
	}
	if int64(len(p.b)) > p.r.mem {
		return p.r.built(len(p.b))
	}
	switch x := v.(type) {
	case none, boolean, integer, float:
		p.b = append(p.b, scalarRepr(x)...)
	case bigint:
		if err := p.r.chargeInt(x); err != nil {
			return err
		}
		s, err := bigText(x.n)
		p.b = append(p.b, s...)
		return err
	case text:
		return p.str(string(x))
	case markup:
		p.b = append(p.b, "Markup("...)
		err := p.str(string(x))
		p.b = append(p.b, ')')
		return err
	case *list:
		if ok, err := p.enter(x, "[...]"); !ok {
			return err
		}
		defer p.leave()
		return p.seq("[", x.items, "]", depth)
	case *tuple:
		if len(x.items) == 1 {
			return p.seq("(", x.items, ",)", depth)
		}
		return p.seq("(", x.items, ")", depth)
	case *Map:
		return p.dict(x, depth)
	case *namespace:
		p.b = append(p.b, "<Namespace "...)
		err := p.dict(x.m, depth)
		p.b = append(p.b, '>')
		return err
	case *dictView:
		items, err := x.list(p.r)
		if err != nil {
			return err
		}
		p.b = append(p.b, x.pyType()...)
		return p.seq("([", items, "])", depth)
	case *rangeValue:
		p.b = append(p.b, x.repr()...)
	case *undefined:
		p.b = append(p.b, "Undefined"...)
	case *function:
		if s, ok := x.self.(markup); ok { // the one method that prints no address
			p.b = append(p.b, "<bound method Markup."+x.def.name+" of "...)
			err := p.value(s, depth+1)
			p.b = append(p.b, '>')
			return err
		}
		p.b = append(p.b, "<"+v.pyType()+" object>"...)
	case *macro:
		p.b = append(p.b, "<Macro "+reprString(x.def.name)+">"...)
	case *loopState:
		n, err := x.length()
		p.b = append(p.b, "<LoopContext "+strconv.Itoa(x.index0+1)+"/"+strconv.Itoa(n)+">"...)
		return err
	default:
		// Python prints an address here; nothing can depend on it.
		p.b = append(p.b, "<"+v.pyType()+" object>"...)
	}
	return nil
}

func (p *printer) str(s string) error {
	if err := p.r.scanText(s); err != nil {
		return err
	}
	if int64(len(p.b)+len(s)) > p.r.mem {
		return p.r.built(len(p.b) + len(s))
	}
	p.b = appendReprString(p.b, s)
	return nil
}

func (p *printer) seq(open string, items []Value, end string, depth int) error {
	p.b = append(p.b, open...)
	for i, it := range items {
		if i > 0 {
			p.b = append(p.b, ", "...)
		}
		if err := p.value(it, depth+1); err != nil {
			return err
		}
	}
	p.b = append(p.b, end...)
	return nil
}

func (p *printer) dict(m *Map, depth int) error {
	if ok, err := p.enter(m, "{...}"); !ok {
		return err
	}
	defer p.leave()
	p.b = append(p.b, '{')
	for i, e := range m.entries {
		if i > 0 {
			p.b = append(p.b, ", "...)
		}
		if err := p.value(e.key, depth+1); err != nil {
			return err
		}
		p.b = append(p.b, ": "...)
		if err := p.value(e.val, depth+1); err != nil {
			return err
		}
	}
	p.b = append(p.b, '}')
	return nil
}

func bigText(n *big.Int) (string, error) {
	s := n.String()
	if len(strings.TrimPrefix(s, "-")) > maxIntDigits {
		return "", failf("Exceeds the limit (%d digits) for integer string conversion", maxIntDigits)
	}
	return s, nil
}

// reprFloat prints the shortest digits that read back as f, in Python's layout:
// plain from 1e-4 up to 1e16, and with ".0" where it would look like an int.
func reprFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	var buf [32]byte
	b := strconv.AppendFloat(buf[:0], f, 'e', -1, 64)
	e := len(b) - 1
	for b[e] != 'e' {
		e--
	}
	exp, _ := strconv.Atoi(string(b[e+1:]))
	if exp < -4 || exp >= 16 {
		return string(b) // 1e-07: the exponent has two digits at least, as in Python
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.ContainsRune(s, '.') {
		s += ".0"
	}
	return s
}

func reprString(s string) string { return string(appendReprString(nil, s)) }

func appendReprString(b []byte, s string) []byte {
	q := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		q = '"'
	}
	b = append(b, q)
	for i := 0; i < len(s); {
		c, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case c == rune(q) || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case isPrintable(c):
			b = append(b, s[i:i+n]...)
		case c < 0x100:
			b = appendHex(append(b, `\x`...), c, 2)
		case c < 0x10000:
			b = appendHex(append(b, `\u`...), c, 4)
		default:
			b = appendHex(append(b, `\U`...), c, 8)
		}
		i += n
	}
	return append(b, q)
}

func appendHex(b []byte, c rune, digits int) []byte {
	for d := digits - 1; d >= 0; d-- {
		b = append(b, "0123456789abcdef"[c>>(4*d)&15])
	}
	return b
}
