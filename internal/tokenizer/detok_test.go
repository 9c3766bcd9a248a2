package tokenizer

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDecodeTorn(t *testing.T) {
	tok := mustNew(t, smallBytes("gpt-2", []string{"ab"}, []string{"<|c|>"}, nil))
	c, _ := tok.ID("<|c|>")
	bytes := func(s string) (ids []int32) {
		for _, b := range []byte(s) {
			ids = append(ids, int32(b))
		}
		return ids
	}
	for _, x := range []struct {
		ids  []int32
		skip bool
		want string
	}{
		{bytes("é日🙂"), false, "é日🙂"},
		{bytes("日")[:2], false, "\uFFFD"},
		{bytes("日")[1:], false, "\uFFFD\uFFFD"},
		{bytes("🙂x")[1:], false, "\uFFFD\uFFFD\uFFFDx"},
		{append(bytes("🙂")[:3], 'x'), false, "\uFFFDx"},
		{bytes("\xed\xa0\x80"), false, "\uFFFD\uFFFD\uFFFD"}, // a surrogate
		{bytes("\xc0\xaf"), false, "\uFFFD\uFFFD"},           // overlong
		{append(bytes("日")[:1], c), false, "\uFFFD<|c|>"},
		{slices.Concat(bytes("日")[:1], []int32{c}, bytes("日")[1:]), true, "日"},
		{[]int32{'a', -1, 'b', 1 << 20, c}, true, "a\uFFFDb\uFFFD"},
		{nil, false, ""},
	} {
		if got := tok.Decode(x.ids, x.skip); got != x.want {
			t.Errorf("Decode(%v, %v) = %q, want %q", x.ids, x.skip, got, x.want)
		}
		if got := streamed(tok, x.ids, x.skip); got != x.want {
			t.Errorf("streamed %v: %q, want %q", x.ids, got, x.want)
		}
	}
}

// The space that encoding adds is taken off at the start of a text, not of its
// continuation, and not off what is no word.
func TestDecodeSpacePrefix(t *testing.T) {
	tok := mustNew(t, smallSPM([]string{"▁", "a", "▁a", "▁▁"}, nil, []string{"  "}))
	a, _ := tok.ID("▁a")
	two, _ := tok.ID("▁▁")
	defined, _ := tok.ID("  ")
	for _, x := range []struct {
		ids  []int32
		skip bool
		want string
	}{
		{[]int32{a, a}, false, "a a"},
		{[]int32{1, a}, false, "<s> a"},
		{[]int32{1, a}, true, "a"},
		{[]int32{two, a}, false, "  a"},
		{[]int32{defined, a}, false, "   a"},
		{[]int32{3 + 'z', a}, false, "z a"},
	} {
		if got := tok.Decode(x.ids, x.skip); got != x.want {
			t.Errorf("Decode(%v, %v) = %q, want %q", x.ids, x.skip, got, x.want)
		}
	}
	if got := string(tok.Detokenizer(true, true).Push(a)); got != " a" {
		t.Errorf("continued: %q", got)
	}
}

// Every push is valid UTF-8 whatever the tokens are, and at most three bytes wait.
func TestDetokenizerNeverTears(t *testing.T) {
	tok := mustNew(t, smallBytes("qwen2", []string{"ab"}, nil, nil))
	ids := tok.Encode("naïve 日本 🙂👍🏽", false, false)
	d := tok.Detokenizer(false, false)
	for _, id := range ids {
		if out := d.Push(id); !utf8.Valid(out) {
			t.Fatalf("torn: %q", out)
		}
		if n := d.utf8.Held(); n > 3 {
			t.Fatalf("%d bytes held", n)
		}
	}
	if out := d.Flush(); len(out) != 0 {
		t.Errorf("left over: %q", out)
	}
}

func TestStopMatcher(t *testing.T) {
	push := func(m *StopMatcher, s string) string {
		out, stop := m.Push([]byte(s))
		if stop >= 0 {
			return string(out) + "|" + string(rune('0'+stop))
		}
		return string(out)
	}
	for _, c := range []struct {
		stops []string
		push  []string
		want  []string
		flush string
	}{
		{[]string{"stop"}, []string{"don't s", "to", "o", " st", "op, no"}, []string{"don't ", "", "stoo", " ", "|0"}, ""},
		{[]string{"abcd", "bc"}, []string{"xabc"}, []string{"xa|1"}, ""},
		{[]string{"bc", "abc"}, []string{"xab", "c"}, []string{"x", "|1"}, ""},
		{[]string{"aab"}, []string{"aaaa", "b"}, []string{"aa", "|0"}, ""},
		{[]string{"aab"}, []string{"aaaa"}, []string{"aa"}, "aa"},
		{[]string{"\n\nUser:"}, []string{"x\n", "\nUse", "r"}, []string{"x", "", ""}, "\n\nUser"},
		{nil, []string{"any", "thing"}, []string{"any", "thing"}, ""},
		{[]string{"x"}, []string{"axb", "more"}, []string{"a|0", "|0"}, ""},
	} {
		m, err := NewStopMatcher(c.stops)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range c.push {
			if got := push(m, s); got != c.want[i] {
				t.Errorf("%q: push %d of %q gave %q, want %q", c.stops, i, s, got, c.want[i])
			}
		}
		if got := string(m.Flush()); got != c.flush {
			t.Errorf("%q: flush gave %q, want %q", c.stops, got, c.flush)
		}
		if m.Held() != 0 {
			t.Errorf("%d bytes held after Flush", m.Held())
		}
	}
	if _, err := NewStopMatcher([]string{"a", ""}); err == nil {
		t.Error("an empty stop string was accepted")
	}
}

// What a streaming engine does for each token allocates nothing once warm.
func TestStreamingAllocatesNothing(t *testing.T) {
	tok := mustNew(t, smallBytes("qwen2", smallWords, smallControl, smallDefined))
	ids := tok.Encode(strings.Repeat("the abcabc 日本 don't ", 20), false, true)
	d := tok.Detokenizer(true, true)
	m, err := NewStopMatcher([]string{"</answer>", "the end", "日本語"})
	if err != nil {
		t.Fatal(err)
	}
	var u UTF8Stream
	run := func() {
		for _, id := range ids {
			d.Push(id)
			emit, _ := m.Push(tok.TokenBytes(id))
			u.Push(emit)
			if tok.IsEOG(id) || tok.IsControl(id) {
				t.Fatal("a control token from plain text")
			}
		}
		m.Reset()
	}
	run()
	if n := testing.AllocsPerRun(20, run); n != 0 {
		t.Errorf("%v allocations a run", n)
	}
}

// TestDecodeAsReference: what the reference loses is lost there, and nowhere else.
func TestDecodeAsReference(t *testing.T) {
	same := func(tok *Tokenizer, ids []int32, skip bool, faithful, reference string) {
		t.Helper()
		if got := tok.Decode(ids, skip); got != faithful {
			t.Errorf("Decode(%v, %v) = %q, want %q", ids, skip, got, faithful)
		}
		if got := tok.DecodeAsReference(ids, skip); got != reference {
			t.Errorf("DecodeAsReference(%v, %v) = %q, want %q", ids, skip, got, reference)
		}
	}
	const code = "a ? b : c ! it 's"
	for name, want := range map[string]string{"gpt-2": "a? b : c! it's", "llama-bpe": "a? b : c! it's", "qwen2": code, "tekken": code} {
		tok := mustNew(t, smallBytes(name, []string{"ab"}, []string{"<|c|>"}, nil))
		same(tok, tok.Encode(code, false, false), false, code, want)
	}
	spm := mustNew(t, smallSPM([]string{"▁", "a", "▁a", "▁▁"}, nil, []string{"  "}))
	a, _ := spm.ID("▁a")
	defined, _ := spm.ID("  ")
	same(spm, []int32{a, a}, true, "a a", "a a")
	same(spm, []int32{1, a}, true, "a", "a")
	same(spm, []int32{1, a}, false, "<s> a", "<s> a")
	same(spm, []int32{defined, a}, false, "   a", "  a")
}
