package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// Rules are how a tokenizer.json says that text becomes tokens:
//
//	text ─added tokens as they stand─▶ stretches ─Normalize─▶ ─normalised added tokens─▶ stretches ─Split─▶ words ─model─▶ ids
//
// New refuses a Step that it does not know, or one that its kind of vocabulary can't
// follow, with ErrUnsupported.
type Rules struct {
	Normalize []Step
	Split     []Step // the pre-tokenizer
	Decode    []Step
	Added     []Added
	Before    []int32 // what addSpecial puts before a text, and after it
	After     []int32

	WholeWords       bool      // a word that is a token is that token, whatever the merges say
	ByteFallback     bool      // what has no token is spelled in byte tokens
	FuseUnknown      bool      // unknown neighbours are one
	ContinuingPrefix string    // WordPiece, BPE: goes before what continues a word, to make its token
	EndSuffix        string    // BPE: goes after what ends one
	MaxWordChars     int       // WordPiece: longer words are unknown
	Scores           []float64 // unigram: instead of Vocab.Scores, which is too narrow to tell equal sums apart
}

// Step is one stage, under the type that the file gives it; the other fields are the
// type's own.
type Step struct {
	Type     string
	Pattern  string // Split, Replace; CTC: what stands for nothing
	Regex    bool   // Pattern is a regular expression
	Behavior string // Split, Punctuation: what becomes of a match
	Invert   bool   // Split: the pattern says what lies between
	Content  string // Replace, Prepend, Strip; CTC: what stands for a space; BPEDecoder: what ends a word
	Start    int    // Strip: how many Content go at each end
	Stop     int
	Left     bool // Strip as a normalizer: at which ends white space goes
	Right    bool
	Prefix   string // Metaspace: "always", "first", "never"; WordPiece as a decoder: what continues a word
	Space    bool   // ByteLevel: a space goes before text without one
	Flag     bool   // ByteLevel: words are GPT-2's; Metaspace: spaces end words; Digits: each is a word; WordPiece: clean up
	Clean    bool   // BertNormalizer
	Chinese  bool
	Lower    bool
	Accents  bool
	Charsmap []byte // Precompiled
}

// Added is a token that is looked for before the model sees a text.
type Added struct {
	ID             int32
	Normalized     bool // looked for in normalised text
	LStrip, RStrip bool // takes the white space beside it
	SingleWord     bool // only where it isn't part of a word
	Outside        bool // the model doesn't know it: text that it isn't cut out of never becomes it
}

// rules are Rules at work.
type rules struct {
	normalize  []func(string) string
	normalized specials                                   // added tokens that are looked for in normalised text
	decode     func(ids []int32, skipSpecial bool) string // nil: by the tokens' bytes
	shown      map[int32]string                           // what added tokens decode as, where it isn't their text
}

// newRules is what must be there before the model is made.
func newRules(t *Tokenizer, r *Rules) (own *rules, err error) {
	own = &rules{shown: map[int32]string{}}
	if own.normalize, err = normalizers(r.Normalize); err != nil {
		return nil, err
	}
	for i, a := range r.Added {
		if !t.has(a.ID) {
			return nil, badVocab("Rules.Added", i, "", "id %d is outside the vocabulary of %d tokens", a.ID, len(t.flags))
		}
		if text := t.texts[a.ID]; a.Normalized {
			if shown := own.apply(text); shown != text {
				own.shown[a.ID] = shown
			}
		}
	}
	return own, nil
}

// shown is what a token decodes as before any decoder: its text, and of an added token
// that is looked for in normalised text, that text normalised.
func (t *Tokenizer) shown(id int32) string {
	if t.rules != nil {
		if s, ok := t.rules.shown[id]; ok {
			return s
		}
	}
	return t.texts[id]
}

// follow makes the tokenizer, whose model is made, go by r.
func (t *Tokenizer) follow(r *Rules) error {
	own := t.rules
	t.around = [2][]int32{}
	for i, list := range [2][]int32{r.Before, r.After} {
		for _, id := range list {
			if !t.has(id) {
				return badVocab("Rules.Before and After", i, "", "id %d is outside the vocabulary of %d tokens", id, len(t.flags))
			}
			t.around[i] = append(t.around[i], id)
		}
	}
	t.addBOS = len(r.Before) > 0 && r.Before[0] == t.special.BOS
	t.addEOS = len(r.After) > 0 && r.After[len(r.After)-1] == t.special.EOS
	t.found.leftmost, own.normalized.leftmost = true, true
	for _, a := range r.Added {
		text, in := t.shown(a.ID), &t.found
		if a.Normalized {
			in = &own.normalized
		}
		if text == "" {
			continue
		}
		in.add(text, specialToken{
			id: a.ID, plain: t.flags[a.ID]&(flagControl|flagUnknown) == 0,
			lstrip: a.LStrip, rstrip: a.RStrip, alone: a.SingleWord,
		})
	}
	t.found.build()
	own.normalized.build()
	return t.decodeBy(r.Decode)
}

func (r *rules) apply(text string) string {
	for _, f := range r.normalize {
		text = f(text)
	}
	return text
}

func (t *Tokenizer) encodeByRules(dst []int32, text string, parse bool, s *scratch) []int32 {
	s.matches = t.found.find(s.matches, text, parse)
	t.found.stretches(text, s.matches, func(raw string, from int, id int32) {
		if id >= 0 {
			dst = append(dst, id)
			return
		}
		whole := t.rules.apply(raw)
		s.inner = t.rules.normalized.find(s.inner, whole, parse)
		t.rules.normalized.stretches(whole, s.inner, func(piece string, at int, id int32) {
			if id >= 0 {
				dst = append(dst, id)
			} else {
				dst = t.model.encode(dst, piece, from == 0 && at == 0, &s.merger)
			}
		})
	})
	return dst
}

// stretches hands out, in order, what lies between matches (id -1) and the matches'
// ids, with each one's beginning; matches that must stand alone and don't are text.
func (sp *specials) stretches(text string, matches []match, yield func(s string, from int, id int32)) {
	from := 0
	for _, m := range matches {
		tok := &sp.toks[m.tok]
		beg, end := m.pos, m.pos+int(tok.size)
		if beg < from {
			continue // white space that the token before took
		}
		if tok.alone && (besideWord(text[:beg], utf8.DecodeLastRuneInString) || besideWord(text[end:], utf8.DecodeRuneInString)) {
			continue
		}
		if tok.lstrip {
			beg = from + len(strings.TrimRightFunc(text[from:beg], isSpace))
		}
		if tok.rstrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], isSpace))
		}
		if beg > from {
			yield(text[from:beg], from, none)
		}
		yield("", beg, tok.id)
		from = end
	}
	if from < len(text) {
		yield(text[from:], from, none)
	}
}

func isSpace(r rune) bool { return classes().rune(r)&space != 0 }

// besideWord says whether the character at an end of s is one of a word.
func besideWord(s string, decode func(string) (rune, int)) bool {
	r, n := decode(s)
	return n > 0 && isWordRune(r)
}
