package tokenizer

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// spm is SentencePiece-style BPE: spaces become U+2581, and the pair merges first
// whose text is the token with the highest score. Text without tokens is spelled in
// byte tokens.
type spm struct {
	tokens      map[string]ranked // what plain text may become, by text
	maxLen      int               // of those, bytes
	bytes       [256]int32        // byte tokens
	splitSpaces bool              // no token has U+2581 after another character: words are apart
	prefix      bool              // a space goes before text at the start and after special tokens
}

const spaceMark = "\u2581"

func newSPM(t *Tokenizer, v *Vocab) error {
	if len(v.Scores) != len(v.Tokens) {
		return badVocab("Scores", -1, "", "%d scores for %d tokens: this kind of vocabulary needs one each", len(v.Scores), len(v.Tokens))
	}
	m := &spm{
		tokens:      make(map[string]ranked, len(v.Tokens)),
		splitSpaces: true,
		prefix:      v.AddSpacePrefix.or(true),
	}
	for id, text := range t.texts {
		score := v.Scores[id]
		if f := float64(score); math.IsNaN(f) || math.IsInf(f, 0) {
			return badVocab("Scores", id, fmt.Sprint(score), "a score must be a finite number")
		}
		if t.flags[id]&flagText == 0 || text == "" {
			continue
		}
		m.tokens[text] = ranked{scoreRank(score), int32(id)}
		m.maxLen = max(m.maxLen, len(text))
		m.splitSpaces = m.splitSpaces && !strings.Contains(strings.TrimLeft(text, spaceMark), spaceMark)
	}
	if err := t.byteTokens(&m.bytes); err != nil {
		return err
	}
	t.setPieces(unescapeSpaces)
	t.addBOS, t.addEOS = v.AddBOS.or(true), v.AddEOS.or(false)
	t.stripPrefix = m.prefix
	t.model = m
	return nil
}

// unescapeSpaces appends text with U+2581 as spaces.
func unescapeSpaces(dst []byte, text string) []byte {
	for {
		before, after, found := strings.Cut(text, spaceMark)
		dst = append(dst, before...)
		if !found {
			return dst
		}
		dst = append(dst, ' ')
		text = after
	}
}

// byteTokens finds the token of each byte: the one of that type, else the one so
// spelled, else the byte itself, else the unknown token; with none of them, plain text
// could not be encoded.
func (t *Tokenizer) byteTokens(ids *[256]int32) error {
	for i := range ids {
		ids[i] = none
		if id, ok := t.byText[fmt.Sprintf("<0x%02X>", i)]; ok && t.flags[id]&(flagText|flagByte) != 0 {
			ids[i] = id
		} else if id, ok := t.byText[string([]byte{byte(i)})]; ok && t.flags[id]&flagText != 0 {
			ids[i] = id
		}
	}
	for id, text := range t.texts {
		if t.flags[id]&flagByte != 0 {
			b, _ := byteOf(text)
			ids[b] = int32(id)
		}
	}
	for i := range ids {
		if ids[i] != none {
			continue
		}
		unk := t.special.UNK
		if unk == none || t.flags[unk]&flagUnknown == 0 {
			return badVocab("Tokens", -1, "", "no token <0x%02X> for byte %d, and no unknown token to stand in", i, i)
		}
		ids[i] = unk
	}
	return nil
}

// byteOf parses the text of a byte token.
func byteOf(text string) (byte, bool) {
	if len(text) != 6 || text[:3] != "<0x" || text[5] != '>' {
		return 0, false
	}
	hi, lo := unhex(text[3]), unhex(text[4])
	return hi<<4 | lo, hi < 16 && lo < 16
}

func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 16
}

// scoreRank maps scores to ranks: higher scores are lower ranks, equal ones equal. The
// bits of a float order like a sign-and-magnitude integer.
func scoreRank(score float32) uint32 {
	bits := math.Float32bits(score + 0) // -0 becomes 0
	if bits>>31 != 0 {
		return bits
	}
	return ^bits &^ (1 << 31)
}

func (p *spm) join(text []byte, l, r *symbol) (uint32, int32, bool) {
	if int(r.end-l.beg) > p.maxLen {
		return 0, 0, false
	}
	x, ok := p.tokens[string(text[l.beg:r.end])]
	return x.rank, x.id, ok
}

func (p *spm) encode(dst []int32, text string, atStart bool, m *merger) []int32 {
	atStart = atStart && p.prefix
	for text != "" {
		word := text[:p.word(text)]
		text = text[len(word):]
		m.reset(len(word) + 1)
		if atStart {
			p.add(m, spaceMark)
			atStart = false
		}
		for word != "" {
			n := 1
			if word[0] >= utf8.RuneSelf {
				_, n = utf8.DecodeRuneInString(word)
			}
			if word[0] == ' ' {
				p.add(m, spaceMark)
			} else {
				p.add(m, word[:n])
			}
			word = word[n:]
		}
		m.merge(p)
		dst = m.spell(dst, &p.bytes)
	}
	return dst
}

// word returns the length of what must be merged as one: all of the text, unless
// tokens have U+2581 only in front; then spaces, and others up to the next space.
func (p *spm) word(text string) int {
	if !p.splitSpaces {
		return min(len(text), maxWord)
	}
	i := 0
	for inWord := false; i < len(text) && i < maxWord; {
		n := 1
		isSpace := text[i] == ' '
		if text[i] == spaceMark[0] && strings.HasPrefix(text[i:], spaceMark) {
			isSpace, n = true, len(spaceMark)
		}
		if isSpace && inWord {
			break
		}
		inWord = inWord || !isSpace
		i += n
	}
	return i
}

// maxWord bounds what is merged as one, so that offsets fit in 32 bits.
const maxWord = 1 << 29

func (p *spm) add(m *merger, char string) {
	m.text = append(m.text, char...)
	id := int32(none)
	if x, ok := p.tokens[char]; ok {
		id = x.id
	}
	m.add(id, len(char))
}
