package chat

import (
	"strings"
	"unicode/utf8"
)

// bracer formats in the manner of "{0.name!r:>10}".format(x).
type bracer struct {
	self Value // the format
	r    *run
	pos  []Value
	kw   func(name string) (Value, bool)
	auto int  // the next of the fields without a number
	used byte // 'a' for automatic numbers, 'm' for written ones
	b    strings.Builder
}

func strFormat(r *run, self Value, a args) (Value, error) {
	m := NewMap(len(a.kw))
	for _, k := range a.kw {
		m.Set(k.name, k.val)
	}
	return r.braces(self, a.rest, m.Get)
}

func strFormatMap(r *run, self Value, a args) (Value, error) {
	m, ok := a.v[0].(*Map)
	if !ok { // which only a field finds out
		m = NewMap(0)
	}
	return r.braces(self, nil, m.Get)
}

func (r *run) braces(self Value, pos []Value, kw func(string) (Value, bool)) (Value, error) {
	s, _ := strOf(self)
	f := &bracer{self: self, r: r, pos: pos, kw: kw}
	if err := f.text(s, 2); err != nil {
		return nil, err
	}
	return sameKind(self, f.b.String()), nil
}

// text formats s; depth is how many levels of fields may still nest.
func (f *bracer) text(s string, depth int) error {
	if depth < 0 {
		return failf("Max string recursion exceeded")
	}
	if err := f.r.charge(len(s) / 8); err != nil { // every part of it is looked through
		return err
	}
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			i = len(s)
		}
		if err := f.r.built(i + 1); err != nil {
			return err
		}
		f.b.WriteString(s[:i])
		s = s[i:]
		switch {
		case s == "":
			return nil
		case len(s) > 1 && s[1] == s[0]:
			f.b.WriteByte(s[0])
			s = s[2:]
		case s[0] == '}':
			return failf("Single '}' encountered in format string")
		default:
			n, err := f.field(s, depth)
			if err != nil {
				return err
			}
			s = s[n:]
		}
	}
	return nil
}

// field formats the field that s begins with and returns its length.
func (f *bracer) field(s string, depth int) (int, error) {
	if err := f.r.charge(8); err != nil {
		return 0, err
	}
	end, nest := 0, 0
	for ; end < len(s); end++ {
		if s[end] == '{' {
			nest++
		} else if s[end] == '}' {
			if nest--; nest == 0 {
				break
			}
		}
	}
	if end == len(s) {
		return 0, failf("expected '}' before end of string")
	}
	name, specText := s[1:end], ""
	if i := strings.IndexAny(name, ":"); i >= 0 {
		name, specText = name[:i], name[i+1:]
	}
	conv := byte(0)
	if i := strings.IndexByte(name, '!'); i >= 0 {
		if len(name) != i+2 {
			return 0, failf("expected ':' after conversion specifier")
		}
		name, conv = name[:i], name[i+1]
	}
	v, err := f.value(name)
	if err != nil {
		return 0, err
	}
	if strings.IndexByte(specText, '{') >= 0 {
		sub := &bracer{self: text(""), r: f.r, pos: f.pos, kw: f.kw, auto: f.auto, used: f.used}
		if err := sub.text(specText, depth-1); err != nil {
			return 0, err
		}
		specText, f.auto, f.used = sub.b.String(), sub.auto, sub.used
	}
	out, err := f.convert(v, conv, specText)
	if err != nil {
		return 0, err
	}
	if _, ok := f.self.(markup); ok {
		if _, ok := v.(markup); !ok || conv != 0 {
			if out, err = f.r.escape(out); err != nil {
				return 0, err
			}
		}
	}
	if err := f.r.built(len(out)); err != nil {
		return 0, err
	}
	f.b.WriteString(out)
	return end + 1, nil
}

func (f *bracer) convert(v Value, conv byte, specText string) (string, error) {
	var s string
	var err error
	switch conv {
	case 0:
		return f.r.format(v, specText)
	case 's':
		s, err = f.r.str(v)
	case 'r':
		s, err = f.r.repr(v)
	case 'a':
		s, err = f.r.asciiRepr(v)
	default:
		return "", failf("Unknown conversion specifier '%c'", conv)
	}
	if err != nil {
		return "", err
	}
	return f.r.format(text(s), specText)
}

// value resolves a field name such as "0", "user.name" or "[key]".
func (f *bracer) value(name string) (Value, error) {
	first, rest := name, ""
	if i := strings.IndexAny(name, ".["); i >= 0 {
		first, rest = name[:i], name[i:]
	}
	v, err := f.first(first)
	if err != nil {
		return nil, err
	}
	for rest != "" {
		if err := f.r.step(); err != nil {
			return nil, err
		}
		attr := rest[0] == '.'
		rest = rest[1:]
		var part string
		if attr {
			i := strings.IndexAny(rest, ".[")
			if i < 0 {
				i = len(rest)
			}
			part, rest = rest[:i], rest[i:]
		} else {
			i := strings.IndexByte(rest, ']')
			if i < 0 {
				return nil, failf("Missing ']' in format string")
			}
			part, rest = rest[:i], rest[i+1:]
			if rest != "" && rest[0] != '.' && rest[0] != '[' {
				return nil, failf("Only '.' or '[' may follow ']' in format field specifier")
			}
		}
		if part == "" {
			return nil, failf("Empty attribute in format string")
		}
		n, err := f.number(part)
		switch {
		case err != nil:
			return nil, err
		case attr:
			v, err = f.r.getattr(v, part)
		case n != nil && isDec(part[0]):
			v, err = f.r.getitem(v, n)
		default:
			v, err = f.r.getitem(v, text(part))
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

// number is the integer that a part of a field's name is; nil where it is none.
func (f *bracer) number(part string) (Value, error) {
	if part == "" || !isDec(part[0]) || len(part) > maxIntDigits {
		return nil, nil
	}
	if err := f.r.charge(len(part)); err != nil {
		return nil, err
	}
	return parseInt(strings.TrimRight(part, " \t\n\v\f\r"), 10), nil
}

func (f *bracer) first(name string) (Value, error) {
	num, err := f.number(name)
	if err != nil {
		return nil, err
	}
	n, isNum := num.(integer)
	switch {
	case name == "":
		if f.used == 'm' {
			return nil, failf("cannot switch from manual field specification to automatic field numbering")
		}
		f.used = 'a'
		n = integer(f.auto)
		f.auto++
	case isNum && isDec(name[0]):
		if f.used == 'a' {
			return nil, failf("cannot switch from automatic field numbering to manual field specification")
		}
		f.used = 'm'
	default:
		if v, ok := f.kw(name); ok {
			return v, nil
		}
		return nil, failf("KeyError: %s", quoted(name))
	}
	if n < 0 || int64(n) >= int64(len(f.pos)) {
		return nil, failf("Replacement index %d out of range for positional args tuple", n)
	}
	return f.pos[n], nil
}

// format is Python's format(v, specText).
func (r *run) format(v Value, specText string) (string, error) {
	if specText == "" {
		return r.str(v)
	}
	f, err := parseSpec(specText)
	if err != nil {
		return "", err
	}
	if s, ok := strOf(v); ok {
		if f.verb != 0 && f.verb != 's' {
			return "", failf("Unknown format code '%c' for object of type 'str'", f.verb)
		}
		if f.signed || f.alt || f.group != 0 || f.align == '=' && f.aligned {
			return "", failf("format specifier not allowed for strings")
		}
		if f.align == '=' { // "05" on a string pads on the right, as 3.10 and later have it
			f.align = '<'
		}
		return r.formatText(f, s)
	}
	n, ok := numOf(v)
	if !ok {
		return "", failf("unsupported format string passed to %s.__format__", v.pyType())
	}
	_, isInt := intBases[f.verb]
	switch {
	case n.kind != 'f' && f.verb == 'c':
		if f.prec >= 0 || f.signed || f.alt {
			return "", failf("precision, sign and alternate form are not allowed with integer format specifier 'c'")
		}
		if n.kind == 'b' {
			return "", failf("Python int too large to convert to C long")
		}
		if n.i < 0 || n.i > utf8.MaxRune {
			return "", failf("%%c arg not in range(0x110000)")
		}
		return r.layout(f, "", string(rune(n.i)), '>')
	case n.kind != 'f' && (f.verb == 0 || isInt && f.verb != 'i' && f.verb != 'u'):
		if f.prec >= 0 {
			return "", failf("Precision not allowed in integer format specifier")
		}
		return r.formatInt(f, n.big())
	case f.verb == 0 || f.verb == 'n' || strings.IndexByte("eEfFgG%", f.verb) >= 0:
		if f.verb == 'n' {
			f.verb = 'g'
		}
		x, err := n.float()
		if err != nil {
			return "", err
		}
		return r.formatFloat(f, x)
	}
	return "", failf("Unknown format code '%c' for object of type '%s'", f.verb, v.pyType())
}

// parseSpec reads [[fill]align][sign][z][#][0][width][group][.precision][type].
func parseSpec(s string) (spec, error) {
	f := spec{prec: -1}
	_, n := utf8.DecodeRuneInString(s)
	switch {
	case len(s) > n && strings.IndexByte("<>=^", s[n]) >= 0:
		f.fill, f.align, f.aligned = s[:n], s[n], true
		s = s[n+1:]
	case strings.IndexByte("<>=^", s[0]) >= 0:
		f.align, f.aligned = s[0], true
		s = s[1:]
	}
	next := func(set string) byte {
		if s != "" && strings.IndexByte(set, s[0]) >= 0 {
			c := s[0]
			s = s[1:]
			return c
		}
		return 0
	}
	c := next("+- ")
	f.signed = c != 0
	if c != '-' {
		f.sign = c
	}
	f.noNegZero = next("z") != 0
	f.alt = next("#") != 0
	if next("0") != 0 && f.fill == "" {
		f.fill = "0"
		if f.align == 0 {
			f.align = '='
		}
	}
	number := func() (n int64, digits int, err error) {
		for c := next("0123456789"); c != 0; c = next("0123456789") {
			digits++
			if n = n*10 + int64(c-'0'); n > maxSpecNumber {
				return 0, 0, &LimitError{"characters of width in a format", maxSpecNumber}
			}
		}
		return n, digits, nil
	}
	var err error
	if f.width, _, err = number(); err != nil {
		return f, err
	}
	f.group = next(",_")
	if next(".") != 0 {
		var digits int
		if f.prec, digits, err = number(); err != nil {
			return f, err
		}
		if digits == 0 {
			return f, failf("Format specifier missing precision")
		}
	}
	if len(s) > 1 {
		return f, failf("Invalid format specifier")
	}
	if s != "" {
		f.verb = s[0]
	}
	if allowed := groupVerbs[f.group]; f.group != 0 && f.verb != 0 && strings.IndexByte(allowed, f.verb) < 0 {
		return f, failf("Cannot specify '%c' with '%c'.", f.group, f.verb)
	}
	return f, nil
}

// groupVerbs are the types that a separator of thousands goes with.
var groupVerbs = map[byte]string{',': "deEfFgG%", '_': "deEfFgG%boxX"}
