package vocab

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/bounded"
	"github.com/paddock-go/paddock/internal/tokenizer"
)

// whole is a file that reads, with a part to change.
func whole(change ...string) string {
	s := `{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":3,"content":"<s>","special":true}],` +
		`"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":true},` +
		`"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{"<s>":{"id":"<s>","ids":[3],"tokens":["<s>"]}}},` +
		`"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","dropout":null,"vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}}`
	for i := 0; i < len(change); i += 2 {
		if !strings.Contains(s, change[i]) {
			panic("nothing to change: " + change[i])
		}
		s = strings.Replace(s, change[i], change[i+1], 1)
	}
	return s
}

func TestFromJSONRefuses(t *testing.T) {
	if tok := open(t, []byte(whole())); len(tok.Encode("ab", true, true)) != 2 {
		t.Fatal("the unchanged file doesn't work")
	}
	for _, c := range []struct{ data, says string }{
		{"", "want an object"},
		{"[]", "want an object"},
		{"{}", "no model"},
		{whole()[:200], "without an end"},
		{whole() + "x", "something after the end"},
		{whole(`"1.0"`, "\"\xff\""), "not UTF-8"},
		{whole(`"1.0"`, "\"\x01\""), "control character"},
		{whole(`"1.0"`, `"\ud800"`), "half a surrogate"},
		{whole(`"1.0"`, `"\q"`), "bad escape"},
		{whole(`"1.0"`, strings.Repeat("[", 1<<20)), "32 levels"},
		{whole(`"1.0"`, `01`), "want a number"},
		{whole(`"1.0"`, `tru`), "want true"},
		{whole(`"version"`, `"extra":1,"version"`), "extra, at byte"},
		{whole(`"version"`, `"version":1,"version"`), "twice"},
		{whole(`"id":3,`, ``), "needs an id"},
		{whole(`"id":3`, `"id":-1`), "whole number"},
		{whole(`"id":3`, `"id":3.5`), "whole number"},
		{whole(`"id":3`, `"id":16777215`), "id 16777215 in a vocabulary of 4"},
		{whole(`"id":3`, `"id":99999999999999999999`), "whole number"},
		{whole(`"special":true`, `"specialx":true`), "added_tokens[0].specialx"},
		{whole(`"id":3`, `"id":2`), `id 2 is both "ab" and "<s>"`},
		{whole(`"NFC"`, `"NFC","shape":3`), "normalizer.shape"},
		{whole(`{"type":"NFC"}`, `{}`), "no type"},
		{whole(`{"type":"NFC"}`, `{"type":"Precompiled","precompiled_charsmap":"*"}`), "base64"},
		{whole(`{"type":"NFC"}`, `{"type":"Replace","pattern":{"Glob":"a"}}`), "String or a Regex"},
		{whole(`"TemplateProcessing"`, `"Something"`), `"Something"`},
		{whole(`{"Sequence":{"id":"A","type_id":0}}`, `{"Sequence":{"id":"B"}}`), "Sequence A"},
		{whole(`,{"Sequence":{"id":"A","type_id":0}}`, ``), "the text 0 times"},
		{whole(`"ids":[3]`, `"ids":[3,3,3`+strings.Repeat(",3", 300)+`]`), "ids"},
		{whole(`"special_tokens":{"<s>":`, `"special_tokens":{"<t>":`), "not among special_tokens"},
		{whole(`"type":"BPE"`, `"type":"WordMaybe"`), `"WordMaybe"`},
		{whole(`"dropout":null`, `"dropout":0.1`), "chance"},
		{whole(`"dropout":null`, `"speed":1`), "model.speed"},
		{whole(`"vocab":{"a":0,"b":1,"ab":2},`, ``), "without a vocabulary"},
		{whole(`["a b"]`, `["a b",["a","b"]]`), "both kinds"},
		{whole(`["a b"]`, `[["a"]]`), "two tokens"},
		{whole(`["a b"]`, `[["a","b","c"]]`), "two tokens"},
		{whole(`["a b"]`, `[3]`), "model.merges[0]"},
	} {
		_, err := FromJSON([]byte(c.data))
		var e *JSONError
		if !errors.As(err, &e) || !errors.Is(err, ErrJSON) || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 300 {
			t.Errorf("%.80s: got %v, want what says %q", c.data, err, c.says)
		}
	}
}

// TestFromJSONMemory: what is allocated stays in proportion to the file, for files
// made to allocate much.
func TestFromJSONMemory(t *testing.T) {
	const most = 48
	fill := func(item string) string {
		return strings.TrimSuffix(strings.Repeat(item+",", 1<<20/(len(item)+1)), ",")
	}
	for name, data := range map[string]string{
		"merges":  whole(`"a b"`, fill(`[[],[]]`)),
		"pairs":   whole(`"a b"`, fill(`["",""]`)),
		"strings": whole(`"a b"`, fill(`""`)),
		"vocab":   whole(`"a":0`, fill(`"":0`)),
		"added":   whole(`"added_tokens":[`, `"added_tokens":[`+fill(`{"id":1,"content":"a"}`)+","),
		"steps":   whole(`{"type":"NFC"}`, `{"type":"Sequence","normalizers":[`+fill(`{"type":"NFC"}`)+`]}`),
		"around":  whole(`{"type":"TemplateProcessing"`, `{"type":"Sequence","processors":[`+fill(`{"type":"ByteLevel"}`)+`],"pair":{"type":"TemplateProcessing"`),
		"skipped": whole(`"1.0"`, "["+fill("[]")+"]"),
		"keys":    whole(`"special_tokens":{`, `"special_tokens":{`+fill(`"x":{"ids":[]}`)+","),
		"unigram": whole(`{"a":0,"b":1,"ab":2}`, "["+fill(`["a",1]`)+"]"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, err := FromJSON([]byte(data))
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > uint64(most*len(data)) {
			t.Errorf("%s: %d bytes allocated for a file of %d (%v)", name, got, len(data), err)
		}
		if err == nil {
			_, _ = tokenizer.New(v)
		}
	}
}

func TestConfig(t *testing.T) {
	v, err := FromJSON([]byte(whole(`"BPE"`, `"BPE","unk_token":"a"`)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadConfig([]byte(`{"tokenizer_class":"LlamaTokenizerFast","bos_token":{"content":"<s>"},"eos_token":"b","pad_token":null,"add_bos_token":false,"add_eos_token":true,
		"chat_template":[{"name":"default","template":"D"},{"name":"tool_use","template":"T"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(&v)
	if v.BOS != 3 || v.EOS != 1 || v.UNK != 0 || v.PAD != -1 || len(v.Rules.Before) != 0 || len(v.Rules.After) != 1 || v.Rules.After[0] != 1 {
		t.Errorf("got %+v, %v, %v", v.Specials, v.Rules.Before, v.Rules.After)
	}
	if c.Template("default") != "D" || c.Template("tool_use") != "T" || c.Template("x") != "" {
		t.Error("templates differ")
	}
	for _, bad := range []string{`{`, `{"bos_token":3}`, `{"chat_template":4}`} {
		if _, err := ReadConfig([]byte(bad)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

// FuzzFromJSON: a file is refused or works, within what its ids beyond the tokens may take; nothing panics, and a tokenizer that New
// makes of it takes any text.
func FuzzFromJSON(f *testing.F) {
	for _, path := range small(f) {
		f.Add(load(f, path), "a caf\u00e9s <s> <mask>\xe6 ab\n12")
	}
	f.Add([]byte(whole()), "ab<s>")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		bounded.Hold(t, bounded.Bytes{Base: 128 * maxSpare, Each: 256}, len(data)+len(text), func() {
			v, err := FromJSON(data)
			if err != nil {
				return
			}
			tok, err := tokenizer.New(v)
			if err != nil {
				return
			}
			for _, parse := range []bool{false, true} {
				ids := tok.Encode(text, true, parse)
				tok.Decode(ids, parse)
			}
			tok.Decode([]int32{-1, 0, 1, 2, 3, 1 << 30}, false)
		})
	})
}
