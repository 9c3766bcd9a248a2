package tokenizer

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// charset says whether the first character of s, which is not empty, belongs to it,
// and the character's length.
type charset func(t *classTable, s string) (ok bool, size int)

// ofClass is the set of a Unicode class and of some ASCII characters.
func ofClass(want class, ascii string) charset {
	var also [utf8.RuneSelf]bool
	for _, b := range []byte(ascii) {
		also[b] = true
	}
	return func(t *classTable, s string) (bool, int) {
		c, n := t.at(s)
		return c&want != 0 || s[0] < utf8.RuneSelf && also[s[0]], n
	}
}

// ofRanges is the set of the code points in ranges that are in order. White space
// outside ASCII is in no such set: the reference folds it together before it looks.
func ofRanges(ranges [][2]rune) charset {
	return func(t *classTable, s string) (bool, int) {
		r, n := utf8.DecodeRuneInString(s)
		_, ok := slices.BinarySearchFunc(ranges, r, func(x [2]rune, r rune) int {
			switch {
			case r < x[0]:
				return 1
			case r > x[1]:
				return -1
			}
			return 0
		})
		return ok && (r < utf8.RuneSelf || t.rune(r)&space == 0), n
	}
}

// runs splits out \s?X{1,limit}, where X are the characters in the set and the space
// counts only if lead is set; what lies between is one piece. limit 0 is no limit.
func runs(lead bool, limit int, in charset) scanner {
	// begins says whether a match begins at s, and where its X do.
	begins := func(t *classTable, s string) (ok bool, at int) {
		if ok, _ := in(t, s); ok {
			return true, 0
		}
		if c, size := t.at(s); lead && c&space != 0 && size < len(s) {
			ok, _ := in(t, s[size:])
			return ok, size
		}
		return false, 0
	}
	return func(s string) int {
		t := classes()
		ok, n := begins(t, s)
		if !ok {
			for n = 0; !ok && n < len(s); {
				_, size := t.at(s[n:])
				if n += size; n < len(s) {
					ok, _ = begins(t, s[n:])
				}
			}
			return n
		}
		for count := 0; n < len(s) && (limit == 0 || count < limit); count++ {
			ok, size := in(t, s[n:])
			if !ok {
				break
			}
			n += size
		}
		return n
	}
}

// digitTriples splits out [0-9]{3}.
func digitTriples(s string) int {
	for i, digits := 0, 0; i < len(s); i++ {
		if digits++; s[i] < '0' || s[i] > '9' {
			digits = 0
		}
		if digits == 3 {
			if i == 2 {
				return 3
			}
			return i - 2
		}
	}
	return len(s)
}

// ofDecimals is \d.
func ofDecimals(_ *classTable, s string) (bool, int) {
	r, n := utf8.DecodeRuneInString(s)
	return unicode.Is(unicode.Nd, r), n
}

// ofBertPunct is what BERT takes for punctuation.
func ofBertPunct(t *classTable, s string) (bool, int) {
	c, n := t.at(s)
	return isBertPunct(s[0], c), n
}

// trailingSpace splits out \s+$.
func trailingSpace(s string) int {
	t := classes()
	n := len(s)
	for n > 0 {
		_, size := utf8.DecodeLastRuneInString(s[:n])
		if c, _ := t.at(s[n-size:]); c&space == 0 {
			break
		}
		n -= size
	}
	if n == 0 {
		return len(s)
	}
	return n
}

// casedLetters, wideMarks and ideographs are the sets that DeepSeek's patterns spell out.
var casedLetters = [][2]rune{
	{0x41, 0x5A}, {0x61, 0x7A}, {0xB5, 0xB5}, {0xC0, 0xD6}, {0xD8, 0xF6}, {0xF8, 0x1BA}, {0x1BC, 0x1BF},
	{0x1C4, 0x293}, {0x295, 0x2AF}, {0x370, 0x373}, {0x376, 0x376}, {0x377, 0x377}, {0x37B, 0x37D},
	{0x37F, 0x37F}, {0x386, 0x386}, {0x388, 0x38A}, {0x38C, 0x38C}, {0x38E, 0x3A1}, {0x3A3, 0x3F5},
	{0x3F7, 0x481}, {0x48A, 0x52F}, {0x531, 0x556}, {0x10A0, 0x10C5}, {0x13A0, 0x13F5}, {0x13F8, 0x13FD},
	{0x1C90, 0x1CBA}, {0x1CBD, 0x1CBF}, {0x1D00, 0x1D2B}, {0x1D6B, 0x1D77}, {0x1D79, 0x1D9A}, {0x1E00, 0x1F15},
	{0x1F18, 0x1F1D}, {0x1F20, 0x1F45}, {0x1F48, 0x1F4D}, {0x1F50, 0x1F57}, {0x1F59, 0x1F59}, {0x1F5B, 0x1F5B},
	{0x1F5D, 0x1F5D}, {0x1F5F, 0x1F7D}, {0x1F80, 0x1FB4}, {0x1FB6, 0x1FBC}, {0x1FBE, 0x1FBE}, {0x1FC2, 0x1FC4},
	{0x1FC6, 0x1FCC}, {0x1FD0, 0x1FD3}, {0x1FD6, 0x1FDB}, {0x1FE0, 0x1FEC}, {0x1FF2, 0x1FF4}, {0x1FF6, 0x1FFC},
	{0x2102, 0x2102}, {0x2107, 0x2107}, {0x210A, 0x2113}, {0x2115, 0x2115}, {0x2119, 0x211D}, {0x2124, 0x2124},
	{0x2126, 0x2126}, {0x2128, 0x2128}, {0x212A, 0x212D}, {0x212F, 0x2134}, {0x2139, 0x2139}, {0x213C, 0x213F},
	{0x2145, 0x2149}, {0x214E, 0x214E}, {0x2183, 0x2183}, {0x2184, 0x2184}, {0x2C00, 0x2C7B}, {0x2C7E, 0x2CE4},
	{0x2CEB, 0x2CEE}, {0x2CF2, 0x2CF2}, {0x2CF3, 0x2CF3}, {0xA640, 0xA66D}, {0xA680, 0xA69B}, {0xA722, 0xA76F},
	{0xA771, 0xA787}, {0xA78B, 0xA78E}, {0xAB70, 0xABBF}, {0xFB00, 0xFB06}, {0xFB13, 0xFB17}, {0xFF21, 0xFF3A},
	{0xFF41, 0xFF5A}, {0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB}, {0x10C80, 0x10CB2},
	{0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943},
}

var wideMarks = [][2]rune{
	{0x21, 0x2F}, {0x3A, 0x7E}, {0x2018, 0x201F}, {0x3000, 0x3002}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF5E},
}

// deepseekCJK is what DeepSeek V3 keeps apart: ideographs and kana.
var deepseekCJK = [][2]rune{{0x3040, 0x30FF}, {0x4E00, 0x9FA5}}

var ideographs = [][2]rune{
	{0x800, 0x9FA5}, {0xAC00, 0xD7FF},
}
