package chat

import (
	"math"
	"strings"
	"unicode"
)

// strMethods are the methods of a string. Those that return a string return
// the kind of string they were called on.
var strMethods = map[string]*builtin{
	"upper":      textMethod("upper", upper),
	"lower":      textMethod("lower", lower),
	"casefold":   textMethod("casefold", casefold),
	"title":      textMethod("title", title),
	"capitalize": textMethod("capitalize", capitalize),
	"swapcase":   textMethod("swapcase", swapcase),

	"strip":  stripMethod("strip", true, true),
	"lstrip": stripMethod("lstrip", true, false),
	"rstrip": stripMethod("rstrip", false, true),

	"startswith": {name: "startswith", params: []param{{"prefix", nil}, {"start", None}, {"end", None}}, posn: true, fn: affixMethod(strings.HasPrefix)},
	"endswith":   {name: "endswith", params: []param{{"suffix", nil}, {"start", None}, {"end", None}}, posn: true, fn: affixMethod(strings.HasSuffix)},

	"removeprefix": {name: "removeprefix", params: []param{{"prefix", nil}}, posn: true, fn: cutMethod(strings.TrimPrefix)},
	"removesuffix": {name: "removesuffix", params: []param{{"suffix", nil}}, posn: true, fn: cutMethod(strings.TrimSuffix)},

	"replace":    {name: "replace", params: []param{{"old", nil}, {"new", nil}, {"count", integer(-1)}}, posn: true, fn: strReplace},
	"split":      {name: "split", params: []param{{"sep", None}, {"maxsplit", integer(-1)}}, fn: splitMethod(false)},
	"rsplit":     {name: "rsplit", params: []param{{"sep", None}, {"maxsplit", integer(-1)}}, fn: splitMethod(true)},
	"splitlines": {name: "splitlines", params: []param{{"keepends", boolean(false)}}, fn: strSplitLines},
	"partition":  {name: "partition", params: []param{{"sep", nil}}, posn: true, fn: partitionMethod(strings.Index, false)},
	"rpartition": {name: "rpartition", params: []param{{"sep", nil}}, posn: true, fn: partitionMethod(strings.LastIndex, true)},
	"join":       {name: "join", params: []param{{"iterable", nil}}, posn: true, fn: strJoin},

	"find":   findMethod("find", strings.Index, false),
	"rfind":  findMethod("rfind", strings.LastIndex, false),
	"index":  findMethod("index", strings.Index, true),
	"rindex": findMethod("rindex", strings.LastIndex, true),
	"count":  {name: "count", params: []param{{"sub", nil}, {"start", None}, {"end", None}}, posn: true, fn: strCount},

	"center":     {name: "center", params: []param{{"width", nil}, {"fillchar", text(" ")}}, posn: true, fn: padMethod(padCenter)},
	"ljust":      {name: "ljust", params: []param{{"width", nil}, {"fillchar", text(" ")}}, posn: true, fn: padMethod(padRight)},
	"rjust":      {name: "rjust", params: []param{{"width", nil}, {"fillchar", text(" ")}}, posn: true, fn: padMethod(padLeft)},
	"zfill":      {name: "zfill", params: []param{{"width", nil}}, posn: true, fn: strZfill},
	"expandtabs": {name: "expandtabs", params: []param{{"tabsize", integer(8)}}, fn: strExpandTabs},

	"format":     {name: "format", rest: true, kwrest: true, fn: strFormat},
	"format_map": {name: "format_map", params: []param{{"mapping", nil}}, posn: true, fn: strFormatMap},

	"isspace":   allMethod("isspace", isSpace),
	"isalpha":   allMethod("isalpha", unicode.IsLetter),
	"isdecimal": allMethod("isdecimal", unicode.IsDigit),
	"isdigit":   allMethod("isdigit", isDigit),
	"isnumeric": allMethod("isnumeric", unicode.IsNumber),
	"isalnum":   allMethod("isalnum", func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }),
	"isascii": {name: "isascii", fn: func(r *run, self Value, a args) (Value, error) {
		s, _ := strOf(self)
		if err := r.scan(len(s)); err != nil {
			return nil, err
		}
		return boolean(isASCII(s)), nil
	}},
	"isupper":      caseMethod("isupper", unicode.IsUpper, unicode.IsLower),
	"islower":      caseMethod("islower", unicode.IsLower, unicode.IsUpper),
	"istitle":      {name: "istitle", fn: strIsTitle},
	"isprintable":  {name: "isprintable", fn: strIsPrintable},
	"translate":    {name: "translate", params: []param{{"table", nil}}, posn: true, fn: strTranslate},
	"maketrans":    {name: "maketrans", params: []param{{"x", nil}, {"y", None}, {"z", None}}, posn: true, fn: strMakeTrans},
	"isidentifier": {name: "isidentifier", fn: strIsIdentifier},
}

// textMethod changes the characters; none grows to more than three times its
// bytes.
func textMethod(name string, f func(string) string) *builtin {
	return &builtin{name: name, fn: func(r *run, self Value, _ args) (Value, error) {
		s, _ := strOf(self)
		if err := r.scanText(s); err != nil {
			return nil, err
		}
		if err := r.built(len(s)); err != nil {
			return nil, err
		}
		return sameKind(self, f(s)), nil
	}}
}

func casefold(s string) string {
	return caseFolder.Replace(lower(s))
}

var caseFolder = strings.NewReplacer("ß", "ss", "ẞ", "ss", "ς", "σ")

func stripMethod(name string, left, right bool) *builtin {
	return &builtin{name: name, params: []param{{"chars", None}}, posn: true, fn: func(r *run, self Value, a args) (Value, error) {
		s, _ := strOf(self)
		set, err := optStr(name, a.v[0])
		if err != nil {
			return nil, err
		}
		out, err := r.strip(s, set, left, right)
		return sameKind(self, out), err
	}}
}

// strip is stripSet, paid for character by character: when the steps are used up, no
// further character is in the set.
func (r *run) strip(s string, set *string, left, right bool) (string, error) {
	cost := int64(1)
	in := isSpace
	if set != nil {
		cost += int64(len(*set)) / bytesPerStep
		in = func(c rune) bool { return strings.ContainsRune(*set, c) }
	}
	out := strip(s, func(c rune) bool {
		r.steps -= cost
		return r.steps >= 0 && in(c)
	}, left, right)
	return out, r.charge(0)
}

// optStr unpacks a string argument that may be None.
func optStr(name string, v Value) (*string, error) {
	if _, ok := v.(none); ok {
		return nil, nil
	}
	s, ok := strOf(v)
	if !ok {
		return nil, failf("%s arg must be None or str", name)
	}
	return &s, nil
}

// needStr unpacks a string argument.
func needStr(v Value) (string, error) {
	s, ok := strOf(v)
	if !ok {
		return "", failf("must be str, not %s", v.pyType())
	}
	return s, nil
}

// window cuts s to the start and end that many methods take, and says at which
// code point it begins. ok is false where it lies beyond the end.
func (r *run) window(s string, start, end Value) (w string, from int, ok bool, err error) {
	var b sliceBounds
	for _, p := range []struct {
		v  Value
		to **int64
	}{{start, &b.start}, {end, &b.stop}} {
		if _, isNone := p.v.(none); isNone {
			continue
		}
		n, err := intOf(p.v)
		if err != nil {
			return "", 0, false, err
		}
		*p.to = &n
	}
	lo, hi := 0, len(s)
	if b.start != nil || b.stop != nil { // both are looked for, and what is before is counted
		if err := r.charge(len(s) / 4); err != nil {
			return "", 0, false, err
		}
	}
	if b.start != nil {
		lo = runeOffset(s, *b.start)
		if *b.start > 0 && *b.start > int64(runeCount(s)) {
			return "", 0, false, nil
		}
	}
	if b.stop != nil {
		hi = runeOffset(s, *b.stop)
	}
	if hi < lo {
		return "", 0, false, nil
	}
	return s[lo:hi], runeCount(s[:lo]), true, nil
}

func affixMethod(has func(s, affix string) bool) func(*run, Value, args) (Value, error) {
	return func(r *run, self Value, a args) (Value, error) {
		s, _ := strOf(self)
		w, _, ok, err := r.window(s, a.v[1], a.v[2])
		if err != nil {
			return nil, err
		}
		if t, isTuple := a.v[0].(*tuple); isTuple {
			for _, it := range t.items {
				affix, err := needStr(it)
				if err != nil {
					return nil, err
				}
				if err := r.charge(1 + min(len(affix), len(w))/bytesPerStep); err != nil {
					return nil, err
				}
				if ok && has(w, affix) {
					return boolean(true), nil
				}
			}
			return boolean(false), nil
		}
		affix, isStr := strOf(a.v[0])
		if !isStr {
			return nil, failf("startswith first arg must be str or a tuple of str, not %s", a.v[0].pyType())
		}
		if err := r.scan(min(len(affix), len(w))); err != nil {
			return nil, err
		}
		return boolean(ok && has(w, affix)), nil
	}
}

func cutMethod(cut func(s, affix string) string) func(*run, Value, args) (Value, error) {
	return func(r *run, self Value, a args) (Value, error) {
		s, _ := strOf(self)
		affix, err := needStr(a.v[0])
		if err != nil {
			return nil, err
		}
		if err := r.scan(min(len(affix), len(s))); err != nil {
			return nil, err
		}
		return sameKind(self, cut(s, affix)), nil
	}
}

func strReplace(r *run, self Value, a args) (Value, error) {
	s, _ := strOf(self)
	old, err := needStr(a.v[0])
	if err != nil {
		return nil, err
	}
	repl, err := needStr(a.v[1])
	if err != nil {
		return nil, err
	}
	if _, ok := self.(markup); ok {
		if _, ok := a.v[1].(markup); !ok {
			if repl, err = r.escape(repl); err != nil {
				return nil, err
			}
		}
	}
	count, err := intOf(a.v[2])
	if err != nil {
		return nil, err
	}
	out, err := r.replace(s, old, repl, count)
	return sameKind(self, out), err
}

// replace is str.replace, paid for by the size of its result.
func (r *run) replace(s, old, repl string, count int64) (string, error) {
	if err := r.charge(len(s) / 16); err != nil {
		return "", err
	}
	n := int64(strings.Count(s, old))
	if count >= 0 {
		n = min(n, count)
	}
	if n == 0 {
		return s, nil
	}
	if grow := int64(len(repl) - len(old)); grow > 0 {
		if err := r.builtN(grow, n); err != nil {
			return "", err
		}
	}
	if err := r.built(len(s)); err != nil {
		return "", err
	}
	return strings.Replace(s, old, repl, int(min(n, math.MaxInt32))), nil
}

func strJoin(r *run, self Value, a args) (Value, error) {
	sep, _ := strOf(self)
	items, err := r.collect(a.v[0])
	if err != nil {
		return nil, unlessLimit(err, "can only join an iterable")
	}
	var b strings.Builder
	for i, it := range items {
		s, ok := strOf(it)
		if !ok {
			return nil, failf("sequence item %d: expected str instance, %s found", i, it.pyType())
		}
		if _, ok := self.(markup); ok {
			if _, ok := it.(markup); !ok {
				if s, err = r.escape(s); err != nil {
					return nil, err
				}
			}
		}
		if err := r.built(len(sep) + len(s) + 1); err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(s)
	}
	return sameKind(self, b.String()), nil
}

// texts makes a list of strings of self's kind.
func (r *run) texts(self Value, parts []string) (Value, error) {
	if err := r.builtItems(2 * len(parts)); err != nil {
		return nil, err
	}
	items := make([]Value, len(parts))
	for i, p := range parts {
		items[i] = sameKind(self, p)
	}
	return &list{items}, nil
}
