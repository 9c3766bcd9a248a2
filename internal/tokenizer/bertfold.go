package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// bertFold is what the reference of GGUF files does to text before WordPiece: control
// characters go, each ideograph is a word, and, unless the file says otherwise,
// letters become small and accents go.
type bertFold struct {
	lower   bool
	accents bool // characters keep the first of their decomposition alone, and marks go
}

func (f bertFold) apply(text string) string {
	t := classes()
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	for rest := text; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		char := rest[:n]
		rest = rest[n:]
		if f.accents && r >= utf8.RuneSelf {
			r = firstOfNFD(char, r)
		}
		switch c := t.rune(r); {
		case c&space != 0:
			b.WriteByte(' ')
		case r == 0 || r == utf8.RuneError || f.accents && c&mark != 0 || isControl(r):
		case isIdeograph(r):
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		case f.lower:
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// firstOfNFD is the first character of what char, which is r, decomposes to.
func firstOfNFD(char string, r rune) rune {
	if hangulBase <= r && r < hangulEnd {
		return leadBase + (r-hangulBase)/(vowels*trails)
	}
	if parts := norm.NFD.PropertiesString(char).Decomposition(); parts != nil {
		r, _ = utf8.DecodeRune(parts)
	}
	return r
}

// isIdeograph is BERT's idea of a Chinese character; that 2B820 to 2B91F are missing
// is its own.
func isIdeograph(r rune) bool {
	return r >= 0x3400 && (r <= 0x4DBF || 0x4E00 <= r && r <= 0x9FFF || 0xF900 <= r && r <= 0xFAFF ||
		0x20000 <= r && r <= 0x2A6DF || 0x2A700 <= r && r <= 0x2B81F || 0x2B920 <= r && r <= 0x2CEAF ||
		0x2F800 <= r && r <= 0x2FA1F)
}
