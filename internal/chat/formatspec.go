package chat

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// spec is how one value of a format is to look. Both of Python's ways to
// format, "%" and format(), end here.
type spec struct {
	fill    string // one character
	align   byte   // '<', '>', '^', '=' or 0
	sign    byte   // '+', ' ' or 0
	signed  bool   // a sign option is written, "-" included
	aligned bool   // an alignment is written, and not only a 0 before the width
	// noNegZero is "z": a float that rounds to nothing has no sign.
	noNegZero bool
	alt       bool // "#"
	group     byte // ',' or '_' between thousands
	width     int64
	prec      int64 // -1: none
	verb      byte  // 0: none given
	percent   bool  // in the manner of %: a precision pads integers
}

const maxSpecNumber = 1 << 20 // width and precision beyond are a limit error

// layout pads body, which a sign and a prefix such as 0x come before.
func (r *run) layout(f spec, sign, body string, def byte) (string, error) {
	fill, align := f.fill, f.align
	if fill == "" {
		fill = " "
	}
	if align == 0 {
		align = def
	}
	count, err := r.runeCount(body)
	if err != nil {
		return "", err
	}
	pad := int(max(0, f.width-int64(runeCount(sign)+count)))
	if err := r.builtN(int64(len(fill)), int64(pad)+1); err != nil {
		return "", err
	}
	if err := r.built(len(sign) + len(body)); err != nil {
		return "", err
	}
	switch align {
	case '<':
		return sign + body + strings.Repeat(fill, pad), nil
	case '=':
		return sign + strings.Repeat(fill, pad) + body, nil
	case '^':
		return strings.Repeat(fill, pad/2) + sign + body + strings.Repeat(fill, pad-pad/2), nil
	}
	return strings.Repeat(fill, pad) + sign + body, nil
}

func (r *run) formatText(f spec, s string) (string, error) {
	if f.prec >= 0 {
		if err := r.walk(s, f.prec); err != nil {
			return "", err
		}
		s = s[:runeOffset(s, f.prec)]
	}
	return r.layout(f, "", s, '<')
}

func (f spec) signOf(negative bool) string {
	switch {
	case negative:
		return "-"
	case f.sign != 0:
		return string(f.sign)
	}
	return ""
}

var intBases = map[byte]struct {
	base   int
	prefix string
}{'d': {10, ""}, 'n': {10, ""}, 'i': {10, ""}, 'u': {10, ""}, 'x': {16, "0x"}, 'X': {16, "0X"}, 'o': {8, "0o"}, 'b': {2, "0b"}}

func (r *run) formatInt(f spec, n *big.Int) (string, error) {
	b := intBases[f.verb]
	if f.verb == 0 {
		b = intBases['d']
	}
	if err := r.chargeInt(bigint{n}); err != nil {
		return "", err
	}
	abs := new(big.Int).Abs(n)
	var body string
	var err error
	if b.base == 10 {
		if body, err = bigText(abs); err != nil {
			return "", err
		}
	} else {
		body = abs.Text(b.base)
	}
	if f.verb == 'X' {
		body = strings.ToUpper(body)
	}
	if f.percent && f.prec > int64(len(body)) {
		if err := r.built(int(f.prec)); err != nil {
			return "", err
		}
		body = strings.Repeat("0", int(f.prec)-len(body)) + body
	}
	body = groupDigits(body, f.group, b.base)
	sign := f.signOf(n.Sign() < 0)
	if f.alt {
		sign += b.prefix
	}
	if body, err = r.zeroGroups(f, sign, body, b.base); err != nil {
		return "", err
	}
	return r.layout(f, sign, body, '>')
}

// zeroGroups pads with zeros inside the grouping: "0,001" and not "00001".
func (r *run) zeroGroups(f spec, sign, body string, base int) (string, error) {
	if f.group == 0 || f.fill != "0" || f.align != '=' {
		return body, nil
	}
	missing := int(f.width) - len(sign) - len(body)
	if missing <= 0 {
		return body, nil
	}
	if err := r.builtSlowly(3 * int(f.width)); err != nil {
		return "", err
	}
	digits := strings.ReplaceAll(body, string(f.group), "")
	// Of the missing characters one in size+1 is a separator, or one more or less,
	// and a separator never comes first: a digit then comes before it.
	zeros := missing - missing/(groupSize(base)+1) - 1
	for ; ; zeros++ {
		body = groupDigits(strings.Repeat("0", max(zeros, 0))+digits, f.group, base)
		if len(sign)+len(body) >= int(f.width) {
			return body, nil
		}
	}
}

// groupSize is how many digits stand between two separators.
func groupSize(base int) int {
	if base != 10 {
		return 4
	}
	return 3
}

func groupDigits(s string, sep byte, base int) string {
	if sep == 0 {
		return s
	}
	size := groupSize(base)
	whole, frac := s, ""
	if i := strings.IndexAny(s, ".eE%"); i >= 0 && base == 10 {
		whole, frac = s[:i], s[i:]
	}
	var b strings.Builder
	for i, c := range whole {
		if i > 0 && (len(whole)-i)%size == 0 {
			b.WriteByte(sep)
		}
		b.WriteRune(c)
	}
	return b.String() + frac
}

func (r *run) formatFloat(f spec, x float64) (string, error) {
	if f.prec > 5000 { // more digits than any float has; they would only be zeros
		return "", &LimitError{"digits after the point", 5000}
	}
	cost := int(max(f.prec, 0)) + 16
	if e := math.Abs(x); e > 1e15 && e-e == 0 { // every digit before the point is worked out
		cost += int(math.Log2(e)) / 4
	}
	if err := r.charge(cost); err != nil {
		return "", err
	}
	body := ""
	if f.verb == '%' {
		f.verb = 'f'
		body = floatBody(f, math.Abs(x*100)) + "%"
	} else {
		body = floatBody(f, math.Abs(x))
	}
	negative := math.Signbit(x) && !math.IsNaN(x)
	if f.noNegZero && strings.Trim(strings.SplitN(body, "e", 2)[0], "0.%") == "" {
		negative = false
	}
	sign := f.signOf(negative)
	if isDec(body[0]) {
		var err error
		if body, err = r.zeroGroups(f, sign, groupDigits(body, f.group, 10), 10); err != nil {
			return "", err
		}
	} else if f.fill == "0" && f.align == '=' && f.percent {
		f.fill = " "
	}
	return r.layout(f, sign, body, '>')
}

// floatBody is the digits of a float that is not negative.
func floatBody(f spec, x float64) string {
	verb, prec := f.verb, int(f.prec)
	switch {
	case math.IsInf(x, 0), math.IsNaN(x):
		s := reprFloat(x)
		if verb == 'F' || verb == 'E' || verb == 'G' {
			s = strings.ToUpper(s)
		}
		return s
	case verb == 0 && prec < 0:
		return withPoint(reprFloat(x), f.alt)
	case prec < 0:
		prec = 6
	}
	switch verb {
	case 'f', 'F':
		return withPoint(strconv.FormatFloat(x, 'f', prec, 64), f.alt)
	case 'e', 'E':
		return withPoint(strconv.FormatFloat(x, verb, prec, 64), f.alt)
	}
	return generalFloat(x, verb, max(prec, 1), f.alt)
}

// withPoint is the alternate form: digits without a point get one.
func withPoint(s string, alt bool) string {
	if !alt || strings.Contains(s, ".") {
		return s
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		return s[:i] + "." + s[i:]
	}
	return s + "."
}

// generalFloat is C's %g: an exponent only for very small and large numbers,
// and, unless alt, no zeros at the end.
func generalFloat(x float64, verb byte, prec int, alt bool) string {
	e := strconv.FormatFloat(x, 'e', prec-1, 64)
	i := strings.IndexByte(e, 'e')
	exp, _ := strconv.Atoi(e[i+1:])
	limit := prec
	if verb == 0 { // format() without a verb keeps a digit after the point
		limit = prec - 1
	}
	trim := func(s string) string {
		if alt || !strings.Contains(s, ".") {
			return s
		}
		return strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if exp < -4 || exp >= limit && !(verb == 0 && exp < prec-1) {
		s := withPoint(trim(e[:i])+e[i:], alt)
		if verb == 'G' {
			s = strings.ToUpper(s)
		}
		return s
	}
	s := withPoint(trim(strconv.FormatFloat(x, 'f', max(prec-1-exp, 0), 64)), alt)
	if verb == 0 && !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
