package tokenizer

import "unicode/utf8"

// casedWords is the family of
//
//	[^\r\n\p{L}\p{N}]?U*W+C?|[^\r\n\p{L}\p{N}]?U+W*C?|\p{N}{1,D}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
//
// where U are letters that aren't small and marks, W letters that aren't capital and
// marks, C is a contraction and D as given: words end where capitals begin.
type casedWords struct {
	digits    int
	contracts bool // C may follow
	fold      folding
	// ascii: only letters of ASCII are small or capital, others are both, and marks are
	// no letters; so the reference of GGUF files has it.
	ascii bool
}

func (w casedWords) at(t *classTable, s string) (class, int) {
	c, n := t.at(s)
	if w.ascii && s[0] >= utf8.RuneSelf {
		c &^= upper | lower | mark
	}
	return c, n
}

// words returns the scanner of a shape.
func (w casedWords) words() scanner {
	return func(s string) int { return w.next(classes(), s) }
}

func (w casedWords) next(t *classTable, s string) int {
	c, size := w.at(t, s)
	newline := s[0] == '\n' || s[0] == '\r'
	switch {
	case c&letter != 0:
		n, _ := w.casedWord(t, s)
		return n + w.tail(s[n:])
	case c&number != 0:
		n := size
		for i := 1; i < w.digits && n < len(s); i++ {
			c, size := t.at(s[n:])
			if c&number == 0 {
				break
			}
			n += size
		}
		return n
	case !newline && size < len(s):
		// A character may lead the word; a mark that leads one of capitals alone is a
		// word of its own, since that is tried before the second form.
		n, small := w.casedWord(t, s[size:])
		if n > 0 && (small || c&mark == 0) {
			n += size
			return n + w.tail(s[n:])
		}
	}
	if c&mark != 0 {
		n, _ := w.casedWord(t, s)
		return n + w.tail(s[n:])
	}
	at := 0
	if s[0] == ' ' && len(s) > 1 {
		at = 1
	}
	if c, _ := t.at(s[at:]); c&(space|number|letter) == 0 {
		n := at + t.runNot(s[at:], space|number|letter)
		for n < len(s) && (s[n] == '\n' || s[n] == '\r' || s[n] == '/') {
			n++
		}
		return n
	}
	n, last, end := spaces(t, s)
	if end > 0 {
		return end
	}
	return beforeWord(s, n, last)
}

func (w casedWords) tail(s string) int {
	if !w.contracts {
		return 0
	}
	return contraction(s, w.fold)
}

// casedWord measures U*W+ at the start of s, or else U+W* (then small is false); 0
// where there is neither. Taking U greedily, W+ needs a small letter to follow, or
// gives back what comes after the last character that is of both.
func (w casedWords) casedWord(t *classTable, s string) (n int, small bool) {
	both := 0 // end of the last character of both
	for n < len(s) {
		c, size := w.at(t, s[n:])
		if c&(letter|mark) == 0 || c&lower != 0 {
			break
		}
		n += size
		if c&upper == 0 {
			both = n
		}
	}
	if n < len(s) {
		if c, _ := w.at(t, s[n:]); c&lower != 0 {
			for n < len(s) {
				c, size := w.at(t, s[n:])
				if c&(letter|mark) == 0 || c&upper != 0 {
					break
				}
				n += size
			}
			return n, true
		}
	}
	if both > 0 {
		return both, true
	}
	return n, false
}
