package tokenizer

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// byteLevel is byte-level BPE as GPT-2 brought it: words are bytes, and a
// vocabulary spells each byte as one printable character.
type byteLevel struct {
	stages []stage
	bytes  [256]int32        // token of each byte, or -1
	pairs  map[uint64]ranked // left<<32|right
	space  bool              // one goes before text that begins with none
	words  map[string]int32  // whole words that are tokens whatever the merges say; nil where merges decide
	// spelled is what words are given to as their bytes are spelled, where a file has
	// more to say than merges; nil elsewhere.
	spelled *rawBPE
	spell   [256]string
}

// ranked is what a pair of tokens merges to.
type ranked struct {
	rank uint32
	id   int32
}

// newByteLevel decodes the tokens' spelling and resolves the merges to ids.
func newByteLevel(t *Tokenizer, v *Vocab) error {
	row, b, err := byteLevelOf(v)
	if err != nil {
		return err
	}
	spell := spelling()
	whole := true
	for i, s := range spell {
		id, ok := t.byText[s]
		if !ok || t.flags[id]&flagText == 0 {
			id, whole = none, false
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
	if b.pairs, err = pairsOf(t, v); err != nil {
		return err
	}
	if r := v.Rules; r != nil && (!whole || r.ContinuingPrefix != "" || r.EndSuffix != "") {
		b.spell, b.spelled = spell, &rawBPE{chars: map[string]int32{}, pairs: b.pairs}
		if err := b.spelled.follow(t, r); err != nil {
			return err
		}
		b.spelled.whole = nil
		b.spelled.fill(t)
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
	t.cleansBPE = row.cleans
	t.model = b
	return nil
}

// byteLevelOf finds out how text is cut: by the pre-tokenizer's name or by its steps,
// the last of which must be the one that spells bytes.
func byteLevelOf(v *Vocab) (*preTokenizer, *byteLevel, error) {
	if v.Rules == nil {
		row, err := preTokenizerNamed(v.Pre, slices.Concat(byteLevelRows, patternRows))
		if err != nil {
			return nil, nil, err
		}
		return row, &byteLevel{stages: ready(row.stages)}, nil
	}
	row := &preTokenizer{wholeWords: v.Rules.WholeWords}
	steps := v.Rules.Split
	if len(steps) == 0 || steps[len(steps)-1].Type != "ByteLevel" {
		return nil, nil, unsupported("Rules.Split", "", "the last pre-tokenizer of a byte-level vocabulary must be ByteLevel")
	}
	last := steps[len(steps)-1]
	var err error
	if row.stages, err = splitters(steps[:len(steps)-1]); err != nil {
		return nil, nil, err
	}
	if last.Space && len(row.stages) > 0 {
		return nil, nil, unsupported("Rules.Split", "ByteLevel", "add_prefix_space after another pre-tokenizer")
	}
	if last.Flag {
		row.stages = append(row.stages, stage{scan: gpt2Words})
	}
	if len(row.stages) == 0 {
		row.stages = byScan(func(s string) int { return len(s) })
	}
	if len(row.stages) > maxStages {
		return nil, nil, unsupported("Rules.Split", "", "%d stages, at most %d", len(row.stages), maxStages)
	}
	return row, &byteLevel{stages: row.stages, space: last.Space}, nil
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
// equal pairs counts, of a tokenizer.json the last. A merge that makes what the file
// calls a control token would let plain text become one, so it is refused.
func pairsOf(t *Tokenizer, v *Vocab) (map[uint64]ranked, error) {
	n := len(v.Merges) + len(v.Pairs)
	if n == 0 && len(t.byText) > 0 && v.Rules == nil {
		return nil, badVocab("Merges", -1, "", "none: a byte-pair vocabulary can't work without its merges")
	}
	if len(v.Merges) > 0 && len(v.Pairs) > 0 {
		return nil, badVocab("Pairs", -1, "", "given beside Merges: one of both may be")
	}
	pairs := make(map[uint64]ranked, n)
	var made []byte
	for rank := range n {
		var l, r string
		if len(v.Pairs) > 0 {
			l, r = v.Pairs[rank][0], v.Pairs[rank][1]
		} else {
			// A part may begin with a space, never hold one further on.
			m, cut := v.Merges[rank], -1
			if len(m) > 1 {
				cut = 1 + strings.IndexByte(m[1:], ' ')
			}
			if cut < 1 || cut == len(m)-1 {
				return nil, badVocab("Merges", rank, m, "want two tokens with a space between")
			}
			l, r = m[:cut], m[cut+1:]
		}
		bad := func(format string, args ...any) error {
			return badVocab("Merges", rank, l+" "+r, format, args...)
		}
		left, ok := t.byText[l]
		if !ok {
			return nil, bad("left part is not in the vocabulary of %d tokens", len(t.flags))
		}
		right, ok := t.byText[r]
		if !ok {
			return nil, bad("right part is not in the vocabulary of %d tokens", len(t.flags))
		}
		tail := r
		if v.Rules != nil {
			n := len(v.Rules.ContinuingPrefix)
			if n > len(r) || n < len(r) && !utf8.RuneStart(r[n]) {
				return nil, bad("right part is shorter than the prefix %q", v.Rules.ContinuingPrefix)
			}
			tail = r[n:]
		}
		made = append(append(made[:0], l...), tail...)
		id, ok := t.byText[string(made)]
		if !ok {
			return nil, bad("what it makes is not in the vocabulary of %d tokens", len(t.flags))
		}
		if t.flags[id]&flagText == 0 {
			return nil, bad("makes token %d, which the file marks as no text", id)
		}
		key := uint64(uint32(left))<<32 | uint64(uint32(right))
		if _, dup := pairs[key]; !dup || v.Rules != nil {
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
	if b.space && text[0] != ' ' {
		text = " " + text
	}
	p := pieces{stages: b.stages, work: &m.patterns[0]}
	p.begin(text)
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
		if b.spelled != nil {
			dst = b.spelled.byRules(dst, b.spellWord(word), m)
			continue
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

func (b *byteLevel) spellWord(word string) string {
	out := make([]byte, 0, 2*len(word))
	for i := range len(word) {
		out = append(out, b.spell[word[i]]...)
	}
	return string(out)
}
