package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func splitMethod(right bool) func(*run, Value, args) (Value, error) {
	return func(r *run, self Value, a args) (Value, error) {
		s, _ := strOf(self)
		sep, err := optStr("split", a.v[0])
		if err != nil {
			return nil, err
		}
		n, err := intOf(a.v[1])
		if err != nil {
			return nil, err
		}
		limit := int(max(min(n, 1<<31-2), -1))
		// Every piece costs a list slot and a string header: paid for before.
		if err := r.charge(len(s) / 16); err != nil {
			return nil, err
		}
		var parts []string
		switch {
		case sep == nil && right:
			if err := r.builtSlowly(len(s) * 4); err != nil {
				return nil, err
			}
			parts = fieldsRight(s, limit)
		case sep == nil:
			if err := r.builtSlowly(len(s) * 4); err != nil {
				return nil, err
			}
			parts = fields(s, limit)
		case *sep == "":
			return nil, failf("empty separator")
		default:
			if err := r.builtItems(strings.Count(s, *sep)); err != nil {
				return nil, err
			}
			if right && limit >= 0 {
				parts = splitRight(s, *sep, limit)
			} else {
				pieces := -1
				if limit >= 0 {
					pieces = limit + 1
				}
				parts = strings.SplitN(s, *sep, pieces)
			}
		}
		return r.texts(self, parts)
	}
}

func splitRight(s, sep string, limit int) []string {
	n := min(limit, strings.Count(s, sep))
	out := make([]string, n+1)
	for ; n > 0; n-- {
		i := strings.LastIndex(s, sep)
		if i < 0 { // overlapping separators: fewer cuts than counted
			break
		}
		out[n] = s[i+len(sep):]
		s = s[:i]
	}
	out[n] = s
	return out[n:]
}

func strSplitLines(r *run, self Value, a args) (Value, error) {
	s, _ := strOf(self)
	keep, err := flagOf(a.v[0])
	if err != nil {
		return nil, err
	}
	lines, err := r.splitLines(s, keep)
	if err != nil {
		return nil, err
	}
	return r.texts(self, lines)
}

func partitionMethod(find func(s, sep string) int, right bool) func(*run, Value, args) (Value, error) {
	return func(r *run, self Value, a args) (Value, error) {
		s, _ := strOf(self)
		sep, err := needStr(a.v[0])
		if err != nil {
			return nil, err
		}
		if sep == "" {
			return nil, failf("empty separator")
		}
		if err := r.scan(len(s)); err != nil {
			return nil, err
		}
		parts := []string{s, "", ""}
		if i := find(s, sep); i >= 0 {
			parts = []string{s[:i], sep, s[i+len(sep):]}
		} else if right {
			parts = []string{"", "", s}
		}
		v, err := r.texts(self, parts)
		if err != nil {
			return nil, err
		}
		return &tuple{items: v.(*list).items}, nil
	}
}

func findMethod(name string, find func(s, sub string) int, must bool) *builtin {
	return &builtin{name: name, params: []param{{"sub", nil}, {"start", None}, {"end", None}}, posn: true, fn: func(r *run, self Value, a args) (Value, error) {
		s, _ := strOf(self)
		sub, err := needStr(a.v[0])
		if err != nil {
			return nil, err
		}
		if err := r.charge(len(s) / 16); err != nil {
			return nil, err
		}
		w, from, ok, err := r.window(s, a.v[1], a.v[2])
		if err != nil {
			return nil, err
		}
		i := -1
		if ok {
			i = find(w, sub)
		}
		switch {
		case i >= 0:
			return integer(from + runeCount(w[:i])), nil
		case must:
			return nil, failf("substring not found")
		}
		return integer(-1), nil
	}}
}

func strCount(r *run, self Value, a args) (Value, error) {
	s, _ := strOf(self)
	sub, err := needStr(a.v[0])
	if err != nil {
		return nil, err
	}
	if err := r.charge(len(s) / 16); err != nil {
		return nil, err
	}
	w, _, ok, err := r.window(s, a.v[1], a.v[2])
	if err != nil || !ok {
		return integer(0), err
	}
	return integer(strings.Count(w, sub)), nil
}

func padCenter(n, width int) (left, right int) {
	pad := width - n
	left = pad/2 + (pad & width & 1)
	return left, pad - left
}
func padRight(n, width int) (left, right int) { return 0, width - n }
func padLeft(n, width int) (left, right int)  { return width - n, 0 }

func padMethod(sides func(n, width int) (left, right int)) func(*run, Value, args) (Value, error) {
	return func(r *run, self Value, a args) (Value, error) {
		s, _ := strOf(self)
		fill, err := needStr(a.v[1])
		if err != nil {
			return nil, err
		}
		if len(fill) > utf8.UTFMax || runeCount(fill) != 1 {
			return nil, failf("The fill character must be exactly one character long")
		}
		width, err := intOf(a.v[0])
		if err != nil {
			return nil, err
		}
		out, err := r.pad(s, width, fill, sides)
		return sameKind(self, out), err
	}
}

// pad fills s up to width characters.
func (r *run) pad(s string, width int64, fill string, sides func(n, width int) (left, right int)) (string, error) {
	n, err := r.runeCount(s)
	if err != nil || width <= int64(n) {
		return s, err
	}
	if err := r.builtN(int64(len(fill)), width); err != nil {
		return "", err
	}
	if err := r.built(len(s)); err != nil {
		return "", err
	}
	left, right := sides(n, int(width))
	return strings.Repeat(fill, left) + s + strings.Repeat(fill, right), nil
}

func strZfill(r *run, self Value, a args) (Value, error) {
	s, _ := strOf(self)
	width, err := intOf(a.v[0])
	if err != nil {
		return nil, err
	}
	sign := ""
	if s != "" && (s[0] == '+' || s[0] == '-') {
		sign, s = s[:1], s[1:]
	}
	out, err := r.pad(s, width-int64(len(sign)), "0", padLeft)
	return sameKind(self, sign+out), err
}

func strExpandTabs(r *run, self Value, a args) (Value, error) {
	s, _ := strOf(self)
	size, err := intOf(a.v[0])
	if err != nil {
		return nil, err
	}
	if err := r.scan(len(s)); err != nil {
		return nil, err
	}
	if err := r.builtN(max(size, 1), int64(strings.Count(s, "\t"))+1); err != nil {
		return nil, err
	}
	if err := r.builtSlowly(len(s)); err != nil {
		return nil, err
	}
	var b strings.Builder
	col := int64(0)
	for _, c := range s {
		switch c {
		case '\t':
			if size > 0 {
				n := size - col%size
				b.WriteString(strings.Repeat(" ", int(n)))
				col += n
			}
		case '\n', '\r':
			col = 0
			b.WriteRune(c)
		default:
			col++
			b.WriteRune(c)
		}
	}
	return sameKind(self, b.String()), nil
}

// allMethod asks whether a string has characters and all are of a kind.
func allMethod(name string, is func(rune) bool) *builtin {
	return &builtin{name: name, fn: func(r *run, self Value, _ args) (Value, error) {
		s, _ := strOf(self)
		if err := r.scanText(s); err != nil {
			return nil, err
		}
		for _, c := range s {
			if !is(c) {
				return boolean(false), nil
			}
		}
		return boolean(s != ""), nil
	}}
}

// isDigit is str.isdigit of one character: digits, raised and circled ones too.
func isDigit(c rune) bool {
	return unicode.IsDigit(c) || strings.ContainsRune("²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", c) ||
		c >= '①' && c <= '⑨' || c >= '⑴' && c <= '⑼' || c >= '⒈' && c <= '⒐'
}

// caseMethod asks whether a string has characters of one case and none of the
// other.
func caseMethod(name string, want, never func(rune) bool) *builtin {
	return &builtin{name: name, fn: func(r *run, self Value, _ args) (Value, error) {
		s, _ := strOf(self)
		if err := r.scanText(s); err != nil {
			return nil, err
		}
		return boolean(hasCase(s, want, never)), nil
	}}
}

func hasCase(s string, want, never func(rune) bool) bool {
	found := false
	for _, c := range s {
		if never(c) || unicode.IsTitle(c) {
			return false
		}
		found = found || want(c)
	}
	return found
}

func strIsTitle(r *run, self Value, _ args) (Value, error) {
	s, _ := strOf(self)
	if err := r.scanText(s); err != nil {
		return nil, err
	}
	inWord, found := false, false
	for _, c := range s {
		switch {
		case unicode.IsUpper(c) || unicode.IsTitle(c):
			if inWord {
				return boolean(false), nil
			}
			inWord, found = true, true
		case unicode.IsLower(c):
			if !inWord {
				return boolean(false), nil
			}
		default:
			inWord = false
		}
	}
	return boolean(found), nil
}

func strIsIdentifier(r *run, self Value, _ args) (Value, error) {
	s, _ := strOf(self)
	if err := r.scanText(s); err != nil {
		return nil, err
	}
	c, _ := utf8.DecodeRuneInString(s)
	ok := s != "" && nameLen(s) == len(s) && (c == '_' || unicode.IsLetter(c))
	return boolean(ok), nil
}
