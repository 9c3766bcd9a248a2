package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token kinds. An operator's kind is its own text.
type tokenKind string

const (
	tokData       tokenKind = "template data"
	tokName       tokenKind = "name"
	tokString     tokenKind = "string"
	tokInt        tokenKind = "integer"
	tokFloat      tokenKind = "float"
	tokBlockBegin tokenKind = "begin of statement block"
	tokBlockEnd   tokenKind = "end of statement block"
	tokVarBegin   tokenKind = "begin of print statement"
	tokVarEnd     tokenKind = "end of print statement"
	tokEOF        tokenKind = "end of template"
)

type token struct {
	kind tokenKind
	text string
	line int
}

// lexer cuts a template into tokens, one at a time. It is a state machine over
// three states: plain text, and the inside of {% %} or {{ }}.
//
// White space rules live here: a "-" at a tag eats all white space on its side;
// without one, a statement or comment that stands alone on its line takes the
// line's indent with it (lstrip_blocks) and the newline after it (trim_blocks).
type lexer struct {
	src     string
	pos     int
	line    int
	end     string // "%}" or "}}" inside a tag, "" in plain text
	nesting []byte // closing brackets still owed; a tag can't end while there are any
	// lineStart says that the last tag consumed ended with a newline, or that
	// none was seen: then text before the next tag begins a line.
	lineStart bool
	queue     []token
}

func newLexer(src string) *lexer {
	src = normNewlines(src)
	src = strings.TrimSuffix(src, "\n") // one, as Jinja does
	return &lexer{src: src, line: 1, lineStart: true}
}

func normNewlines(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

func (l *lexer) fail(line int, msg string) error { return &SyntaxError{line, msg} }

func (l *lexer) next() (token, error) {
	for len(l.queue) == 0 {
		var err error
		if l.end == "" {
			err = l.lexText()
		} else {
			err = l.lexTag()
		}
		if err != nil {
			return token{}, err
		}
	}
	t := l.queue[0]
	l.queue = l.queue[1:]
	return t, nil
}

func (l *lexer) emit(kind tokenKind, text string) {
	l.queue = append(l.queue, token{kind, text, l.line})
}

// advance moves n bytes on, counting lines.
func (l *lexer) advance(n int) {
	l.line += strings.Count(l.src[l.pos:l.pos+n], "\n")
	l.pos += n
}

// lexText takes plain text up to the next tag, and the tag's opening.
func (l *lexer) lexText() error {
	rest := l.src[l.pos:]
	if rest == "" {
		l.emit(tokEOF, "")
		return nil
	}
	at := nextTag(rest)
	if at < 0 {
		l.emit(tokData, rest)
		l.advance(len(rest))
		return nil
	}
	open := rest[at : at+2]
	if open == "{%" {
		if n, sign := rawBegin(rest[at:]); n > 0 {
			return l.lexRaw(rest[:at], at+n, sign)
		}
	}
	n, sign := 2, byte(0)
	if at+2 < len(rest) && (rest[at+2] == '-' || rest[at+2] == '+') {
		n, sign = 3, rest[at+2]
	}
	l.textBefore(rest[:at], sign, open != "{{")
	l.advance(at + n)
	switch open {
	case "{#":
		return l.lexComment()
	case "{%":
		l.emit(tokBlockBegin, open)
		l.end = "%}"
	default:
		l.emit(tokVarBegin, open)
		l.end = "}}"
	}
	return nil
}

// nextTag is the offset of the first "{%", "{{" or "{#", -1 where there is none.
func nextTag(s string) int {
	for off := 0; ; {
		i := strings.IndexByte(s[off:], '{')
		if i < 0 || off+i+1 >= len(s) {
			return -1
		}
		off += i
		if c := s[off+1]; c == '%' || c == '{' || c == '#' {
			return off
		}
		off++
	}
}

// textBefore emits the text before a tag, with the tag's white space rules.
func (l *lexer) textBefore(s string, sign byte, strips bool) {
	switch {
	case sign == '-':
		s = strings.TrimRightFunc(s, isSpace)
	case sign != '+' && strips:
		from := strings.LastIndexByte(s, '\n') + 1
		if (from > 0 || l.lineStart) && strings.TrimLeftFunc(s[from:], isSpace) == "" {
			s = s[:from]
		}
	}
	if s != "" {
		l.emit(tokData, s)
	}
}

// rawBegin matches "{% raw %}" with its variations at the start of s.
func rawBegin(s string) (n int, sign byte) {
	n = 2
	if n < len(s) && (s[n] == '-' || s[n] == '+') {
		sign = s[n]
		n++
	}
	n += spaces(s[n:])
	if !strings.HasPrefix(s[n:], "raw") {
		return 0, 0
	}
	n += 3
	n += spaces(s[n:])
	switch {
	case strings.HasPrefix(s[n:], "-%}"):
		n += 3
		n += spaces(s[n:])
	case strings.HasPrefix(s[n:], "%}"):
		n += 2
	default:
		return 0, 0
	}
	return n, sign
}

// lexRaw takes a raw block whole: before is the text before it, begin where its
// body starts.
func (l *lexer) lexRaw(before string, begin int, sign byte) error {
	l.textBefore(before, sign, true)
	l.advance(begin)
	l.lineStart = begin > 0 && l.src[l.pos-1] == '\n'
	body := l.src[l.pos:]
	for off := 0; ; {
		i := strings.Index(body[off:], "{%")
		if i < 0 {
			return l.fail(l.line, "missing end of raw directive")
		}
		off += i
		if n, sign := l.rawEnd(body[off:]); n > 0 {
			l.textBefore(body[:off], sign, true)
			l.advance(off + n)
			l.lineStart = l.src[l.pos-1] == '\n'
			return nil
		}
		off += 2
	}
}

func (l *lexer) rawEnd(s string) (n int, sign byte) {
	n = 2
	if n < len(s) && (s[n] == '-' || s[n] == '+') {
		sign = s[n]
		n++
	}
	n += spaces(s[n:])
	if !strings.HasPrefix(s[n:], "endraw") {
		return 0, 0
	}
	n += 6
	n += spaces(s[n:])
	m := tagEnd(s[n:], "%}")
	if m == 0 {
		return 0, 0
	}
	return n + m, sign
}

// tagEnd matches the end of a tag at the start of s and says how much belongs
// to it: "-" takes all white space after, a bare "%}" or "#}" one newline.
func tagEnd(s, end string) int {
	switch {
	case strings.HasPrefix(s, end):
		if end != "}}" && strings.HasPrefix(s[2:], "\n") {
			return 3
		}
		return 2
	case len(s) > 2 && s[0] == '-' && s[1:3] == end:
		return 3 + spaces(s[3:])
	case len(s) > 2 && s[0] == '+' && s[1:3] == end && end != "}}":
		return 3
	}
	return 0
}

func (l *lexer) lexComment() error {
	rest := l.src[l.pos:]
	i := strings.Index(rest, "#}")
	if i < 0 {
		return l.fail(l.line, "missing end of comment tag")
	}
	if i > 0 && (rest[i-1] == '-' || rest[i-1] == '+') {
		i--
	}
	l.advance(i + tagEnd(rest[i:], "#}"))
	l.lineStart = l.src[l.pos-1] == '\n'
	return nil
}

// operators, longest first.
var operators = []string{
	"//", "**", "==", "!=", ">=", "<=",
	"+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";",
}

// lexTag takes one token inside a tag.
func (l *lexer) lexTag() error {
	l.advance(spaces(l.src[l.pos:]))
	rest := l.src[l.pos:]
	if rest == "" {
		l.emit(tokEOF, "")
		return nil
	}
	if len(l.nesting) == 0 {
		if n := tagEnd(rest, l.end); n > 0 {
			kind := tokBlockEnd
			if l.end == "}}" {
				kind = tokVarEnd
			}
			l.emit(kind, l.end)
			l.advance(n)
			l.lineStart = l.src[l.pos-1] == '\n'
			l.end = ""
			return nil
		}
	}
	c := rest[0]
	switch {
	case c >= '0' && c <= '9':
		return l.lexNumber(rest)
	case c == '\'' || c == '"':
		return l.lexString(rest)
	}
	if n := nameLen(rest); n > 0 {
		if first, _ := utf8.DecodeRuneInString(rest); first != '_' && !unicode.IsLetter(first) {
			return l.fail(l.line, "invalid character in identifier")
		}
		l.emit(tokName, rest[:n])
		l.advance(n)
		return nil
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			return l.lexOperator(op)
		}
	}
	bad, _ := utf8.DecodeRuneInString(rest)
	return l.fail(l.line, "unexpected character "+reprString(string(bad)))
}

var closers = map[string]byte{"(": ')', "[": ']', "{": '}'}

func (l *lexer) lexOperator(op string) error {
	switch op {
	case "(", "[", "{":
		if len(l.nesting) >= maxParseDepth {
			return &LimitError{"levels of nesting in a template", maxParseDepth}
		}
		l.nesting = append(l.nesting, closers[op])
	case ")", "]", "}":
		if len(l.nesting) == 0 {
			return l.fail(l.line, "unexpected '"+op+"'")
		}
		want := l.nesting[len(l.nesting)-1]
		if want != op[0] {
			return l.fail(l.line, "unexpected '"+op+"', expected '"+string(want)+"'")
		}
		l.nesting = l.nesting[:len(l.nesting)-1]
	}
	l.emit(tokenKind(op), op)
	l.advance(len(op))
	return nil
}

func nameLen(s string) int {
	for i, c := range s {
		if c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			continue
		}
		if c < utf8.RuneSelf || !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) {
			return i
		}
	}
	return len(s)
}

// spaces is the length of the white space at the start of s.
func spaces(s string) int { return len(s) - len(strings.TrimLeftFunc(s, isSpace)) }
