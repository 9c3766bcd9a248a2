package chat

import (
	"math/big"
	"strings"
	"unicode/utf8"
)

// percenter formats in the manner of "%d items" % 3.
type percenter struct {
	r     *run
	s     string
	i     int
	arg   Value   // the whole right side
	items []Value // where that is a tuple, or one value
	next  int
	b     strings.Builder
	like  Value
}

// percent is s % arg.
func (r *run) percent(like Value, s string, arg Value) (Value, error) {
	p := &percenter{r: r, s: s, arg: arg, items: []Value{arg}, like: like}
	if t, ok := arg.(*tuple); ok {
		p.items = t.items
	}
	if err := r.charge(len(s) / 8); err != nil { // every part of it is looked through
		return nil, err
	}
	for p.i < len(s) {
		at := strings.IndexByte(s[p.i:], '%')
		if at < 0 {
			at = len(s) - p.i
		}
		if err := r.built(at); err != nil {
			return nil, err
		}
		p.b.WriteString(s[p.i : p.i+at])
		if p.i += at; p.i == len(s) {
			break
		}
		p.i++
		if err := p.conversion(); err != nil {
			return nil, err
		}
	}
	// What can be indexed, other than a tuple, may be there for %(name)s alone.
	indexable := false
	switch arg.(type) {
	case *Map, *list, *rangeValue, *undefined:
		indexable = true
	}
	if p.next < len(p.items) && !indexable {
		return nil, failf("not all arguments converted during string formatting")
	}
	return sameKind(like, p.b.String()), nil
}

func (p *percenter) arguments() (Value, error) {
	if p.next >= len(p.items) {
		return nil, failf("not enough arguments for format string")
	}
	p.next++
	return p.items[p.next-1], nil
}

// number reads digits, or "*" for an argument.
func (p *percenter) number() (int64, error) {
	if p.i < len(p.s) && p.s[p.i] == '*' {
		p.i++
		v, err := p.arguments()
		if err != nil {
			return 0, err
		}
		if !isInteger(v) {
			return 0, failf("* wants int")
		}
		n, err := intOf(v)
		if err == nil && (n > maxSpecNumber || n < -maxSpecNumber) {
			err = &LimitError{"characters of width in a format", maxSpecNumber}
		}
		return n, err
	}
	n := int64(0)
	for ; p.i < len(p.s) && isDec(p.s[p.i]); p.i++ {
		if n = n*10 + int64(p.s[p.i]-'0'); n > maxSpecNumber {
			return 0, &LimitError{"characters of width in a format", maxSpecNumber}
		}
	}
	return n, nil
}

func (p *percenter) conversion() error {
	if err := p.r.charge(6); err != nil {
		return err
	}
	if strings.HasPrefix(p.s[p.i:], "%") {
		p.i++
		p.b.WriteByte('%')
		return nil
	}
	var keyed Value
	if strings.HasPrefix(p.s[p.i:], "(") {
		var err error
		if keyed, err = p.key(); err != nil {
			return err
		}
	}
	f := spec{prec: -1, percent: true}
	for ; p.i < len(p.s) && strings.IndexByte("-+ #0", p.s[p.i]) >= 0; p.i++ {
		switch c := p.s[p.i]; c {
		case '-':
			f.align = '<'
		case '+':
			f.sign = '+'
		case ' ':
			if f.sign == 0 {
				f.sign = ' '
			}
		case '#':
			f.alt = true
		case '0':
			f.fill = "0"
		}
	}
	var err error
	if f.width, err = p.number(); err != nil {
		return err
	}
	if f.width < 0 {
		f.align, f.width = '<', -f.width
	}
	if p.i < len(p.s) && p.s[p.i] == '.' {
		p.i++
		if f.prec, err = p.number(); err != nil {
			return err
		}
		f.prec = max(f.prec, 0)
	}
	for p.i < len(p.s) && strings.IndexByte("hlL", p.s[p.i]) >= 0 {
		p.i++
	}
	if p.i == len(p.s) {
		return failf("incomplete format")
	}
	verb, n := utf8.DecodeRuneInString(p.s[p.i:])
	p.i += n
	if keyed == nil {
		if keyed, err = p.arguments(); err != nil {
			return err
		}
	}
	if verb >= utf8.RuneSelf {
		verb = 0
	}
	out, err := p.format(f, byte(verb), keyed)
	if err != nil {
		return err
	}
	p.b.WriteString(out)
	return nil
}

// key reads "(name)" and gives that element of the mapping on the right.
func (p *percenter) key() (Value, error) {
	m, ok := p.arg.(*Map)
	if !ok {
		return nil, failf("format requires a mapping")
	}
	depth, start := 0, p.i+1
	for ; p.i < len(p.s); p.i++ {
		switch p.s[p.i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			break
		}
	}
	if p.i == len(p.s) {
		return nil, failf("incomplete format key")
	}
	name := p.s[start:p.i]
	p.i++
	v, ok := m.Get(name)
	if !ok {
		return nil, failf("KeyError: %s", quoted(name))
	}
	return v, nil
}

func (p *percenter) format(f spec, verb byte, v Value) (string, error) {
	f.verb = verb
	switch verb {
	case 's', 'r', 'a', 'c':
		f.fill = ""
		if f.align == 0 {
			f.align = '>'
		}
		s, err := p.text(verb, v)
		if err != nil {
			return "", err
		}
		if verb == 'c' {
			f.prec = -1
		}
		return p.r.formatText(f, s)
	case 'd', 'i', 'u', 'x', 'X', 'o':
		n, ok := numOf(v)
		if !ok || n.kind == 'f' && (verb == 'x' || verb == 'X' || verb == 'o') {
			if err := firstUndefined(v); err != nil {
				return "", err
			}
			return "", failf("%%%c format: a number is required, not %s", verb, v.pyType())
		}
		i := n.big()
		if n.kind == 'f' {
			t, ok := numOf(orZero(n.f))
			if !ok {
				return "", failf("cannot convert float NaN or infinity to integer")
			}
			i = t.big()
		}
		return p.r.formatInt(f.zeros(), new(big.Int).Set(i))
	case 'f', 'F', 'e', 'E', 'g', 'G':
		n, ok := numOf(v)
		if !ok {
			if err := firstUndefined(v); err != nil {
				return "", err
			}
			return "", failf("must be real number, not %s", v.pyType())
		}
		x, err := n.float()
		if err != nil {
			return "", err
		}
		return p.r.formatFloat(f.zeros(), x)
	}
	return "", failf("unsupported format character '%c'", verb)
}

// zeros turns the flag 0 into what it means: zeros after the sign, unless
// something else decides where the padding goes.
func (f spec) zeros() spec {
	if f.fill == "0" {
		if f.align == '<' {
			f.fill = ""
		} else {
			f.align = '='
		}
	}
	return f
}

// orZero is the integer part of a float, nil where it has none.
func orZero(f float64) Value {
	if f-f != 0 { // infinite or NaN
		return None
	}
	return truncFloat(f)
}

func (p *percenter) text(verb byte, v Value) (string, error) {
	switch verb {
	case 'r':
		return p.r.repr(v)
	case 'a':
		return p.r.asciiRepr(v)
	case 'c':
		if s, ok := strOf(v); ok && len(s) <= utf8.UTFMax && runeCount(s) == 1 {
			return s, nil
		}
		n, err := intOf(v)
		if err != nil || n < 0 || n > utf8.MaxRune {
			return "", failf("%%c requires int or char")
		}
		return string(rune(n)), nil
	}
	s, err := p.r.str(v)
	if err != nil {
		return "", err
	}
	if _, ok := p.like.(markup); ok {
		if _, ok := v.(markup); !ok {
			return p.r.escape(s)
		}
	}
	return s, nil
}

// asciiRepr is a repr with all escaped that is not ASCII: no byte becomes more than three.
func (r *run) asciiRepr(v Value) (string, error) {
	s, err := r.repr(v)
	if err != nil || isASCII(s) {
		return s, err
	}
	if err := r.builtSlowly(3 * len(s)); err != nil {
		return "", err
	}
	var b []byte
	for _, c := range s {
		switch {
		case c < utf8.RuneSelf:
			b = append(b, byte(c))
		case c < 0x100:
			b = appendHex(append(b, `\x`...), c, 2)
		case c < 0x10000:
			b = appendHex(append(b, `\u`...), c, 4)
		default:
			b = appendHex(append(b, `\U`...), c, 8)
		}
	}
	return string(b), nil
}
