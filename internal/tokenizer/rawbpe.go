package tokenizer

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// rawBPE is BPE by merges over characters: characters without a token are spelled in
// byte tokens or are unknown. Gemma 4's files have it by name, with spaces as U+2581
// and lines as words; a tokenizer.json says what its words are.
type rawBPE struct {
	chars  map[string]int32 // tokens of one character
	pairs  map[uint64]ranked
	bytes  *[256]int32      // nil: no such tokens
	escape bool             // spaces become U+2581
	lines  map[string]int32 // tokens that are line ends only, for words that are lines; nil: words are below

	words *wordCutter      // of a tokenizer.json; nil: below
	marks bool             // no merge has U+2581 after another character: what it begins is a word apart
	whole map[string]int32 // words that are tokens whatever the merges say; nil: none
	unk   int32
	fuse  bool // unknown neighbours are one
}

func newRawBPE(t *Tokenizer, v *Vocab) error {
	m := &rawBPE{chars: map[string]int32{}, unk: none}
	var err error
	if v.Rules == nil {
		m.escape, m.lines, m.bytes = true, map[string]int32{}, new([256]int32)
		t.cleansBPE = true
		t.addBOS, t.addEOS = true, v.AddEOS.or(false) // files of this kind that say no BOS are wrong
		t.stripPrefix = v.AddSpacePrefix.or(false)
		if err := t.byteTokens(m.bytes); err != nil {
			return err
		}
	} else {
		if m.words, err = wordsOf(v.Rules.Split); err != nil {
			return err
		}
		m.unk, m.fuse = t.special.UNK, v.Rules.FuseUnknown
		if v.Rules.ByteFallback {
			if m.bytes, err = t.allByteTokens(); err != nil {
				return err
			}
		}
		if v.Rules.WholeWords {
			m.whole = t.byText
		}
		if m.words.none() {
			m.words = nil
		}
	}
	for id, text := range t.texts {
		if t.flags[id]&flagText == 0 || text == "" {
			continue
		}
		if _, n := utf8.DecodeRuneInString(text); n == len(text) {
			m.chars[text] = int32(id)
		}
		if m.lines != nil && strings.Trim(text, "\n") == "" {
			m.lines[text] = int32(id)
		}
	}
	if m.pairs, err = pairsOf(t, v); err != nil {
		return err
	}
	_, marked := m.chars[spaceMark]
	m.marks = v.Rules != nil && marked && m.whole == nil
	for _, made := range m.pairs {
		m.marks = m.marks && !strings.Contains(strings.TrimLeft(t.texts[made.id], spaceMark), spaceMark)
	}
	t.setPieces(unescapeSpaces)
	t.model = m
	return nil
}

// allByteTokens finds the token of each byte by its name; all must be there.
func (t *Tokenizer) allByteTokens() (*[256]int32, error) {
	ids := new([256]int32)
	found := 0
	for id, text := range t.texts {
		if b, ok := byteOf(text); ok && t.flags[id]&flagByte != 0 {
			ids[b] = int32(id)
			found++
		}
	}
	if found != len(ids) {
		return nil, badVocab("Tokens", -1, "", "%d tokens <0x00> to <0xFF>, byte_fallback needs all 256", found)
	}
	return ids, nil
}

func (p *rawBPE) join(_ []byte, l, r *symbol) (uint32, int32, bool) {
	x, ok := p.pairs[uint64(uint32(l.id))<<32|uint64(uint32(r.id))]
	return x.rank, x.id, ok
}

func (p *rawBPE) encode(dst []int32, text string, atStart bool, m *merger) []int32 {
	if p.words != nil {
		p.words.cut(text, atStart, m, func(word string) { dst = p.word(dst, word, m) })
		return dst
	}
	for word := range p.cut(text) {
		if id, ok := p.lines[word]; ok {
			dst = append(dst, id)
			continue
		}
		dst = p.word(dst, word, m)
	}
	return dst
}

// cut hands out words as lines, or as marks begin them.
func (p *rawBPE) cut(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			n := len(text)
			switch {
			case p.lines != nil:
				n = lines(text)
			case p.marks:
				n = markedWord(text)
			}
			n = min(n, maxWord)
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

func (p *rawBPE) word(dst []int32, word string, m *merger) []int32 {
	if id, ok := p.whole[word]; ok {
		return append(dst, id)
	}
	m.reset(len(word))
	for word != "" {
		n := 1
		if word[0] >= utf8.RuneSelf {
			_, n = utf8.DecodeRuneInString(word)
		}
		char := word[:n]
		if p.escape && word[0] == ' ' {
			char = spaceMark
		}
		id, ok := p.chars[char]
		if !ok {
			id = none
		}
		m.text = append(m.text, char...)
		m.add(id, len(char))
		word = word[n:]
	}
	m.merge(p)
	if p.bytes != nil {
		return m.spell(dst, p.bytes)
	}
	unknown := false
	for i := range m.syms {
		id := m.syms[i].id
		if id < 0 {
			if p.unk < 0 || unknown && p.fuse {
				continue
			}
			id = p.unk
		}
		unknown = m.syms[i].id < 0
		dst = append(dst, id)
	}
	return dst
}

// lines splits [^\n]+|\n+.
func lines(s string) int {
	end := strings.TrimLeft(s, "\n")
	if len(end) < len(s) {
		return len(s) - len(end)
	}
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

// markedWord measures marks and what follows them up to the next one.
func markedWord(s string) int {
	n := 0
	for strings.HasPrefix(s[n:], spaceMark) {
		n += len(spaceMark)
	}
	if i := strings.Index(s[n:], spaceMark); i >= 0 {
		return n + i
	}
	return len(s)
}
