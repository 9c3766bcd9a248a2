package vocab

import (
	"unicode/utf8"

	"github.com/paddock-go/paddock/internal/tokenizer"
)

// maxSpare is how many ids beyond twice the count of tokens a file may use: it bounds
// what a small file with a large id can allocate.
const maxSpare = 1 << 16

// FromJSON reads a tokenizer.json, strictly: a part that could change tokens and isn't
// known is an error, a *JSONError here or a *tokenizer.VocabError of tokenizer.New. It
// allocates at most a few dozen bytes per byte of data. Truncation and padding are left
// out: they belong to the batches of other programs. Roles of tokens aren't in such a
// file: see Config. Safe for concurrent use; nothing of data is kept.
func FromJSON(data []byte) (tokenizer.Vocab, error) {
	s := &jsonScan{data: data}
	if !utf8.Valid(data) {
		s.fail("not UTF-8")
	}
	var (
		m                     jsonModel
		normal, split, decode []tokenizer.Step
		added                 []jsonAdded
		post                  around
		haveModel             bool
	)
	s.object(true, func(key string) {
		switch key {
		case "version", "truncation", "padding":
			s.skip()
		case "added_tokens":
			s.orNull(func() { added = s.addedTokens() })
		case "normalizer":
			normal = s.steps()
		case "pre_tokenizer":
			split = s.steps()
		case "post_processor":
			post = s.postProcessor()
		case "decoder":
			decode = s.steps()
		case "model":
			haveModel = true
			m = s.model()
		default:
			s.fail("this part is not known here")
		}
	})
	if s.err == nil && !haveModel {
		s.fail("no model")
	}
	if s.err == nil && s.peek() != 0 {
		s.fail("something after the end")
	}
	if s.err != nil {
		return tokenizer.Vocab{}, s.err
	}
	v := tokenizer.Vocab{
		Specials: tokenizer.NoSpecials(), TrustTypes: true, Merges: m.merges, Pairs: m.pairs,
		Rules: &tokenizer.Rules{
			Normalize: normal, Split: split, Decode: decode, Before: post.before, After: post.after,
			WholeWords: m.whole, ByteFallback: m.fallback, FuseUnknown: m.fuse, MaxWordChars: m.maxChars, EndSuffix: m.suffix,
		},
	}
	v.Model = m.kind(s, split, decode)
	switch {
	case m.prefix != nil:
		v.Rules.ContinuingPrefix = *m.prefix
	case v.Model == "bert":
		v.Rules.ContinuingPrefix = "##"
	}
	s.tokens(&v, &m, added)
	if s.err != nil {
		return tokenizer.Vocab{}, s.err
	}
	return v, nil
}

// jsonAdded is an entry of added_tokens.
type jsonAdded struct {
	tokenizer.Added
	text    string
	special bool
}

func (s *jsonScan) addedTokens() (list []jsonAdded) {
	s.array(func(int) {
		a := jsonAdded{Added: tokenizer.Added{ID: -1}}
		s.object(true, func(key string) {
			switch key {
			case "id":
				a.ID = int32(s.integer(maxID))
			case "content":
				a.text = s.text()
			case "single_word":
				a.SingleWord = s.bool()
			case "lstrip":
				a.LStrip = s.bool()
			case "rstrip":
				a.RStrip = s.bool()
			case "normalized":
				a.Normalized = s.bool()
			case "special":
				a.special = s.bool()
			default:
				s.fail("this field is not known here")
			}
		})
		if a.ID < 0 || a.text == "" {
			s.fail("an added token needs an id and a content")
		}
		list = append(list, a)
	})
	return list
}

// tokens lays out the vocabulary by id.
func (s *jsonScan) tokens(v *tokenizer.Vocab, m *jsonModel, added []jsonAdded) {
	most, count := int32(-1), len(m.ids)+len(added)
	for _, t := range m.ids {
		most = max(most, t.id)
	}
	for _, a := range added {
		most = max(most, a.ID)
	}
	if s.err == nil && int(most) >= 2*count+maxSpare {
		s.fail("id %d in a vocabulary of %d tokens", most, count)
	}
	if s.err != nil {
		return
	}
	v.Tokens, v.Types = make([]string, most+1), make([]int32, most+1)
	for i := range v.Types {
		v.Types[i] = tokenizer.TypeUnused
	}
	set := func(id int32, text string, kind int32) {
		if was := v.Tokens[id]; was != "" && was != text {
			s.fail("id %d is both %q and %q", id, shorten(was), shorten(text))
		}
		v.Tokens[id], v.Types[id] = text, kind
	}
	bytes := m.fallback
	for _, step := range v.Rules.Decode {
		bytes = bytes || step.Type == "ByteFallback"
	}
	for _, t := range m.ids {
		kind := tokenizer.TypeNormal
		if bytes && isByteToken(t.text) {
			kind = tokenizer.TypeByte
		}
		set(t.id, t.text, kind)
		if m.unk != "" && t.text == m.unk {
			v.UNK = t.id
		}
	}
	for _, a := range added {
		a.Outside = v.Tokens[a.ID] == ""
		kind := tokenizer.TypeUserDefined
		if a.special {
			kind = tokenizer.TypeControl
		}
		set(a.ID, a.text, kind)
		if m.unk != "" && a.text == m.unk {
			v.UNK = a.ID
		}
		v.Rules.Added = append(v.Rules.Added, a.Added)
	}
	if m.isList {
		v.Rules.Scores = make([]float64, most+1)
		copy(v.Rules.Scores, m.scores)
		if m.unkID > int(most) {
			s.fail("unk_id %d in a vocabulary of %d tokens", m.unkID, most+1)
		}
		v.UNK = int32(m.unkID)
	}
}

// isByteToken tells <0x00> to <0xFF>.
func isByteToken(text string) bool {
	if len(text) != 6 || text[:3] != "<0x" || text[5] != '>' {
		return false
	}
	for _, c := range []byte(text[3:5]) {
		if !(c >= '0' && c <= '9' || c >= 'A' && c <= 'F' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}
