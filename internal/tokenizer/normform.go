package tokenizer

import (
	"slices"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// form is a Unicode normalisation form. The decompositions are those of x/text, but
// not its loop: that one puts a character of its own into runs of more than 30
// combining marks, and a reference that normalises by the standard doesn't.
type form struct {
	compat  bool // NFKC and NFKD
	compose bool // NFC and NFKC
}

// normalRune is a character under work, or a byte that belongs to none (negative,
// -1-b), which goes through as it is.
type normalRune struct {
	r   rune
	ccc uint8 // canonical combining class: marks of higher ones come later
}

// apply normalises text in time linear in it.
func (f form) apply(text string) string {
	whole := norm.NFD
	split := norm.NFD
	switch {
	case f.compat && f.compose:
		whole, split = norm.NFKC, norm.NFKD
	case f.compat:
		whole, split = norm.NFKD, norm.NFKD
	case f.compose:
		whole = norm.NFC
	}
	done := 0
	if utf8.ValidString(text) { // what follows a bad byte, x/text doesn't look at
		if done = whole.QuickSpanString(text); done == len(text) {
			return text
		}
	}
	runes := make([]normalRune, 0, len(text)-done)
	for rest := text[done:]; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		if r == utf8.RuneError && n == 1 {
			runes = append(runes, normalRune{r: -1 - rune(rest[0])})
		} else {
			runes = decompose(runes, split, rest[:n], r)
		}
		rest = rest[n:]
	}
	orderMarks(runes)
	if f.compose {
		runes = compose(runes)
	}
	out := append(make([]byte, 0, len(text)+len(text)/8), text[:done]...)
	for _, x := range runes {
		if x.r < 0 {
			out = append(out, byte(-1-x.r))
		} else {
			out = utf8.AppendRune(out, x.r)
		}
	}
	return string(out)
}

// Hangul syllables are composed by arithmetic.
const (
	hangulBase, hangulEnd = 0xAC00, 0xD7A4
	leadBase, leads       = 0x1100, 19
	vowelBase, vowels     = 0x1161, 21
	trailBase, trails     = 0x11A7, 28
)

// decompose appends the full decomposition of r, whose UTF-8 is char.
func decompose(dst []normalRune, split norm.Form, char string, r rune) []normalRune {
	if r < utf8.RuneSelf {
		return append(dst, normalRune{r: r})
	}
	if hangulBase <= r && r < hangulEnd {
		s := r - hangulBase
		dst = append(dst, normalRune{r: leadBase + s/(vowels*trails)}, normalRune{r: vowelBase + s/trails%vowels})
		if t := s % trails; t > 0 {
			dst = append(dst, normalRune{r: trailBase + t})
		}
		return dst
	}
	p := split.PropertiesString(char)
	parts := p.Decomposition()
	if parts == nil {
		return append(dst, normalRune{r, p.CCC()})
	}
	for len(parts) > 0 {
		r, n := utf8.DecodeRune(parts)
		dst = append(dst, normalRune{r, split.Properties(parts[:n]).CCC()})
		parts = parts[n:]
	}
	return dst
}

// orderMarks sorts each run of combining marks by class, by counting: a run may be all
// of a hostile text.
func orderMarks(runes []normalRune) {
	for i := 0; i < len(runes); i++ {
		from, sorted := i, true
		for ; i < len(runes) && runes[i].ccc != 0; i++ {
			sorted = sorted && (i == from || runes[i-1].ccc <= runes[i].ccc)
		}
		switch run := runes[from:i]; {
		case sorted:
		case len(run) < 64:
			slices.SortStableFunc(run, func(a, b normalRune) int { return int(a.ccc) - int(b.ccc) })
		default:
			countSort(run)
		}
	}
}

// countSort sorts by class in time linear in the run.
func countSort(run []normalRune) {
	var at [257]int
	for _, x := range run {
		at[int(x.ccc)+1]++
	}
	for c := range 256 {
		at[c+1] += at[c]
	}
	for _, x := range slices.Clone(run) {
		run[at[x.ccc]] = x
		at[x.ccc]++
	}
}

// compose joins each starter with the marks after it that nothing blocks.
func compose(runes []normalRune) []normalRune {
	out := runes[:0]
	starter, last := -1, uint8(0)
	for _, x := range runes {
		if starter >= 0 && (last == 0 || last < x.ccc) {
			if r, ok := composePair(out[starter].r, x.r); ok {
				out[starter].r = r
				continue
			}
		}
		if x.ccc == 0 {
			starter = len(out)
		}
		last = x.ccc
		out = append(out, x)
	}
	return out
}

// composePair returns the character that a and b make together.
func composePair(a, b rune) (rune, bool) {
	switch {
	case a < 0 || b < utf8.RuneSelf:
		return 0, false
	case leadBase <= a && a < leadBase+leads && vowelBase <= b && b < vowelBase+vowels:
		return hangulBase + ((a-leadBase)*vowels+b-vowelBase)*trails, true
	case hangulBase <= a && a < hangulEnd && (a-hangulBase)%trails == 0 && trailBase < b && b < trailBase+trails:
		return a + b - trailBase, true
	}
	r, ok := composites()[[2]rune{a, b}]
	return r, ok
}

// composites are the pairs that compose, about a thousand: a character that NFC leaves
// alone and NFD doesn't is made of the last character of its decomposition and of what
// those before make.
var composites = sync.OnceValue(func() map[[2]rune]rune {
	pairs := make(map[[2]rune]rune, 1024)
	for r := rune(utf8.RuneSelf); r < 0x20000; r++ {
		if hangulBase <= r && r < hangulEnd || !utf8.ValidRune(r) {
			continue
		}
		char := string(r)
		parts := norm.NFD.PropertiesString(char).Decomposition()
		if parts == nil || !norm.NFC.IsNormalString(char) {
			continue
		}
		last, n := utf8.DecodeLastRune(parts)
		first := []rune(norm.NFC.String(string(parts[:len(parts)-n])))
		if len(first) == 1 {
			pairs[[2]rune{first[0], last}] = r
		}
	}
	return pairs
})
