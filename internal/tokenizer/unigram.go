package tokenizer

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// unigram is SentencePiece's unigram model: of all ways to cut a text into tokens,
// the one whose scores, logarithms of probabilities, have the largest sum.
//
//	best[i] = max over tokens that end at i of best[start of the token] + its score
//
// One pass from the left fills best, one from the right reads the tokens off.
type unigram struct {
	tokens  *trie
	scores  []float64
	free    []bool // user-defined tokens cost nothing; nil where a file has none
	unknown float64
	unk     int32
	bytes   *[256]int32 // what spells the unknown, where the file asks for it
	chars   *charsmap
	spaces  spaceRules
	words   *wordCutter // where a tokenizer.json cuts words; nil: all is one
}

// unknownPenalty is how much worse than the worst token an unknown character is.
const unknownPenalty = 10

// spaceRules are what SentencePiece does about white space, as a GGUF file states it.
type spaceRules struct {
	on     bool
	prefix bool // one goes before the text
	suffix bool // one goes after it instead
	merge  bool // runs count as one, and those at the ends as none
}

func newUnigram(t *Tokenizer, v *Vocab) error {
	var scores []float64
	if v.Rules != nil {
		scores = slices.Clone(v.Rules.Scores)
	} else {
		for _, s := range v.Scores {
			scores = append(scores, float64(s))
		}
	}
	if len(scores) != len(v.Tokens) {
		return badVocab("Scores", -1, "", "%d scores for %d tokens: this kind of vocabulary needs one each", len(scores), len(v.Tokens))
	}
	m := &unigram{tokens: newTrie(len(v.Tokens)), scores: scores, unk: t.special.UNK}
	if m.unk == none {
		return badVocab("UNK", -1, "", "none: this kind of vocabulary needs an unknown token")
	}
	worst := math.Inf(1)
	for id, text := range t.texts {
		s := scores[id]
		if !(math.Abs(s) <= math.MaxFloat32) { // sums of any text's tokens stay finite
			return badVocab("Scores", id, fmt.Sprint(s), "a score must be a finite number that a float32 holds")
		}
		f := t.flags[id]
		if f&flagNormal != 0 || v.Rules != nil {
			worst = min(worst, s)
		}
		if text != "" && (f&flagText != 0 || f&flagByte != 0 && v.Rules != nil) {
			if len(text) > maxTrieToken {
				return tooLong(id, text)
			}
			m.tokens.add(text, int32(id))
		}
		if f&flagUserDefined != 0 && v.Rules == nil {
			if m.free == nil {
				m.free = make([]bool, len(t.texts))
			}
			m.free[id] = true
		}
	}
	if math.IsInf(worst, 0) {
		return badVocab("Tokens", -1, "", "no ordinary token")
	}
	m.unknown = worst - unknownPenalty
	t.setPieces(unescapeSpaces)
	var err error
	if v.Rules == nil {
		if m.chars, err = newCharsmap(v.Charsmap); err != nil {
			return err
		}
		prefix := v.AddSpacePrefix.or(false)
		suffix := v.SpaceSuffix.or(false)
		m.spaces = spaceRules{on: true, prefix: prefix && !suffix, suffix: prefix && suffix, merge: v.MergeSpaces.or(false)}
		t.addBOS, t.addEOS = v.AddBOS.or(false), v.AddEOS.or(true)
		t.stripPrefix = prefix
	} else {
		if m.words, err = wordsOf(v.Rules.Split); err != nil {
			return err
		}
		if v.Rules.ByteFallback {
			if m.bytes, err = t.allByteTokens(); err != nil {
				return err
			}
		}
	}
	t.model = m
	return nil
}

func (u *unigram) encode(dst []int32, text string, atStart bool, m *merger) []int32 {
	if u.spaces.on {
		return u.best(dst, u.spaces.apply(u.chars.apply(text)), m)
	}
	if u.words == nil {
		return u.best(dst, text, m)
	}
	u.words.cut(text, atStart, m, func(word string) { dst = u.best(dst, word, m) })
	return dst
}

// apply turns spaces into U+2581 by the rules.
func (r spaceRules) apply(text string) string {
	out := make([]byte, 0, len(text)+len(text)/2+2*len(spaceMark))
	inWord, prefixed := false, false
	for i := range len(text) {
		c := text[i]
		if c == ' ' {
			inWord = false
			if !r.merge {
				out = append(out, spaceMark...)
			}
			continue
		}
		if !inWord {
			inWord = true
			if r.prefix && !prefixed || r.merge {
				out = append(out, spaceMark...)
				prefixed = true
			}
		}
		out = append(out, c)
	}
	if r.suffix {
		out = append(out, spaceMark...)
	}
	return string(out)
}

// cell is the best way to reach a position: its sum, and the token that ends there.
type cell struct {
	sum  float64
	from int32
	id   int32
}

// best appends the tokens of the best cut of text.
func (u *unigram) best(dst []int32, text string, m *merger) []int32 {
	for len(text) > maxWord { // offsets are 32 bits
		dst = u.best(dst, text[:maxWord], m)
		text = text[maxWord:]
	}
	if text == "" {
		return dst
	}
	cells := slices.Grow(m.cells[:0], len(text)+1)[:len(text)+1]
	m.cells = cells
	for i := range cells {
		cells[i] = cell{math.Inf(-1), none, none}
	}
	cells[0].sum = 0
	reach := func(end, from int, id int32, score float64) {
		if s := cells[from].sum + score; s > cells[end].sum {
			cells[end] = cell{s, int32(from), id}
		}
	}
	for from := 0; from < len(text); {
		_, size := utf8.DecodeRuneInString(text[from:])
		whole := false
		node := int32(0)
		for end := from + 1; end <= len(text); end++ {
			m.steps++
			if node = u.tokens.step(node, text[end-1]); node == 0 {
				break
			}
			id := u.tokens.ids[node]
			if id < 0 {
				continue
			}
			whole = whole || end == from+size
			score := u.scores[id]
			if u.free != nil && u.free[id] {
				score = 0
			}
			reach(end, from, id, score)
		}
		if !whole {
			reach(from+size, from, u.unk, u.unknown)
		}
		from += size
	}
	// Read off from the right, then turn round; unknown neighbours are one.
	start := len(dst)
	for at := len(text); at > 0; {
		c := cells[at]
		from := int(c.from)
		if c.id == u.unk {
			for from > 0 && cells[from].id == u.unk {
				from = int(cells[from].from)
			}
			if u.bytes != nil {
				for i := at - 1; i >= from; i-- {
					dst = append(dst, u.bytes[text[i]])
				}
				at = from
				continue
			}
		}
		dst = append(dst, c.id)
		at = from
	}
	slices.Reverse(dst[start:])
	return dst
}
