package ptxsim

import "strings"

// token is a word, number or sign of the text.
type token struct {
	text string
	line int
}

// scanner cuts PTX into tokens. A directive or opcode with its dots is one token
// (".visible", "ld.global.v4.f32"), and so is a register ("%rd1") or a label.
type scanner struct {
	src  string
	pos  int
	line int
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c == '%' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// next is the next token; an empty text at the end.
func (s *scanner) next() token {
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		rest := s.src[s.pos:]
		switch {
		case c == '\n':
			s.line++
			s.pos++
		case c == ' ' || c == '\t' || c == '\r':
			s.pos++
		case strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			s.pos += n
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest, "*/")
			if n < 0 {
				n = len(rest) - 2
			}
			s.line += strings.Count(rest[:n+2], "\n")
			s.pos += n + 2
		case c == '"':
			n := strings.IndexByte(rest[1:], '"')
			if n < 0 {
				n = len(rest) - 2
			}
			s.pos += n + 2
			return token{rest[:n+2], s.line}
		case wordByte(c):
			n := 1
			for n < len(rest) && (wordByte(rest[n]) || strings.HasPrefix(rest[n:], "::")) {
				if rest[n] == ':' { // .L1::no_allocate
					n++
				}
				n++
			}
			s.pos += n
			return token{rest[:n], s.line}
		default:
			s.pos++
			return token{rest[:1], s.line}
		}
	}
	return token{"", s.line}
}

// scan is all tokens of src, with one of empty text at the end.
func scan(src string) []token {
	s := scanner{src: src, line: 1}
	out := make([]token, 0, len(src)/5+1)
	for {
		t := s.next()
		out = append(out, t)
		if t.text == "" {
			return out
		}
	}
}
