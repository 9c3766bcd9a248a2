package chat

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// digits is the length of a run of digits that ok accepts; single underscores
// may stand between them.
func digits(s string, ok func(c byte) bool) int {
	n := 0
	for n < len(s) {
		switch {
		case ok(s[n]):
			n++
		case s[n] == '_' && n > 0 && n+1 < len(s) && ok(s[n+1]):
			n += 2
		default:
			return n
		}
	}
	return n
}

func isDec(c byte) bool { return c >= '0' && c <= '9' }
func isHex(c byte) bool { return isDec(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
func isOct(c byte) bool { return c >= '0' && c <= '7' }
func isBin(c byte) bool { return c == '0' || c == '1' }

// lexNumber takes an integer or a float. A number right after a dot is an index
// ("x.0.1"), so it has no fraction.
func (l *lexer) lexNumber(rest string) error {
	afterDot := l.pos > 0 && l.src[l.pos-1] == '.'
	if n := floatLen(rest); n > 0 && !afterDot {
		l.emit(tokFloat, strings.ReplaceAll(rest[:n], "_", ""))
		l.advance(n)
		return nil
	}
	n := 0
	if rest[0] == '0' {
		n = 1 + digits(rest[1:], func(c byte) bool { return c == '0' })
		if len(rest) > 1 {
			base := map[byte]func(byte) bool{'x': isHex, 'o': isOct, 'b': isBin}[rest[1]|0x20]
			if base != nil {
				from := 2
				if len(rest) > 2 && rest[2] == '_' {
					from = 3
				}
				if m := digits(rest[from:], base); m > 0 {
					n = from + m
				}
			}
		}
	} else {
		n = digits(rest, isDec)
	}
	if n > maxIntDigits {
		return &LimitError{"digits in an integer", maxIntDigits}
	}
	l.emit(tokInt, strings.ReplaceAll(rest[:n], "_", ""))
	l.advance(n)
	return nil
}

// floatLen is the length of a float literal at the start of s: digits with a
// fraction, an exponent, or both. 0: there is none.
func floatLen(s string) int {
	n := digits(s, isDec)
	if n == 0 {
		return 0
	}
	isFloat := false
	if n < len(s) && s[n] == '.' {
		if m := digits(s[n+1:], isDec); m > 0 {
			n += 1 + m
			isFloat = true
		}
	}
	if n < len(s) && s[n]|0x20 == 'e' {
		from := n + 1
		if from < len(s) && (s[from] == '+' || s[from] == '-') {
			from++
		}
		if m := digits(s[from:], isDec); m > 0 {
			return from + m
		}
	}
	if !isFloat {
		return 0
	}
	return n
}

// lexString takes a quoted string and resolves its escapes.
func (l *lexer) lexString(rest string) error {
	q := rest[0]
	end := 1
	for ; end < len(rest) && rest[end] != q; end++ {
		if rest[end] == '\\' {
			end++
		}
	}
	if end >= len(rest) {
		return l.fail(l.line, "unterminated string")
	}
	s, err := unescape(rest[1:end])
	if err != "" {
		return l.fail(l.line, err)
	}
	l.emit(tokString, s)
	l.advance(end + 1)
	return nil
}

var simpleEscapes = map[byte]string{
	'n': "\n", 't': "\t", 'r': "\r", 'a': "\a", 'b': "\b", 'f': "\f", 'v': "\v",
	'\\': "\\", '\'': "'", '"': "\"", '\n': "",
}

// hexEscapes is the number of digits after \x, \u and \U.
var hexEscapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unescape resolves Python's string escapes; an unknown one keeps its
// backslash. Half a surrogate pair, which no text can hold, becomes U+FFFD.
func unescape(s string) (out, fault string) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, ""
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		c := s[i]
		if e, ok := simpleEscapes[c]; ok {
			b = append(b, e...)
			continue
		}
		if n := hexEscapes[c]; n > 0 {
			if i+n >= len(s) {
				return "", "truncated \\" + string(c) + " escape"
			}
			v, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
			if err != nil || v > utf8.MaxRune {
				return "", "illegal \\" + string(c) + " escape"
			}
			b = utf8.AppendRune(b, rune(v))
			i += n
			continue
		}
		switch {
		case isOct(c):
			n := 1
			for n < 3 && i+n < len(s) && isOct(s[i+n]) {
				n++
			}
			v, _ := strconv.ParseUint(s[i:i+n], 8, 32)
			b = utf8.AppendRune(b, rune(v))
			i += n - 1
		case c == 'N':
			return "", "\\N{name} escapes are not supported: write the character"
		default:
			b = append(b, '\\', c)
		}
	}
	return string(b), ""
}
