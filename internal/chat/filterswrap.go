package chat

import (
	"strings"
	"unicode"
)

// wrapper breaks lines as Python's textwrap does, which Jinja's filter stands on.
type wrapper struct {
	width      int
	breakWords bool // words longer than a line
	hyphens    bool // a long word is rather broken after a hyphen
}

func doWordWrap(r *run, v Value, a args) (Value, error) {
	s, err := needStr(v)
	if err != nil {
		return nil, err
	}
	width, err := intOf(a.v[0])
	if err != nil {
		return nil, err
	}
	with := "\n"
	if _, isNone := a.v[2].(none); !isNone {
		if with, err = needStr(a.v[2]); err != nil {
			return nil, err
		}
	}
	if err := r.charge(len(s)); err != nil { // the work of a character is a step
		return nil, err
	}
	if err := r.builtN(64+int64(len(with)), int64(len(s))+1); err != nil {
		return nil, err
	}
	w := wrapper{width: int(min(width, 1<<30)), breakWords: truth(a.v[1]), hyphens: truth(a.v[3])}
	var out []string
	lines, err := r.splitLines(s, false)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		if width <= 0 {
			return nil, failf("invalid width %d (must be > 0)", width)
		}
		text := []rune(line)
		out = append(out, strings.Join(w.lines(chunks(text, a.v[3] == boolean(true))), with))
	}
	return text(strings.Join(out, with)), nil
}

func isASCIISpace(c rune) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isWord(c rune) bool       { return c == '_' || unicode.IsLetter(c) || unicode.IsNumber(c) }
func isLetter(c rune) bool     { return isWord(c) && !unicode.IsDigit(c) }

// chunks cuts a line into what stays together: runs of white space, and words. A word
// with hyphens is several, where it may be broken at them.
func chunks(s []rune, hyphens bool) (out [][]rune) {
	at := func(i int, is func(rune) bool) bool { return i >= 0 && i < len(s) && is(s[i]) }
	hyphen := func(c rune) bool { return c == '-' }
	mark := func(c rune) bool { return isWord(c) || strings.ContainsRune(`!"'&.,?`, c) }
	// dash is where a dash of two or more hyphens at i ends, 0: there is none. It
	// stands between a word and another.
	dash := func(i int) int {
		if !hyphens || !at(i-1, mark) || !at(i, hyphen) || !at(i+1, hyphen) {
			return 0
		}
		for at(i, hyphen) {
			i++
		}
		if !at(i, isWord) {
			return 0
		}
		return i
	}
	// breaks says whether a word may be broken after the hyphen at i.
	breaks := func(i int) bool {
		return hyphens && at(i, hyphen) && at(i-1, isLetter) &&
			(at(i-2, isLetter) || at(i-2, hyphen) && at(i-3, isLetter)) &&
			at(i+1, isLetter) && (at(i+2, isLetter) || at(i+2, hyphen) && at(i+3, isLetter))
	}
	for i := 0; i < len(s); {
		j := i
		switch {
		case at(i, isASCIISpace):
			for at(j, isASCIISpace) {
				j++
			}
		case dash(i) > 0:
			j = dash(i)
		default:
			for j++; j < len(s) && !isASCIISpace(s[j]) && dash(j) == 0; j++ {
				if breaks(j) {
					j++
					break
				}
			}
		}
		out = append(out, s[i:j:j])
		i = j
	}
	return out
}

func blank(s []rune) bool {
	for _, c := range s {
		if !isSpace(c) {
			return false
		}
	}
	return true
}

// lines fills lines with chunks; white space where a line breaks is dropped.
func (w wrapper) lines(chunks [][]rune) (out []string) {
	for len(chunks) > 0 {
		if len(out) > 0 && blank(chunks[0]) {
			chunks = chunks[1:]
		}
		var line [][]rune
		n := 0
		for len(chunks) > 0 && n+len(chunks[0]) <= w.width {
			line = append(line, chunks[0])
			n += len(chunks[0])
			chunks = chunks[1:]
		}
		if len(chunks) > 0 && len(chunks[0]) > w.width { // fits on no line
			switch {
			case w.breakWords:
				k := w.cut(chunks[0], w.width-n)
				line = append(line, chunks[0][:k])
				chunks[0] = chunks[0][k:]
			case len(line) == 0:
				line = append(line, chunks[0])
				chunks = chunks[1:]
			}
		}
		if len(line) > 0 && blank(line[len(line)-1]) {
			line = line[:len(line)-1]
		}
		if len(line) > 0 {
			var b strings.Builder
			for _, c := range line {
				b.WriteString(string(c))
			}
			out = append(out, b.String())
		}
	}
	return out
}

// cut is how much of a long word goes onto a line with room for some characters.
func (w wrapper) cut(word []rune, room int) int {
	if !w.hyphens || len(word) <= room {
		return min(room, len(word))
	}
	for i := room - 1; i > 0; i-- {
		if word[i] != '-' {
			continue
		}
		if strings.Trim(string(word[:i]), "-") != "" {
			return i + 1
		}
		break
	}
	return room
}
