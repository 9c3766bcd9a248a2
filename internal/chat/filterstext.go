package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// soft is the value as a string that keeps its kind.
func (r *run) soft(v Value) (s string, like Value, err error) {
	if s, ok := strOf(v); ok {
		return s, v, nil
	}
	s, err = r.str(v)
	return s, text(""), err
}

func textFilter(name string, f func(string) string) *builtin {
	return &builtin{name: name, fn: func(r *run, v Value, _ args) (Value, error) {
		s, like, err := r.soft(v)
		if err != nil {
			return nil, err
		}
		if err := r.scanText(s); err != nil {
			return nil, err
		}
		if err := r.built(len(s)); err != nil {
			return nil, err
		}
		return sameKind(like, f(s)), nil
	}}
}

// titleWords is the title filter: unlike str.title it starts a word only after
// white space, a hyphen or an opening bracket.
func titleWords(s string) string {
	var b strings.Builder
	isBreak := func(c rune) bool { return c == '-' || isSpace(c) || strings.ContainsRune("({[<", c) }
	for s != "" {
		c, n := utf8.DecodeRuneInString(s)
		if isBreak(c) {
			b.WriteRune(c)
			s = s[n:]
			continue
		}
		end := strings.IndexFunc(s, isBreak)
		if end < 0 {
			end = len(s)
		}
		writeUpper(&b, c)
		b.WriteString(lower(s[n:end]))
		s = s[end:]
	}
	return b.String()
}

func doTrim(r *run, v Value, a args) (Value, error) {
	s, like, err := r.soft(v)
	if err != nil {
		return nil, err
	}
	return strMethods["strip"].call(r, sameKind(like, s), a.v, nil)
}

func doString(r *run, v Value, _ args) (Value, error) {
	s, like, err := r.soft(v)
	return sameKind(like, s), err
}

func doSafe(r *run, v Value, _ args) (Value, error) {
	s, err := r.str(v)
	return markup(s), err
}

func doEscape(r *run, v Value, _ args) (Value, error) {
	if _, ok := v.(markup); ok {
		return v, nil
	}
	return doForceEscape(r, v, args{})
}

func doForceEscape(r *run, v Value, _ args) (Value, error) {
	s, err := r.str(v)
	if err != nil {
		return nil, err
	}
	out, err := r.escape(s)
	return markup(out), err
}

func doReplace(r *run, v Value, a args) (Value, error) {
	var s [3]string
	for i, x := range []Value{v, a.v[0], a.v[1]} {
		var err error
		if s[i], err = r.str(x); err != nil {
			return nil, err
		}
	}
	count := int64(-1)
	if _, ok := a.v[2].(none); !ok {
		var err error
		if count, err = intOf(a.v[2]); err != nil {
			return nil, err
		}
	}
	out, err := r.replace(s[0], s[1], s[2], count)
	return text(out), err
}

func doIndent(r *run, v Value, a args) (Value, error) {
	s, ok := strOf(v)
	if !ok {
		if err := firstUndefined(v); err != nil {
			return nil, err
		}
		return nil, opError("+=", v, text(""))
	}
	pad, ok := strOf(a.v[0])
	if !ok {
		n, err := intOf(a.v[0])
		if err != nil {
			return nil, err
		}
		p, err := r.mul(text(" "), integer(n))
		if err != nil {
			return nil, err
		}
		pad, _ = strOf(p)
	}
	if _, ok := v.(markup); ok {
		var err error
		if pad, err = r.escape(pad); err != nil {
			return nil, err
		}
	}
	if err := r.built(len(s)); err != nil {
		return nil, err
	}
	lines, err := r.splitLines(s+"\n", false)
	if err != nil {
		return nil, err
	}
	if err := r.builtN(int64(len(pad)+2*valueSize), int64(len(lines))+1); err != nil {
		return nil, err
	}
	if err := r.built(2 * len(s)); err != nil {
		return nil, err
	}
	var b strings.Builder
	if truth(a.v[1]) {
		b.WriteString(pad)
	}
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
			if line != "" || truth(a.v[2]) {
				b.WriteString(pad)
			}
		}
		b.WriteString(line)
	}
	return sameKind(v, b.String()), nil
}

func doFormat(r *run, v Value, a args) (Value, error) {
	s, like, err := r.soft(v)
	if err != nil {
		return nil, err
	}
	if len(a.rest) > 0 && len(a.kw) > 0 {
		return nil, failf("can't handle positional and keyword arguments at the same time")
	}
	if len(a.kw) == 0 {
		return r.percent(like, s, &tuple{items: a.rest})
	}
	m := NewMap(len(a.kw))
	for _, k := range a.kw {
		m.Set(k.name, k.val)
	}
	return r.percent(like, s, m)
}

func doCenter(r *run, v Value, a args) (Value, error) {
	s, like, err := r.soft(v)
	if err != nil {
		return nil, err
	}
	width, err := intOf(a.v[0])
	if err != nil {
		return nil, err
	}
	out, err := r.pad(s, width, " ", padCenter)
	return sameKind(like, out), err
}

func doTruncate(r *run, v Value, a args) (Value, error) {
	n, err := intOf(a.v[0])
	if err != nil {
		return nil, err
	}
	end, err := needStr(a.v[2])
	if err != nil {
		return nil, err
	}
	leeway := int64(5)
	if _, ok := a.v[3].(none); !ok {
		if leeway, err = intOf(a.v[3]); err != nil {
			return nil, err
		}
	}
	ends, err := r.runeCount(end)
	if err != nil {
		return nil, err
	}
	endLen := int64(ends)
	if n < endLen || leeway < 0 {
		return nil, failf("truncate: expected length >= %d and leeway >= 0, got %d and %d", endLen, n, leeway)
	}
	have, err := r.length(v)
	if err != nil {
		return nil, err
	}
	if int64(have) <= n || int64(have)-n <= leeway { // whatever it is
		return v, nil
	}
	s, err := needStr(v)
	if err != nil {
		return nil, err
	}
	if err := r.built(len(s) + len(end)); err != nil {
		return nil, err
	}
	cut := s[:runeOffset(s, n-endLen)]
	if !truth(a.v[1]) {
		if i := strings.LastIndexByte(cut, ' '); i >= 0 {
			cut = cut[:i]
		}
	}
	return sameKind(v, cut+end), nil
}

func doWordCount(r *run, v Value, _ args) (Value, error) {
	s, _, err := r.soft(v)
	if err != nil {
		return nil, err
	}
	if err := r.scanText(s); err != nil {
		return nil, err
	}
	n, inWord := 0, false
	for _, c := range s {
		word := c == '_' || unicode.IsLetter(c) || unicode.IsNumber(c)
		if word && !inWord {
			n++
		}
		inWord = word
	}
	return integer(n), nil
}

func doURLEncode(r *run, v Value, _ args) (Value, error) {
	if _, isStr := strOf(v); isStr || !isIterable(v) {
		s, err := r.str(v)
		if err != nil {
			return nil, err
		}
		if err := r.builtSlowly(3 * len(s)); err != nil {
			return nil, err
		}
		return text(quoteURL(s, "/")), nil
	}
	if m, ok := v.(*Map); ok {
		v = &dictView{m, viewItems}
	}
	pairs, err := r.collect(v)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for i, p := range pairs {
		kv, err := r.unpack(p, 2)
		if err != nil {
			return nil, err
		}
		for j, x := range kv {
			s, err := r.str(x)
			if err != nil {
				return nil, err
			}
			if err := r.builtSlowly(3*len(s) + 1); err != nil {
				return nil, err
			}
			if j == 1 {
				b.WriteByte('=')
			} else if i > 0 {
				b.WriteByte('&')
			}
			b.WriteString(strings.ReplaceAll(quoteURL(s, ""), "%20", "+"))
		}
	}
	return text(b.String()), nil
}

func quoteURL(s, keep string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isDec(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("_.-~"+keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte("0123456789ABCDEF"[c>>4])
			b.WriteByte("0123456789ABCDEF"[c&15])
		}
	}
	return b.String()
}

// doStripTags drops comments and tags and joins what is left with single
// spaces.
func doStripTags(r *run, v Value, _ args) (Value, error) {
	s, err := r.str(v)
	if err != nil {
		return nil, err
	}
	if err := r.built(6 * len(s)); err != nil {
		return nil, err
	}
	for _, mark := range [][2]string{{"<!--", "-->"}, {"<", ">"}} {
		var b strings.Builder
		for {
			i := strings.Index(s, mark[0])
			if i < 0 {
				break
			}
			n := strings.Index(s[i:], mark[1])
			if n < 0 {
				break
			}
			b.WriteString(s[:i])
			s = s[i+n+len(mark[1]):]
		}
		b.WriteString(s)
		s = b.String()
	}
	s = strings.Join(fields(s, -1), " ")
	return text(htmlUnescaper.Replace(s)), nil
}

var htmlUnescaper = strings.NewReplacer("&amp;", "&", "&gt;", ">", "&lt;", "<", "&#39;", "'", "&#34;", `"`, "&quot;", `"`)
