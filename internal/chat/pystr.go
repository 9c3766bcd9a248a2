package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file holds what Python's strings do that Go's functions don't, or do
// slightly differently.

// isSpace is str.isspace of one character: Unicode's white space and the four
// separators of ASCII.
func isSpace(c rune) bool {
	return c >= 0x1c && c <= 0x1f || unicode.IsSpace(c)
}

func indexOf(s, sub string) int { return strings.Index(s, sub) }

// isASCII lets the usual text skip the work of the others.
func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	var b strings.Builder
	for _, c := range s {
		writeUpper(&b, c)
	}
	return b.String()
}

func writeUpper(b *strings.Builder, c rune) {
	if f, ok := fullUpper[c]; ok {
		b.WriteString(f)
	} else {
		b.WriteRune(unicode.ToUpper(c))
	}
}

func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return lowerFrom(s, 0)
}

// lowerFrom lowers s from byte offset from on.
func lowerFrom(s string, from int) string {
	var b strings.Builder
	for i, c := range s[from:] {
		writeLower(&b, s, from+i, c)
	}
	return b.String()
}

// writeLower writes the lower case of c, which stands at byte offset i of s: a
// capital sigma looks around itself.
func writeLower(b *strings.Builder, s string, i int, c rune) {
	switch {
	case c == 'İ':
		b.WriteString("i\u0307")
	case c == 'Σ' && finalSigma(s, i):
		b.WriteRune('ς')
	default:
		b.WriteRune(unicode.ToLower(c))
	}
}

// finalSigma says whether the capital sigma at byte offset i ends a word.
func finalSigma(s string, i int) bool {
	before, after := s[:i], s[i+len("Σ"):]
	for before != "" {
		c, n := utf8.DecodeLastRuneInString(before)
		before = before[:len(before)-n]
		if caseIgnorable(c) {
			continue
		}
		if !isCased(c) {
			return false
		}
		for _, c := range after {
			if !caseIgnorable(c) {
				return !isCased(c)
			}
		}
		return true
	}
	return false
}

func isCased(c rune) bool {
	return unicode.IsUpper(c) || unicode.IsLower(c) || unicode.IsTitle(c) || unicode.Is(unicode.Other_Lowercase, c) || unicode.Is(unicode.Other_Uppercase, c)
}

func caseIgnorable(c rune) bool {
	switch c {
	case '\'', '.', ':', '\u00b7', '\u0387', '\u055f', '\u05f4', '\u2018', '\u2019', '\u2024', '\u2027', '\ufe13', '\ufe52', '\ufe55', '\uff07', '\uff0e', '\uff1a':
		return true
	}
	return unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

// writeTitle writes the title case of c: "ǆ" becomes "ǅ", and "ß" becomes "Ss".
func writeTitle(b *strings.Builder, c rune) {
	if f, ok := fullTitle[c]; ok {
		b.WriteString(f)
	} else {
		b.WriteRune(unicode.ToTitle(c))
	}
}

func capitalize(s string) string {
	if s == "" {
		return ""
	}
	c, n := utf8.DecodeRuneInString(s)
	var b strings.Builder
	writeTitle(&b, c)
	b.WriteString(lowerFrom(s, n))
	return b.String()
}

// title is str.title: a capital after anything that is not a cased letter.
func title(s string) string {
	var b strings.Builder
	inWord := false
	for i, c := range s {
		switch {
		case !inWord:
			writeTitle(&b, c)
		default:
			writeLower(&b, s, i, c)
		}
		inWord = isCased(c)
	}
	return b.String()
}

func swapcase(s string) string {
	var b strings.Builder
	for i, c := range s {
		switch {
		case unicode.IsUpper(c):
			writeLower(&b, s, i, c)
		case unicode.IsLower(c):
			writeUpper(&b, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// strip cuts the characters that are in a set from the chosen ends.
func strip(s string, in func(rune) bool, left, right bool) string {
	if left {
		s = strings.TrimLeftFunc(s, in)
	}
	if right {
		s = strings.TrimRightFunc(s, in)
	}
	return s
}

// lineEnd is the length of the line break at the start of s, 0: none.
func lineEnd(s string) int {
	c, n := utf8.DecodeRuneInString(s)
	switch c {
	case '\r':
		if strings.HasPrefix(s, "\r\n") {
			return 2
		}
		return 1
	case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return n
	}
	return 0
}

// splitLines is str.splitlines; keep leaves the line breaks on. It pays for the work
// and for the list.
func (r *run) splitLines(s string, keep bool) ([]string, error) {
	if err := r.charge(len(s)); err != nil {
		return nil, err
	}
	n := 1
	for i := 0; i < len(s); i++ {
		if lineEnd(s[i:]) > 0 {
			n++
		}
	}
	if err := r.builtItems(n); err != nil {
		return nil, err
	}
	out := make([]string, 0, n)
	start := 0
	for i := 0; i < len(s); {
		n := lineEnd(s[i:])
		if n == 0 {
			i++ // inside a character nothing decodes as a line break
			continue
		}
		end := i
		if keep {
			end = i + n
		}
		out = append(out, s[start:end])
		i += n
		start = i
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out, nil
}

// fields is str.split() without a separator: cut at runs of white space, at
// most max times where max is not negative.
func fields(s string, max int) []string {
	var out []string
	s = strings.TrimLeftFunc(s, isSpace)
	for s != "" {
		if max >= 0 && len(out) == max {
			return append(out, s)
		}
		i := strings.IndexFunc(s, isSpace)
		if i < 0 {
			return append(out, s)
		}
		out = append(out, s[:i])
		s = strings.TrimLeftFunc(s[i:], isSpace)
	}
	return out
}

// fieldsRight is str.rsplit() without a separator.
func fieldsRight(s string, max int) []string {
	var out []string
	s = strings.TrimRightFunc(s, isSpace)
	for s != "" {
		if max >= 0 && len(out) == max {
			out = append(out, s)
			break
		}
		i := strings.LastIndexFunc(s, isSpace)
		if i < 0 {
			out = append(out, s)
			break
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		out = append(out, s[i+n:])
		s = strings.TrimRightFunc(s[:i], isSpace)
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// escapeHTML is what the escape filter does.
func escapeHTML(s string) string { return htmlEscaper.Replace(s) }

// escape is escapeHTML, paid for.
func (r *run) escape(s string) (string, error) {
	if err := r.built(5 * len(s)); err != nil {
		return "", err
	}
	return escapeHTML(s), nil
}

var htmlEscaper = strings.NewReplacer("&", "&amp;", ">", "&gt;", "<", "&lt;", "'", "&#39;", `"`, "&#34;")
