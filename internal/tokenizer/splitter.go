package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// A stage cuts a text: by a scanner, which knows a piece at a time and loses nothing, or
// by a splitter, which looks at all of it first.
type stage struct {
	scan  scanner
	split *splitter
	late  func() *splitter // of a table's row: makes split
}

// byScan makes stages of scanners.
func byScan(list ...scanner) (stages []stage) {
	for _, s := range list {
		stages = append(stages, stage{scan: s})
	}
	return stages
}

// splitter cuts at matches.
type splitter struct {
	find   func(text string, s *patternScratch) []span
	invert bool // what lies between is what matches
	merge  func(dst []span, m []stretch) []span
}

// stretch is a part of a text: a match, or what lies between.
type stretch struct {
	span
	match bool
}

// behaviors are what becomes of matches, by the names of tokenizer.json.
var behaviors = map[string]func(dst []span, m []stretch) []span{
	"Removed": func(dst []span, m []stretch) []span {
		for _, x := range m {
			if !x.match {
				dst = append(dst, x.span)
			}
		}
		return dst
	},
	"Isolated": func(dst []span, m []stretch) []span {
		for _, x := range m {
			dst = append(dst, x.span)
		}
		return dst
	},
	"Contiguous": func(dst []span, m []stretch) []span {
		from, was := len(dst), false
		for _, x := range m {
			if x.match == was && len(dst) > from {
				dst[len(dst)-1].end = x.end
			} else {
				dst = append(dst, x.span)
			}
			was = x.match
		}
		return dst
	},
	"MergedWithPrevious": func(dst []span, m []stretch) []span {
		from, was := len(dst), false
		for _, x := range m {
			if x.match && !was && len(dst) > from {
				dst[len(dst)-1].end = x.end
			} else {
				dst = append(dst, x.span)
			}
			was = x.match
		}
		return dst
	},
	"MergedWithNext": func(dst []span, m []stretch) []span {
		// From the right, a match takes the stretch after it: here the stretch takes it.
		for i := 0; i < len(m); {
			beg := m[i].beg
			for i < len(m) && m[i].match && i+1 < len(m) && m[i+1].match {
				dst = append(dst, m[i].span)
				i++
				beg = m[i].beg
			}
			if m[i].match && i+1 < len(m) {
				i++
			}
			dst = append(dst, span{beg, m[i].end})
			i++
		}
		return dst
	},
}

// cut appends the pieces of a text that stay.
func (p *splitter) cut(dst []span, text string, s *patternScratch) []span {
	s.marks = s.marks[:0]
	at := 0
	for _, x := range p.find(text, s) {
		if x.beg > at {
			s.marks = append(s.marks, stretch{span{at, x.beg}, p.invert})
		}
		s.marks = append(s.marks, stretch{x, !p.invert})
		at = x.end
	}
	if at < len(text) {
		s.marks = append(s.marks, stretch{span{at, len(text)}, p.invert})
	}
	return p.merge(dst, s.marks)
}

// findChars finds each character of a set.
func findChars(in charset) func(string, *patternScratch) []span {
	return func(text string, s *patternScratch) []span {
		t := classes()
		s.found = s.found[:0]
		for i := 0; i < len(text); {
			ok, n := in(t, text[i:])
			if ok {
				s.found = append(s.found, span{i, i + n})
			}
			i += n
		}
		return s.found
	}
}

// findText finds a string.
func findText(what string) func(string, *patternScratch) []span {
	return func(text string, s *patternScratch) []span {
		s.found = s.found[:0]
		for i := 0; ; {
			n := strings.Index(text[i:], what)
			if n < 0 {
				return s.found
			}
			s.found = append(s.found, span{i + n, i + n + len(what)})
			i += n + len(what)
		}
	}
}

// ofRune is the set of one character.
func ofRune(want rune) charset {
	return func(_ *classTable, s string) (bool, int) {
		r, n := utf8.DecodeRuneInString(s)
		return r == want && (r != utf8.RuneError || n > 1), n
	}
}

// newSplitter is a stage that cuts at matches.
func newSplitter(find func(string, *patternScratch) []span, behavior string, invert bool) (stage, error) {
	merge, ok := behaviors[behavior]
	if !ok {
		return stage{}, unsupported("Rules.Split", behavior, "this behavior is not known here")
	}
	return stage{split: &splitter{find, invert, merge}}, nil
}
