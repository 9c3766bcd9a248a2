package tokenizer

import (
	"strings"
	"unicode"
)

// runeSet says what belongs to a set of characters.
type runeSet func(rune) bool

func ofTable(t ...*unicode.RangeTable) runeSet {
	return func(r rune) bool { return unicode.In(r, t...) }
}

func notOf(s runeSet) runeSet { return func(r rune) bool { return !s(r) } }

func anyOf(list []runeSet) runeSet {
	if len(list) == 1 {
		return list[0]
	}
	return func(r rune) bool {
		for _, s := range list {
			if s(r) {
				return true
			}
		}
		return false
	}
}

func between(lo, hi rune) runeSet { return func(r rune) bool { return lo <= r && r <= hi } }

// folded adds to a set what differs from its members in case only.
func folded(s runeSet) runeSet {
	return func(r rune) bool {
		if s(r) {
			return true
		}
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if s(f) {
				return true
			}
		}
		return false
	}
}

// isOnigWord is \w in a pattern.
func isOnigWord(r rune) bool {
	switch r {
	case 0x200C, 0x200D:
		return false
	case '²', '³', '¹', '¼', '½', '¾':
		return true
	}
	return isWordRune(r)
}

// isWordRune is a character of a word elsewhere.
func isWordRune(r rune) bool {
	return r == 0x200C || r == 0x200D ||
		unicode.In(r, unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.M, unicode.Nd, unicode.Pc)
}

func isHex(r rune) bool { return unicode.Is(unicode.ASCII_Hex_Digit, r) }

// escapeSets are the sets that one letter stands for; its capital is what is not in it.
var escapeSets = map[byte]runeSet{
	's': ofTable(unicode.White_Space), 'd': ofTable(unicode.Nd), 'w': isOnigWord, 'h': isHex,
}

// longNames are properties by the names that patterns use beside the categories' and
// the scripts' own.
var longNames = map[string]string{
	"letter": "L", "mark": "M", "number": "N", "punctuation": "P", "symbol": "S", "separator": "Z", "other": "C",
	"uppercaseletter": "Lu", "lowercaseletter": "Ll", "titlecaseletter": "Lt", "modifierletter": "Lm", "otherletter": "Lo",
	"nonspacingmark": "Mn", "spacingmark": "Mc", "enclosingmark": "Me", "decimalnumber": "Nd", "letternumber": "Nl", "othernumber": "No",
	"control": "Cc", "format": "Cf", "spaceseparator": "Zs", "lineseparator": "Zl", "paragraphseparator": "Zp",
	"mathsymbol": "Sm", "currencysymbol": "Sc", "modifiersymbol": "Sk", "othersymbol": "So",
}

// propertySet finds a Unicode property, whose name is written in any case, with or
// without spaces, hyphens and underscores.
func propertySet(name string) (runeSet, bool) {
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r == ' ' || r == '-' || r == '_' {
				return -1
			}
			return unicode.ToLower(r)
		}, s)
	}
	want := plain(name)
	if long, ok := longNames[want]; ok {
		want = plain(long)
	}
	for _, tables := range []map[string]*unicode.RangeTable{unicode.Categories, unicode.Scripts} {
		for k, t := range tables {
			if plain(k) == want {
				return ofTable(t), true
			}
		}
	}
	switch want {
	case "alphabetic", "alpha":
		return ofTable(unicode.L, unicode.Nl, unicode.Other_Alphabetic), true
	case "whitespace", "space":
		return ofTable(unicode.White_Space), true
	case "digit":
		return ofTable(unicode.Nd), true
	case "word":
		return isOnigWord, true
	case "textword": // no property of Unicode: what the step Whitespace takes for a word
		return isWordRune, true
	}
	return nil, false
}
