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

	rules bool             // of a tokenizer.json, which all below is of
	words *wordCutter      // nil: below
	marks bool             // no merge has U+2581 after another character: what it begins is a word apart
	whole map[string]int32 // words that are tokens whatever the merges say; nil: none
	unk   int32
	fuse  bool   // unknown neighbours are one
	inner string // goes before each character of a word but the first, to make its token
	last  string // goes after the last one
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
		if m.words.none() {
			m.words = nil
		}
		if err := m.follow(t, v.Rules); err != nil {
			return err
		}
	}
	m.fill(t)
	if m.pairs, err = pairsOf(t, v); err != nil {
		return err
	}
	_, marked := m.chars[spaceMark]
	m.marks = m.rules && marked && m.whole == nil && m.inner == "" && m.last == ""
	for _, made := range m.pairs {
		m.marks = m.marks && !strings.Contains(strings.TrimLeft(t.texts[made.id], spaceMark), spaceMark)
	}
	t.setPieces(m.piece(v.Rules))
	t.model = m
	return nil
}

// follow takes over what a tokenizer.json says of this kind of model.
func (p *rawBPE) follow(t *Tokenizer, r *Rules) (err error) {
	p.rules, p.unk, p.fuse = true, t.special.UNK, r.FuseUnknown
	p.inner, p.last = r.ContinuingPrefix, r.EndSuffix
	if r.ByteFallback {
		if p.bytes, err = t.allByteTokens(); err != nil {
			return err
		}
	}
	if r.WholeWords {
		p.whole = map[string]int32{}
	}
	return nil
}

// fill finds the tokens that words are made of before merging.
func (p *rawBPE) fill(t *Tokenizer) {
	for id, text := range t.texts {
		if p.whole != nil && t.flags[id]&(flagText|flagByte) != 0 {
			p.whole[text] = int32(id)
		}
		if t.flags[id]&flagText == 0 || text == "" {
			continue
		}
		if p.isChar(text) {
			p.chars[text] = int32(id)
		}
		if p.lines != nil && strings.Trim(text, "\n") == "" {
			p.lines[text] = int32(id)
		}
	}
}

// isChar tells whether a character, with what goes around it, may be text.
func (p *rawBPE) isChar(text string) bool {
	for _, s := range []string{text, strings.TrimPrefix(text, p.inner)} {
		for _, s := range []string{s, strings.TrimSuffix(s, p.last)} {
			if _, n := utf8.DecodeRuneInString(s); n > 0 && n == len(s) {
				return true
			}
		}
	}
	return false
}

// piece is what a token decodes to in the middle of a text, by the file's decoders.
func (p *rawBPE) piece(r *Rules) func(dst []byte, text string) []byte {
	if r == nil {
		return unescapeSpaces
	}
	for _, s := range r.Decode {
		switch s.Type {
		case "BPEDecoder":
			return func(dst []byte, text string) []byte {
				return append(dst, strings.ReplaceAll(text, s.Content, " ")...)
			}
		case "WordPiece":
			return func(dst []byte, text string) []byte {
				if tail, ok := strings.CutPrefix(text, s.Prefix); ok {
					return append(dst, tail...)
				}
				return append(append(dst, ' '), text...)
			}
		}
	}
	return unescapeSpaces
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
	if p.rules {
		return p.byRules(dst, word, m)
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
	return m.spell(dst, p.bytes)
}

// byRules is word as the library of tokenizer.json has it: what has no token is its
// bytes' tokens, the unknown token, or nothing, before anything merges.
func (p *rawBPE) byRules(dst []int32, word string, m *merger) []int32 {
	m.reset(len(word))
	unknown := false
	for first := true; word != ""; first = false {
		_, n := utf8.DecodeRuneInString(word)
		char := word[:n]
		word = word[n:]
		if !first && p.inner != "" || word == "" && p.last != "" {
			m.text = m.text[:0]
			if !first {
				m.text = append(m.text, p.inner...)
			}
			m.text = append(m.text, char...)
			if word == "" {
				m.text = append(m.text, p.last...)
			}
			char = string(m.text)
		}
		id, ok := p.chars[char]
		switch {
		case ok:
			m.add(id, 1)
		case p.bytes != nil:
			for i := range len(char) {
				m.add(p.bytes[char[i]], 1)
			}
		case p.unk >= 0 && !(unknown && p.fuse):
			m.add(p.unk, 1)
		}
		unknown = !ok
	}
	m.merge(p)
	for i := range m.syms {
		dst = append(dst, m.syms[i].id)
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
