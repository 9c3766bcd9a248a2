package tokenizer

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var fuzzTexts = []string{
	"", " ", "  a", "Hello, world! don't DON'T 'll", "12345 678", "a\r\n\n  b \t\n", "日本語のテキスト", "<|a|><|ab|>x|>tool>x<tool><tool>",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "abcabcabcabcabc", "\xff\xfe a\xe6\x97", "▁▁ the▁", "\x00\u3000\u0085\u00a0x", "🙂👍🏽é",
}

// FuzzEncodeDecode: whatever the bytes, encoding does not panic, stays within the
// bounds that the text sets, and decoding gives the text back.
func FuzzEncodeDecode(f *testing.F) {
	for _, s := range fuzzTexts {
		f.Add(s, false, true)
		f.Add(s, true, false)
	}
	toks := smallTokenizers(f)
	f.Fuzz(func(t *testing.T, text string, special, parse bool) {
		for name, tok := range toks {
			ids := tok.Encode(text, special, parse)
			// No token is empty, and at most BOS and a byte per space are added.
			if limit := len(text) + 2*strings.Count(text, ">") + 4; len(ids) > limit {
				t.Fatalf("%s: %d tokens from %d bytes %q", name, len(ids), len(text), text)
			}
			for _, id := range ids {
				if id < 0 || int(id) >= tok.VocabSize() {
					t.Fatalf("%s: id %d outside the vocabulary", name, id)
				}
			}
			if !parse && !special {
				for _, id := range ids {
					if tok.IsControl(id) {
						t.Fatalf("%s: plain text %q became control token %q", name, text, tok.Text(id))
					}
				}
			}
			if special || parse {
				continue // BOS, and spaces that the model adds after special tokens
			}
			if strings.HasPrefix(name, "spm") {
				if want := strings.ReplaceAll(text, spaceMark, " "); utf8.ValidString(text) && !strings.Contains(text, "tool>") && !strings.Contains(text, "    ") {
					if got := tok.Decode(ids, false); got != want {
						t.Fatalf("%s: %q came back as %q", name, want, got)
					}
				}
				continue
			}
			var got []byte
			for _, id := range ids {
				got = append(got, tok.TokenBytes(id)...)
			}
			if string(got) != text {
				t.Fatalf("%s: %q came back as %q", name, text, got)
			}
			if utf8.ValidString(text) {
				if got := tok.Decode(ids, true); got != text {
					t.Fatalf("%s: %q decodes to %q", name, text, got)
				}
			}
		}
	})
}

// FuzzNew: a vocabulary from strangers is refused or works; it never panics.
func FuzzNew(f *testing.F) {
	for _, v := range []Vocab{smallBytes("gpt-2", smallWords[:2], nil, nil), smallSPM([]string{"▁", "a"}, nil, nil)} {
		f.Add(v.Model, v.Pre, strings.Join(v.Tokens, "\n"), strings.Join(v.Merges, "\n"), []byte("\x01\x02"), int32(0), int32(3), "text <s> a")
	}
	for _, model := range []string{"bert", "t5", "gemma4"} {
		f.Add(model, "", "[UNK]\n▁a\nb\n<s>\nab\n<0x41>", "▁a b\na b", []byte{2, 1, 1, 3, 1, 6}, int32(3), int32(0), "Ab a\u0301b <s> \xe6b")
	}
	f.Add("gpt2", "qwen2", "a\nb\nab\n<0x-1>", "a b", []byte{1, 1, 1, 6}, int32(-1), int32(9), "abab")
	f.Fuzz(func(t *testing.T, model, pre, tokens, merges string, types []byte, bos, unk int32, text string) {
		v := Vocab{Model: model, Pre: pre, Specials: NoSpecials(), AddBOS: Off}
		v.Tokens = strings.Split(tokens, "\n")
		v.Merges = strings.Split(merges, "\n")
		v.BOS, v.UNK = bos, unk
		v.Types = make([]int32, len(v.Tokens))
		v.Scores = make([]float32, len(v.Tokens))
		for i := range v.Types {
			v.Types[i] = TypeNormal
			if i < len(types) {
				v.Types[i] = int32(int8(types[i]))
				v.Scores[i] = float32(int8(types[i]))
			}
		}
		tok, err := New(v)
		if err != nil {
			return
		}
		ids := tok.Encode(text, true, true)
		tok.Decode(ids, false)
		tok.Decode([]int32{-1, 0, int32(len(v.Tokens)), 1 << 30}, true)
	})
}

// FuzzUTF8Stream: pushing in any pieces gives what repairing the whole gives, and no
// piece is torn.
func FuzzUTF8Stream(f *testing.F) {
	f.Add([]byte("aé日🙂\xf0\x9f\x98x\xe2\x28\xa1\xed\xa0\x80\xf4\x90"), []byte{1, 2, 3})
	f.Add([]byte("\xf0\x9f"), []byte{1})
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		var u UTF8Stream
		var got []byte
		rest := data
		for i := 0; len(rest) > 0; i++ {
			n := len(rest)
			if i < len(cuts) {
				n = min(n, int(cuts[i]%5))
			}
			out := u.Push(rest[:n])
			if !utf8.Valid(out) {
				t.Fatalf("torn piece %q of %q", out, data)
			}
			if len(out) > 3*n+9 {
				t.Fatalf("%d bytes from %d", len(out), n)
			}
			got = append(got, out...)
			rest = rest[n:]
		}
		got = append(got, u.Flush()...)
		if want := lossy(data); string(got) != want {
			t.Fatalf("%q became %q, want %q", data, got, want)
		}
	})
}

// lossy replaces each maximal beginning of a character that is not one, trying all
// lengths with the standard library's decoder.
func lossy(b []byte) string {
	var out strings.Builder
	for len(b) > 0 {
		if r, n := utf8.DecodeRune(b); r != utf8.RuneError || n > 1 {
			out.Write(b[:n])
			b = b[n:]
			continue
		}
		n := 1
		for k := min(3, len(b)); k > 1; k-- {
			if grows(b[:k]) {
				n = k
				break
			}
		}
		out.WriteString("\uFFFD")
		b = b[n:]
	}
	return out.String()
}

// grows says whether some bytes after b make it a character.
func grows(b []byte) bool {
	for _, next := range [][]byte{{0x80}, {0xBF}, {0x80, 0x80}, {0xBF, 0xBF}} {
		if r, n := utf8.DecodeRune(slices.Concat(b, next)); r != utf8.RuneError && n == len(b)+len(next) {
			return true
		}
	}
	return false
}

// FuzzStopMatcher compares with looking at every prefix of the whole text.
func FuzzStopMatcher(f *testing.F) {
	f.Add("xxabcabdyy", "abd", "cab", "b", uint8(3))
	f.Add("aaaaab", "aab", "aaaaaaa", "z", uint8(1))
	f.Fuzz(func(t *testing.T, text, a, b, c string, step uint8) {
		var stops []string
		for _, s := range []string{a, b, c} {
			if s != "" && len(s) <= 64 {
				stops = append(stops, s)
			}
		}
		if len(text) > 1<<10 {
			return
		}
		m, err := NewStopMatcher(stops)
		if err != nil {
			t.Fatal(err)
		}
		want, wantStop := stopNaively(text, stops)
		var got bytes.Buffer
		stop := -1
		for rest := text; rest != "" && stop < 0; {
			n := min(len(rest), int(step%7)+1)
			var emit []byte
			emit, stop = m.Push([]byte(rest[:n]))
			got.Write(emit)
			rest = rest[n:]
			if !strings.HasPrefix(want, got.String()) {
				t.Fatalf("%q with stops %q: emitted %q of %q", text, stops, got.String(), want)
			}
		}
		if stop < 0 {
			got.Write(m.Flush())
		}
		if got.String() != want || stop != wantStop {
			t.Fatalf("%q with stops %q: got %q, stop %d; want %q, stop %d", text, stops, got.String(), stop, want, wantStop)
		}
	})
}

func stopNaively(text string, stops []string) (string, int) {
	for end := range len(text) + 1 {
		best := -1
		for i, s := range stops {
			if strings.HasSuffix(text[:end], s) && (best < 0 || len(s) > len(stops[best])) {
				best = i
			}
		}
		if best >= 0 {
			return text[:end-len(stops[best])], best
		}
	}
	return text, -1
}
