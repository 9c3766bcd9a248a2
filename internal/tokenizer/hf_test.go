package tokenizer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// smallRules are vocabularies with Rules, one of each kind of model.
func smallRules() map[string]Vocab {
	bytes := smallBytes("", smallWords, smallControl, smallDefined)
	bytes.Rules = &Rules{
		Normalize: []Step{{Type: "NFC"}},
		Split:     []Step{{Type: "Split", Pattern: deepseekPattern, Regex: true, Behavior: "Isolated"}, {Type: "ByteLevel"}},
		Decode:    []Step{{Type: "ByteLevel"}},
	}
	chars := Vocab{Model: "bpe", Specials: NoSpecials(), Rules: &Rules{
		Normalize:    []Step{{Type: "Prepend", Content: spaceMark}, {Type: "Replace", Pattern: " ", Content: spaceMark}},
		Decode:       []Step{{Type: "Replace", Pattern: spaceMark, Content: " "}, {Type: "ByteFallback"}, {Type: "Fuse"}, {Type: "Strip", Content: " ", Start: 1}},
		ByteFallback: true, FuseUnknown: true,
	}}
	put := func(v *Vocab, text string, kind int32) {
		v.Tokens, v.Types = append(v.Tokens, text), append(v.Types, kind)
	}
	for i := range 256 {
		put(&chars, fmt.Sprintf("<0x%02X>", i), TypeByte)
	}
	for _, s := range []string{"<unk>", "<s>", "</s>"} {
		put(&chars, s, TypeControl)
	}
	for _, s := range []string{"a", "b", "aa", "ab", spaceMark, "abab"} {
		put(&chars, s, TypeNormal)
	}
	chars.Pairs = [][2]string{{"a", "b"}, {"ab", "ab"}, {"a", "a"}}
	chars.UNK = 256
	chars.Rules.Before = []int32{257}

	words := Vocab{Model: "bert", Specials: NoSpecials(), Tokens: []string{"[UNK]", "[CLS]", "a", "##a", "##aa", "ab", "."},
		Types: []int32{TypeControl, TypeControl, TypeNormal, TypeNormal, TypeNormal, TypeNormal, TypeNormal},
		Rules: &Rules{
			Normalize: []Step{{Type: "BertNormalizer", Clean: true, Chinese: true, Accents: true, Lower: true}},
			Split:     []Step{{Type: "BertPreTokenizer"}}, Decode: []Step{{Type: "WordPiece", Prefix: "##", Flag: true}},
			ContinuingPrefix: "##",
		}}
	words.UNK = 0
	gram := Vocab{Model: "t5", Specials: NoSpecials(), Tokens: []string{"<unk>", "<s>", spaceMark, "a", "aa", spaceMark + "a", "b"},
		Types: []int32{TypeControl, TypeControl, TypeNormal, TypeNormal, TypeNormal, TypeNormal, TypeNormal},
		Rules: &Rules{
			Split:  []Step{{Type: "Metaspace", Content: spaceMark, Prefix: "always", Flag: true}},
			Decode: []Step{{Type: "Metaspace", Content: spaceMark, Prefix: "always"}},
			Scores: []float64{0, 0, -2, -3, -4, -3.5, -5},
		}}
	gram.UNK = 0
	list := map[string]Vocab{"bytes": bytes, "chars": chars, "words": words, "gram": gram}
	for _, v := range list {
		for id, kind := range v.Types {
			if kind == TypeControl || kind == TypeUserDefined {
				v.Rules.Added = append(v.Rules.Added, Added{ID: int32(id), Normalized: id%2 == 0, LStrip: id%3 == 0, RStrip: id%3 == 1, SingleWord: id%4 == 0})
			}
		}
	}
	return list
}

// TestRulesRefuse: a step that isn't known, or not there, is named.
func TestRulesRefuse(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name, of string
		edit     func(v *Vocab)
		kind     error
		text     string
	}{
		{"normalizer", "bytes", func(v *Vocab) { v.Rules.Normalize = []Step{{Type: "Nmx"}} }, ErrUnsupported, `"Nmx"`},
		{"replace by a pattern", "bytes", func(v *Vocab) { v.Rules.Normalize = []Step{{Type: "Replace", Regex: true, Pattern: "(a*)*"}} }, ErrUnsupported, `"(a*)*"`},
		{"replace nothing", "bytes", func(v *Vocab) { v.Rules.Normalize = []Step{{Type: "Replace"}} }, ErrVocab, "empty"},
		{"growth", "bytes", func(v *Vocab) { v.Rules.Normalize = []Step{{Type: "Replace", Pattern: "a", Content: long}} }, ErrVocab, "grow"},
		{"growth by steps", "bytes", func(v *Vocab) {
			v.Rules.Normalize = slices.Repeat([]Step{{Type: "Replace", Pattern: "a", Content: "aa"}}, 11)
		}, ErrVocab, "grow 128 times"},
		{"growth of decoding", "chars", func(v *Vocab) { v.Rules.Decode = []Step{{Type: "Replace", Pattern: "a", Content: long}} }, ErrVocab, "grow"},
		{"pattern", "bytes", func(v *Vocab) { v.Rules.Split[0].Pattern = "(a*)+$" }, ErrUnsupported, `"(a*)+$"`},
		{"looking back", "bytes", func(v *Vocab) { v.Rules.Split[0].Pattern = `(a)\1` }, ErrUnsupported, `\1`},
		{"behavior", "bytes", func(v *Vocab) { v.Rules.Split[0].Behavior = "Hidden" }, ErrUnsupported, `"Hidden"`},
		{"pre-tokenizer", "bytes", func(v *Vocab) { v.Rules.Split[0].Type = "UnicodeScripts" }, ErrUnsupported, `"UnicodeScripts"`},
		{"no ByteLevel", "bytes", func(v *Vocab) { v.Rules.Split = nil }, ErrUnsupported, "ByteLevel"},
		{"decoder", "chars", func(v *Vocab) { v.Rules.Decode = []Step{{Type: "CTX"}} }, ErrUnsupported, `"CTX"`},
		{"decoder of another kind", "chars", func(v *Vocab) { v.Rules.Decode = []Step{{Type: "ByteLevel"}} }, ErrUnsupported, "another kind"},
		{"no decoder", "bytes", func(v *Vocab) { v.Rules.Decode = nil }, ErrUnsupported, "needs the decoder"},
		{"strip", "chars", func(v *Vocab) { v.Rules.Decode[3].Start = 1 << 30 }, ErrVocab, "strips"},
		{"WordPiece's unknown", "words", func(v *Vocab) { v.UNK = -1 }, ErrVocab, "UNK"},
		{"two Metaspaces", "gram", func(v *Vocab) { v.Rules.Split = slices.Repeat([]Step{{Type: "Metaspace", Content: spaceMark}}, 2) }, ErrUnsupported, "twice"},
		{"unigram's scores", "gram", func(v *Vocab) { v.Rules.Scores = nil }, ErrVocab, "0 scores for 7"},
		{"score", "gram", func(v *Vocab) { v.Rules.Scores[4] = math.Inf(1) }, ErrVocab, "finite"},
		{"score whose sums are none", "gram", func(v *Vocab) { v.Rules.Scores[4] = -1e308 }, ErrVocab, "float32"},
		{"long token", "gram", func(v *Vocab) { v.Tokens[4] = long }, ErrVocab, "1048576 bytes"},
		{"added", "gram", func(v *Vocab) { v.Rules.Added[0].ID = 7 }, ErrVocab, "id 7"},
		{"before", "gram", func(v *Vocab) { v.Rules.Before = []int32{-1} }, ErrVocab, "id -1"},
		{"missing byte", "chars", func(v *Vocab) { v.Types[9] = TypeNormal }, ErrVocab, "255 tokens"},
		{"merges twice", "chars", func(v *Vocab) { v.Merges = []string{"a b"} }, ErrVocab, "one of both"},
		{"pair of strangers", "chars", func(v *Vocab) { v.Pairs[1][0] = "zz" }, ErrVocab, "left part"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := smallRules()[c.of]
			c.edit(&v)
			_, err := New(v)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) || len(err.Error()) > 300 {
				t.Fatalf("got %v, want %v that says %q", err, c.kind, c.text)
			}
		})
	}
}

// TestCharsmapRefuses: sizes are checked, and offsets as they are met.
func TestCharsmapRefuses(t *testing.T) {
	le := func(x ...uint32) (b []byte) {
		for _, x := range x {
			b = append(b, byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
		}
		return b
	}
	for name, b := range map[string][]byte{
		"short": {1, 2}, "size": le(9, 0), "odd": append(le(3), 0, 0, 0, 0), "no end": append(le(4, 0), 'x'),
		"long": append(append(le(4, 0), make([]byte, 0, 400)...), append([]byte(strings.Repeat("y", 300)), 0)...),
	} {
		if _, err := newCharsmap(b); !errors.Is(err, ErrVocab) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A root whose children lie far outside, and a leaf whose value does.
	for _, units := range [][]uint32{{1<<31 - 1}, {1 << 10, 1<<8 | 'a'<<0}} {
		c, err := newCharsmap(le(append([]uint32{uint32(4 * len(units))}, units...)...))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.apply("abc\xff"); got != "abc\uFFFD" {
			t.Errorf("got %q", got)
		}
	}
}

// TestMetaspace: words begin at marks, and the first alone or each is given one.
func TestMetaspace(t *testing.T) {
	white := []Step{{Type: "WhitespaceSplit"}}
	for _, c := range []struct {
		before  []Step
		prefix  string
		split   bool
		after   []Step
		atStart bool
		text    string
		want    []string
	}{
		{nil, "always", true, nil, false, "a b  c", []string{"▁a", "▁b", "▁", "▁c"}},
		{nil, "first", true, nil, false, "a b", []string{"a", "▁b"}},
		{nil, "first", true, nil, true, "a b", []string{"▁a", "▁b"}},
		{nil, "never", false, nil, true, " a b", []string{"▁a▁b"}},
		{white, "always", true, nil, true, "\ta\n b ", []string{"▁a", "▁b"}},
		{white, "first", true, nil, true, "a b", []string{"▁a", "b"}},
		{white, "first", true, nil, true, " a b", []string{"a", "b"}},
		{nil, "always", true, []Step{{Type: "Digits", Flag: true}}, true, "a12 b", []string{"▁a", "1", "2", "▁b"}},
	} {
		steps := append(slices.Concat(c.before, []Step{{Type: "Metaspace", Content: spaceMark, Prefix: c.prefix, Flag: c.split}}), c.after...)
		w, err := wordsOf(steps)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		w.cut(c.text, c.atStart, new(merger), func(s string) { got = append(got, s) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v of %q: got %q, want %q", steps, c.text, got, c.want)
		}
	}
}

// FuzzRules: whatever the bytes, text becomes ids of the vocabulary, plain text none of
// a control token's, and ids become valid UTF-8.
func FuzzRules(f *testing.F) {
	for _, s := range fuzzTexts {
		f.Add(s, true)
		f.Add("<s>"+s+" <tool> ", false)
	}
	toks := map[string]*Tokenizer{}
	for name, v := range smallRules() {
		toks[name] = mustNew(f, v)
	}
	f.Fuzz(func(t *testing.T, text string, parse bool) {
		for name, tok := range toks {
			ids := tok.Encode(text, false, parse)
			if limit := 4*len(text) + 4; len(ids) > limit {
				t.Fatalf("%s: %d tokens from %d bytes %q", name, len(ids), len(text), text)
			}
			for _, id := range ids {
				if id < 0 || int(id) >= tok.VocabSize() {
					t.Fatalf("%s: id %d outside the vocabulary", name, id)
				}
				if !parse && tok.IsControl(id) && id != tok.Specials().UNK {
					t.Fatalf("%s: plain text %q became control token %q", name, text, tok.Text(id))
				}
			}
			if back := tok.Decode(ids, false); !utf8.ValidString(back) {
				t.Fatalf("%s: %q came back as %q", name, text, back)
			}
		}
	})
}
