package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// wordPiece cuts a word into the longest tokens from the left; a word that can't be
// cut whole is the unknown token. GGUF files mark the tokens that begin a word with
// U+2581, tokenizer.json marks those that continue one.
type wordPiece struct {
	lead     string // goes before each word
	heads    *trie  // what begins a word, lead included
	tails    *trie  // what continues one
	unk      int32
	maxChars int // longer words are unknown; 0: none is
	fold     func(string) string
	words    *wordCutter // nil: words are BERT's
}

func newWordPiece(t *Tokenizer, v *Vocab) error {
	m := &wordPiece{lead: spaceMark, unk: t.special.UNK, heads: newTrie(len(v.Tokens))}
	m.tails = m.heads
	continuing := ""
	if v.Rules != nil {
		if s := v.Rules.Split; len(s) != 1 || s[0].Type != "BertPreTokenizer" {
			var err error
			if m.words, err = wordsOf(s); err != nil {
				return err
			}
		}
		m.lead, continuing, m.maxChars = "", v.Rules.ContinuingPrefix, v.Rules.MaxWordChars
		m.tails = newTrie(len(v.Tokens))
	}
	if m.unk == none {
		return badVocab("UNK", -1, "", "none: this kind of vocabulary needs an unknown token")
	}
	for id, text := range t.texts {
		if t.flags[id]&flagText == 0 || text == "" {
			continue
		}
		if len(text) > maxTrieToken {
			return tooLong(id, text)
		}
		if v.Rules != nil {
			if tail, ok := strings.CutPrefix(text, continuing); ok && tail != "" {
				m.tails.add(tail, int32(id))
			}
		}
		m.heads.add(text, int32(id))
	}
	t.setPieces(func(dst []byte, text string) []byte {
		if v.Rules == nil {
			return unescapeSpaces(dst, text)
		}
		if tail, ok := strings.CutPrefix(text, continuing); ok && continuing != "" {
			return append(dst, tail...)
		}
		return append(append(dst, ' '), text...)
	})
	if v.Rules == nil {
		lower := v.Lowercase.or(true)
		m.fold = bertFold{lower: lower, accents: v.StripAccents.or(lower)}.apply
		t.addBOS = true // as the reference, whatever the file says
		t.addSEP = t.special.SEP != none
		t.clean = true
	}
	t.model = m
	return nil
}

func (w *wordPiece) encode(dst []int32, text string, atStart bool, m *merger) []int32 {
	if w.words != nil {
		w.words.cut(text, atStart, m, func(word string) { dst = w.word(dst, word, m) })
		return dst
	}
	if w.fold != nil {
		text = w.fold(text)
	}
	for text != "" {
		n, isWord := bertWord(text)
		if isWord {
			dst = w.word(dst, text[:n], m)
		}
		text = text[n:]
	}
	return dst
}

// bertWord measures the next piece of text: white space, which is no word, a mark of
// punctuation, or what lies between.
func bertWord(text string) (n int, isWord bool) {
	t := classes()
	c, n := t.at(text)
	if c&space != 0 {
		return t.run(text, space), false
	}
	if isBertPunct(text[0], c) {
		return n, true
	}
	for n < len(text) {
		c, size := t.at(text[n:])
		if c&space != 0 || isBertPunct(text[n], c) {
			break
		}
		n += size
	}
	return n, true
}

// isBertPunct: punctuation, and the signs of ASCII.
func isBertPunct(b byte, c class) bool {
	return c&punct != 0 || b < utf8.RuneSelf && c&sign != 0
}

func (w *wordPiece) word(dst []int32, word string, m *merger) []int32 {
	if w.maxChars > 0 && len(word) > w.maxChars && utf8.RuneCountInString(word) > w.maxChars {
		return append(dst, w.unk)
	}
	m.text = append(append(m.text[:0], w.lead...), word...)
	start, tokens := len(dst), w.heads
	for rest := string(m.text); rest != ""; {
		id, n, looked := tokens.longest(rest)
		m.steps += looked
		if id < 0 {
			return append(dst[:start], w.unk)
		}
		dst = append(dst, id)
		rest, tokens = rest[n:], w.tails
	}
	return dst
}
