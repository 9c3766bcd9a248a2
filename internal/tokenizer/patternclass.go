package tokenizer

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var escapeRunes = map[rune]rune{'n': '\n', 'r': '\r', 't': '\t', 'f': '\f', 'v': '\v', 'a': '\a', 'e': 0x1B, '0': 0}

// escape reads what follows a backslash: a set, or else a character.
func (p *patternParser) escape() (runeSet, rune) {
	r := p.rune()
	if r < utf8.RuneSelf {
		if s, ok := escapeSets[byte(unicode.ToLower(r))]; ok {
			if unicode.IsUpper(r) {
				return notOf(s), 0
			}
			return s, 0
		}
	}
	if c, ok := escapeRunes[r]; ok {
		return nil, c
	}
	switch {
	case r == 'p' || r == 'P':
		return p.property(r == 'P'), 0
	case r == 'x' && p.take("{"):
		end := strings.IndexByte(p.src[p.at:], '}')
		if end < 0 {
			p.fail("\\x{ without an end")
		}
		c := p.code(end)
		p.at++
		return nil, c
	case r == 'x':
		c := p.code(2)
		if c >= utf8.RuneSelf {
			p.fail("\\x with a byte of no character")
		}
		return nil, c
	case r == 'u':
		return nil, p.code(4)
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		p.fail("\\%c", r)
	}
	return nil, r
}

// code reads a character's number of n hexadecimal digits.
func (p *patternParser) code(n int) rune {
	if p.at+n > len(p.src) {
		p.fail("it ends too early")
	}
	x, err := strconv.ParseUint(p.src[p.at:p.at+n], 16, 32)
	if err != nil || !utf8.ValidRune(rune(x)) {
		p.fail("%q is no character's number", p.src[p.at:p.at+n])
	}
	p.at += n
	return rune(x)
}

// property reads {Name} or {^Name}.
func (p *patternParser) property(not bool) runeSet {
	if !p.take("{") {
		p.fail("\\p without {")
	}
	if p.take("^") {
		not = !not
	}
	end := strings.IndexByte(p.src[p.at:], '}')
	if end < 0 {
		p.fail("\\p{ without an end")
	}
	name := p.src[p.at : p.at+end]
	p.at += end + 1
	s, ok := propertySet(name)
	if !ok {
		p.fail("the property %q", shorten(name))
	}
	if not {
		return notOf(s)
	}
	return s
}

// class reads a set after its bracket: what lies around && is common to all.
func (p *patternParser) class() runeSet {
	p.enter()
	not := p.take("^")
	var all, list []runeSet
	for first := true; !p.take("]") || first && p.literalEnd(&list); first = false {
		if p.take("&&") {
			all, list = append(all, anyOf(list)), nil
			continue
		}
		list = append(list, p.member())
	}
	p.depth--
	s := anyOf(list)
	if len(all) > 0 {
		all = append(all, s)
		s = func(r rune) bool {
			for _, x := range all {
				if !x(r) {
					return false
				}
			}
			return true
		}
	}
	if p.fold {
		s = folded(s)
	}
	if not {
		s = notOf(s)
	}
	return s
}

// literalEnd takes a bracket that closes nothing for a character: [] is no set.
func (p *patternParser) literalEnd(list *[]runeSet) bool {
	*list = append(*list, between(']', ']'))
	return true
}

// member reads a character, a range, or a set within a set.
func (p *patternParser) member() runeSet {
	if p.is("[:") {
		return p.named()
	}
	r := p.rune()
	switch r {
	case '[':
		return p.class()
	case '\\':
		var s runeSet
		if p.is("b") {
			p.at++
			r = '\b'
		} else if s, r = p.escape(); s != nil {
			return s
		}
	}
	if !p.is("-") || p.is("-]") {
		return between(r, r)
	}
	p.at++
	hi := p.rune()
	switch hi {
	case '[':
		p.fail("a range that ends in a set")
	case '\\':
		var s runeSet
		if s, hi = p.escape(); s != nil {
			p.fail("a range that ends in a set")
		}
	}
	if hi < r {
		p.fail("a range that ends before it begins")
	}
	return between(r, hi)
}

// namedSets are the POSIX brackets.
var namedSets = map[string]runeSet{
	"alpha": ofTable(unicode.L, unicode.Nl, unicode.Other_Alphabetic), "digit": ofTable(unicode.Nd), "space": ofTable(unicode.White_Space),
	"upper": ofTable(unicode.Lu, unicode.Other_Uppercase), "lower": ofTable(unicode.Ll, unicode.Other_Lowercase), "xdigit": isHex, "word": isOnigWord, "punct": ofTable(unicode.P, unicode.S),
}

func (p *patternParser) named() runeSet {
	name, _, ok := strings.Cut(p.src[p.at+len("[:"):], ":]") // "[:]" has no end of its own
	if !ok {
		p.fail("[: without an end")
	}
	p.at += len("[:") + len(name) + len(":]")
	name, not := strings.CutPrefix(name, "^")
	s, ok := namedSets[name]
	if !ok {
		p.fail("[:%s:]", shorten(name))
	}
	if not {
		return notOf(s)
	}
	return s
}
