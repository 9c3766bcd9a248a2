package tokenizer

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is the set of Unicode classes of a rune that the pre-tokenizers ask about.
// A rune of none of them (control characters, unassigned ones) has class 0.
type class uint8

const (
	letter class = 1 << iota // \p{L}
	number                   // \p{N}
	space                    // \s: White_Space
	mark                     // \p{M}
	punct                    // \p{P}
	sign                     // \p{S}
	upper                    // \p{Lu}, \p{Lt}: letters too, as the next
	lower                    // \p{Ll}
)

// invalid is the class of a byte that belongs to no valid UTF-8 sequence: that of
// U+FFFD, which is what a reader who decodes first sees there.
const invalid = sign

// classTable maps runes to classes in two levels, so that scanning costs two loads
// a rune. Pages of equal content are not shared: 17 planes, most of them absent.
type classTable struct {
	ascii [utf8.RuneSelf]class
	pages [(unicode.MaxRune + 1) >> 8]*[256]class
}

// classes builds the table at first use; it never changes after.
var classes = sync.OnceValue(func() *classTable {
	t := new(classTable)
	for _, row := range []struct {
		class class
		table *unicode.RangeTable
	}{
		{letter, unicode.L}, {number, unicode.N}, {space, unicode.White_Space},
		{mark, unicode.M}, {punct, unicode.P}, {sign, unicode.S},
		{upper, unicode.Lu}, {upper, unicode.Lt}, {lower, unicode.Ll},
	} {
		for _, r := range row.table.R16 {
			t.set(row.class, uint32(r.Lo), uint32(r.Hi), uint32(r.Stride))
		}
		for _, r := range row.table.R32 {
			t.set(row.class, r.Lo, r.Hi, r.Stride)
		}
	}
	// What Unicode 15.1 adds to the standard library's 15.0; both references have it.
	t.set(letter, 0x2EBF0, 0x2EE5D, 1)
	t.set(sign, 0x2FFC, 0x2FFF, 1)
	t.set(sign, 0x31EF, 0x31EF, 1)
	for r := range t.ascii {
		t.ascii[r] = t.pages[0][r]
	}
	return t
})

func (t *classTable) set(c class, lo, hi, stride uint32) {
	for r := lo; r <= hi; r += stride {
		page := &t.pages[r>>8]
		if *page == nil {
			*page = new([256]class)
		}
		(*page)[r&255] |= c
	}
}

func (t *classTable) rune(r rune) class {
	if page := t.pages[r>>8]; page != nil {
		return page[r&255]
	}
	return 0
}

// at returns the class and the length of the first character of s, which is not
// empty. A byte that is not UTF-8 is a character of its own, so it is never lost.
func (t *classTable) at(s string) (class, int) {
	if b := s[0]; b < utf8.RuneSelf {
		return t.ascii[b], 1
	}
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		return invalid, 1
	}
	return t.rune(r), n
}

// run returns the length of the longest prefix of s made of characters in want.
func (t *classTable) run(s string, want class) int {
	i := 0
	for i < len(s) {
		c, n := t.at(s[i:])
		if c&want == 0 {
			break
		}
		i += n
	}
	return i
}

// runNot returns the length of the longest prefix of s free of characters in avoid.
func (t *classTable) runNot(s string, avoid class) int {
	i := 0
	for i < len(s) {
		c, n := t.at(s[i:])
		if c&avoid != 0 {
			break
		}
		i += n
	}
	return i
}
