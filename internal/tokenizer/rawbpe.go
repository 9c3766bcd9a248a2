package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// rawBPE is BPE by merges over characters, as Gemma 4 has it: spaces become U+2581,
// words are lines, and characters without a token are spelled in byte tokens.
type rawBPE struct {
	chars map[string]int32 // tokens of one character
	lines map[string]int32 // tokens that are line ends only
	pairs map[uint64]ranked
	bytes [256]int32
}

func newRawBPE(t *Tokenizer, v *Vocab) error {
	m := &rawBPE{chars: map[string]int32{}, lines: map[string]int32{}}
	for id, text := range t.texts {
		if t.flags[id]&flagText == 0 || text == "" {
			continue
		}
		if _, n := utf8.DecodeRuneInString(text); n == len(text) {
			m.chars[text] = int32(id)
		}
		if strings.Trim(text, "\n") == "" {
			m.lines[text] = int32(id)
		}
	}
	var err error
	if m.pairs, err = pairsOf(t, v.Merges); err != nil {
		return err
	}
	if err := t.byteTokens(&m.bytes); err != nil {
		return err
	}
	t.setPieces(unescapeSpaces)
	t.addBOS, t.addEOS = true, v.AddEOS.or(false) // files of this kind that say no BOS are wrong
	t.stripPrefix = v.AddSpacePrefix.or(false)
	t.model = m
	return nil
}

func (p *rawBPE) join(_ []byte, l, r *symbol) (uint32, int32, bool) {
	x, ok := p.pairs[uint64(uint32(l.id))<<32|uint64(uint32(r.id))]
	return x.rank, x.id, ok
}

func (p *rawBPE) encode(dst []int32, text string, _ bool, m *merger) []int32 {
	for text != "" {
		word := text[:min(lines(text), maxWord)]
		text = text[len(word):]
		if id, ok := p.lines[word]; ok {
			dst = append(dst, id)
			continue
		}
		m.reset(len(word))
		for word != "" {
			n := 1
			if word[0] >= utf8.RuneSelf {
				_, n = utf8.DecodeRuneInString(word)
			}
			char := word[:n]
			if word[0] == ' ' {
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
		dst = m.spell(dst, &p.bytes)
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
