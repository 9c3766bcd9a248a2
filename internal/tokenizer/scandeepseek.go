package tokenizer

import "strings"

// deepseekWords splits out
//
//	[!-/:-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//
// where the first set is all signs of ASCII; what lies between, digits and control
// characters, is one piece.
func deepseekWords(s string) int {
	t := classes()
	if n := deepseekWord(t, s); n > 0 {
		return n
	}
	_, n := t.at(s)
	for n < len(s) && !deepseekBegins(t, s[n:]) {
		_, size := t.at(s[n:])
		n += size
	}
	return n
}

// deepseekBegins says whether a match begins at s, looking at two characters.
func deepseekBegins(t *classTable, s string) bool {
	c, size := t.at(s)
	if c&(letter|mark|punct|sign|space) != 0 || size == len(s) {
		return c&(letter|mark|punct|sign|space) != 0
	}
	c, _ = t.at(s[size:])
	return c&(letter|mark) != 0
}

func deepseekWord(t *classTable, s string) int {
	c, size := t.at(s)
	if s[0] < 0x80 && c&(punct|sign) != 0 {
		n := 1
		for n < len(s) && 'a' <= small(s[n]) && small(s[n]) <= 'z' {
			n++
		}
		if n > 1 {
			return n
		}
	}
	if c&(letter|punct|sign) == 0 && s[0] != '\r' && s[0] != '\n' && size < len(s) {
		if n := t.run(s[size:], letter|mark); n > 0 {
			return size + n
		}
	}
	if c&(letter|mark) != 0 {
		return t.run(s, letter|mark)
	}
	at := 0
	if s[0] == ' ' {
		at = 1
	}
	if n := t.run(s[at:], punct|sign); n > 0 {
		n += at
		return n + len(s[n:]) - len(strings.TrimLeft(s[n:], "\r\n"))
	}
	if c&space == 0 {
		return 0
	}
	n, last, end := spaces(t, s)
	if end > 0 {
		return end
	}
	return beforeWord(s, n, last)
}
