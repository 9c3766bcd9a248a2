package tokenizer

import "strings"

// byteLevel is byte-level BPE as GPT-2 brought it: words are bytes, and a
// vocabulary spells each byte as one printable character.
type byteLevel struct {
	stages []scanner
	bytes  [256]int32        // token of each byte, or -1
	pairs  map[uint64]ranked // left<<32|right
	words  map[string]int32  // whole words that are tokens whatever the merges say; nil where merges decide
}

// ranked is what a pair of tokens merges to.
type ranked struct {
	rank uint32
	id   int32
}

// newByteLevel decodes the tokens' spelling and resolves the merges to ids.
func newByteLevel(t *Tokenizer, v *Vocab) error {
	row, err := preTokenizerNamed(v.Pre, byteLevelRows)
	if err != nil {
		return err
	}
	b := &byteLevel{stages: row.stages}
	spell := spelling()
	for i, s := range spell {
		id, ok := t.byText[s]
		if !ok || t.flags[id]&flagText == 0 {
			id = none
		}
		b.bytes[i] = id
	}
	back := make(map[rune]byte, len(spell))
	for i, s := range spell {
		back[[]rune(s)[0]] = byte(i)
	}
	t.setPieces(func(dst []byte, text string) []byte {
		from := len(dst)
		for _, r := range text {
			x, ok := back[r]
			if !ok {
				// A character outside the alphabet: the token is text as it stands.
				return append(dst[:from], text...)
			}
			dst = append(dst, x)
		}
		return dst
	})
	if b.pairs, err = pairsOf(t, v.Merges); err != nil {
		return err
	}
	if row.wholeWords {
		b.words = make(map[string]int32, len(v.Tokens))
		for id := range t.flags {
			if t.flags[id]&flagNormal != 0 {
				b.words[string(t.piece(int32(id)))] = int32(id)
			}
		}
	}
	t.addBOS, t.addEOS = v.AddBOS.or(row.addBOS), v.AddEOS.or(false)
	t.model = b
	return nil
}

// spelling returns the character that stands for each byte: itself where it is
// printable and not a space, else the next free one from U+0100.
func spelling() (spell [256]string) {
	next := rune(256)
	for i := range spell {
		r := rune(i)
		if !('!' <= r && r <= '~' || '¡' <= r && r <= '¬' || '®' <= r) {
			r = next
			next++
		}
		spell[i] = string(r)
	}
	return spell
}

// pairsOf resolves merges to ids. All three tokens of a merge must exist; the first of
// equal pairs counts. A merge that makes what the file calls a control token would let
// plain text become one, so it is refused.
func pairsOf(t *Tokenizer, merges []string) (map[uint64]ranked, error) {
	if len(merges) == 0 && len(t.byText) > 0 {
		return nil, badVocab("Merges", -1, "", "none: a byte-pair vocabulary can't work without its merges")
	}
	pairs := make(map[uint64]ranked, len(merges))
	for rank, m := range merges {
		// A part may begin with a space, never hold one further on.
		cut := -1
		if len(m) > 1 {
			cut = 1 + strings.IndexByte(m[1:], ' ')
		}
		if cut < 1 || cut == len(m)-1 {
			return nil, badVocab("Merges", rank, m, "want two tokens with a space between")
		}
		l, r := m[:cut], m[cut+1:]
		left, ok := t.byText[l]
		if !ok {
			return nil, badVocab("Merges", rank, m, "left part is not in the vocabulary of %d tokens", len(t.flags))
		}
		right, ok := t.byText[r]
		if !ok {
			return nil, badVocab("Merges", rank, m, "right part is not in the vocabulary of %d tokens", len(t.flags))
		}
		id, ok := t.byText[l+r]
		if !ok {
			return nil, badVocab("Merges", rank, m, "what it makes is not in the vocabulary of %d tokens", len(t.flags))
		}
		if t.flags[id]&flagText == 0 {
			return nil, badVocab("Merges", rank, m, "makes token %d, which the file marks as no text", id)
		}
		key := uint64(uint32(left))<<32 | uint64(uint32(right))
		if _, dup := pairs[key]; !dup {
			pairs[key] = ranked{uint32(rank), id}
		}
	}
	return pairs, nil
}

func (b *byteLevel) join(_ []byte, l, r *symbol) (uint32, int32, bool) {
	p, ok := b.pairs[uint64(uint32(l.id))<<32|uint64(uint32(r.id))]
	return p.rank, p.id, ok
}

func (b *byteLevel) encode(dst []int32, text string, _ bool, m *merger) []int32 {
	p := pieces{stages: b.stages}
	p.rest[0] = text
	for {
		word := p.next()
		if word == "" {
			return dst
		}
		if b.words != nil {
			if id, ok := b.words[word]; ok {
				dst = append(dst, id)
				continue
			}
		}
		m.reset(len(word))
		for i := range len(word) {
			m.add(b.bytes[word[i]], 1)
		}
		m.merge(b)
		for i := range m.syms {
			// A byte that the vocabulary has no token for is left out, as the
			// reference does; MissingBytes tells.
			if id := m.syms[i].id; id >= 0 {
				dst = append(dst, id)
			}
		}
	}
}
