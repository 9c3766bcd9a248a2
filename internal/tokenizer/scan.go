package tokenizer

// A scanner returns the length of the next piece of s, which is not empty; the
// result is between 1 and len(s). Scanners in a row refine each other: each sees one
// piece of the one before as if it were the whole text, so a lookahead stops at the
// piece's end. Each reads at most a constant factor more than it returns.
type scanner func(s string) int

// folding says which letters of a contraction are equal.
type folding int

const (
	asWritten  folding = iota
	foldASCII          // A and a
	foldLetter         // by Unicode: ſ is an s too
)

// contraction returns the length of an English contraction's tail at the start of s
// ('s 't 'm 'd 're 've 'll), or 0.
func contraction(s string, fold folding) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	a, b := s[1], byte(0)
	if len(s) > 2 {
		b = s[2]
	}
	if fold != asWritten {
		a, b = small(a), small(b)
	}
	switch a {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if b == 'e' {
			return 3
		}
	case 'l':
		if b == 'l' {
			return 3
		}
	case longS[0]:
		if fold == foldLetter && b == longS[1] {
			return 3
		}
	}
	return 0
}

const longS = "ſ"

func small(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		b += 'a' - 'A'
	}
	return b
}

// gpt2Words: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func gpt2Words(s string) int {
	if n := contraction(s, asWritten); n > 0 {
		return n
	}
	t := classes()
	at := 0
	if s[0] == ' ' && len(s) > 1 {
		at = 1
	}
	switch c, _ := t.at(s[at:]); {
	case c&letter != 0:
		return at + t.run(s[at:], letter)
	case c&number != 0:
		return at + t.run(s[at:], number)
	case c&space == 0:
		return at + t.runNot(s[at:], space|letter|number)
	}
	n, last, _ := spaces(t, s)
	return beforeWord(s, n, last)
}

// spaces measures the run of white space at the start of s: its length, where its
// last character begins, and the end of its last \r or \n (0: none).
func spaces(t *classTable, s string) (n, last, newline int) {
	for n < len(s) {
		c, size := t.at(s[n:])
		if c&space == 0 {
			break
		}
		if s[n] == '\n' || s[n] == '\r' {
			newline = n + 1
		}
		last = n
		n += size
	}
	return n, last, newline
}

// beforeWord is \s+(?!\S)|\s+ on a run of n bytes of space: before a word, the run
// leaves its last character to the word, unless that is all there is.
func beforeWord(s string, n, last int) int {
	if n < len(s) && last > 0 {
		return last
	}
	return n
}

// wordShape is the family of
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?L+|\p{N}{1,D}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//
// with L and D as given.
type wordShape struct {
	letters class // L
	digits  int   // D
	fold    folding
}

// words returns the scanner of a shape.
func (w wordShape) words() scanner {
	return func(s string) int { return w.next(classes(), s) }
}

func (w wordShape) next(t *classTable, s string) int {
	if n := contraction(s, w.fold); n > 0 {
		return n
	}
	c, size := t.at(s)
	newline := s[0] == '\n' || s[0] == '\r'
	switch {
	case c&w.letters != 0:
		return size + t.run(s[size:], w.letters)
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
		if c, n := t.at(s[size:]); c&w.letters != 0 {
			return size + n + t.run(s[size+n:], w.letters)
		}
	}

	// A space may lead a run of other characters, which takes the line ends after it.
	at := 0
	if s[0] == ' ' && len(s) > 1 {
		at = 1
	}
	other := space | number | w.letters | letter
	if c, _ := t.at(s[at:]); c&other == 0 {
		n := at + t.runNot(s[at:], other)
		for n < len(s) && (s[n] == '\n' || s[n] == '\r') {
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
