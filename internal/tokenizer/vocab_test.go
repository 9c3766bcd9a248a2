package tokenizer

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestNewRefuses(t *testing.T) {
	gpt2 := func() Vocab { return smallBytes("gpt-2", []string{"ab"}, []string{"<|c|>"}, nil) }
	spm := func() Vocab { return smallSPM([]string{"▁", "a"}, nil, nil) }
	for _, c := range []struct {
		name string
		v    Vocab
		edit func(*Vocab)
		kind error
		text string // what the message must say
	}{
		{"unknown model", gpt2(), func(v *Vocab) { v.Model = "rwkv" }, ErrUnsupported, `Model "rwkv"`},
		{"no model", gpt2(), func(v *Vocab) { v.Model = "" }, ErrUnsupported, "llama, gpt2"},
		{"unknown pre-tokenizer", gpt2(), func(v *Vocab) { v.Pre = "klingon" }, ErrUnsupported, `Pre "klingon"`},
		{"no pre-tokenizer", gpt2(), func(v *Vocab) { v.Pre = "" }, ErrUnsupported, "names no pre-tokenizer"},
		{"no tokens", gpt2(), func(v *Vocab) { v.Tokens = nil }, ErrVocab, "Tokens: none"},
		{"no merges", gpt2(), func(v *Vocab) { v.Merges = nil }, ErrVocab, "Merges: none"},
		{"types short", gpt2(), func(v *Vocab) { v.Types = v.Types[1:] }, ErrVocab, "257 types for 258 tokens"},
		{"type out of range", gpt2(), func(v *Vocab) { v.Types[3] = 7 }, ErrVocab, "Types[3]: 7"},
		{"type negative", gpt2(), func(v *Vocab) { v.Types[3] = -1 }, ErrVocab, "Types[3]: -1"},
		{"duplicate", gpt2(), func(v *Vocab) { v.Tokens[5] = v.Tokens[4] }, ErrVocab, "the same text as token 4"},
		{"merge of one part", gpt2(), func(v *Vocab) { v.Merges = append(v.Merges, "ab") }, ErrVocab, `Merges[1] "ab"`},
		{"merge of half", gpt2(), func(v *Vocab) { v.Merges = append(v.Merges, "ab ") }, ErrVocab, "want two tokens"},
		{"empty merge", gpt2(), func(v *Vocab) { v.Merges = append(v.Merges, "") }, ErrVocab, "want two tokens"},
		{"merge of a stranger", gpt2(), func(v *Vocab) { v.Merges = append(v.Merges, "xy z") }, ErrVocab, "left part"},
		{"merge with a stranger", gpt2(), func(v *Vocab) { v.Merges = append(v.Merges, "x yz") }, ErrVocab, "right part"},
		{"merge to nothing", gpt2(), func(v *Vocab) { v.Merges = append(v.Merges, "x y") }, ErrVocab, "what it makes"},
		{"merge to control", gpt2(), func(v *Vocab) {
			v.Tokens = append(v.Tokens, "xy")
			v.Types = append(v.Types, TypeControl)
			v.Merges = append(v.Merges, "x y")
		}, ErrVocab, "marks as no text"},
		{"byte token -1", spm(), func(v *Vocab) { v.Tokens[3] = "<0x-1>" }, ErrVocab, `Tokens[3] "<0x-1>"`},
		{"byte token GG", spm(), func(v *Vocab) { v.Tokens[3] = "<0xGG>" }, ErrVocab, "byte token"},
		{"byte token short", spm(), func(v *Vocab) { v.Tokens[3] = "<0x0>" }, ErrVocab, "byte token"},
		{"byte token empty", spm(), func(v *Vocab) { v.Tokens[3] = "" }, ErrVocab, "byte token"},
		{"no scores", spm(), func(v *Vocab) { v.Scores = nil }, ErrVocab, "0 scores for 261 tokens"},
		{"scores short", spm(), func(v *Vocab) { v.Scores = v.Scores[1:] }, ErrVocab, "260 scores for 261 tokens"},
		{"score NaN", spm(), func(v *Vocab) { v.Scores[9] = float32(math.NaN()) }, ErrVocab, "Scores[9]"},
		{"score infinite", spm(), func(v *Vocab) { v.Scores[9] = float32(math.Inf(-1)) }, ErrVocab, "finite"},
		{"BOS outside", spm(), func(v *Vocab) { v.BOS = 261 }, ErrVocab, "BOS: id 261 is outside the vocabulary of 261"},
		{"EOT negative", spm(), func(v *Vocab) { v.EOT = -2 }, ErrVocab, "EOT: id -2"},
		{"BOS wanted, none there", gpt2(), func(v *Vocab) { v.AddBOS = On }, ErrVocab, "AddBOS"},
		{"EOS wanted, none there", gpt2(), func(v *Vocab) { v.AddEOS = On }, ErrVocab, "AddEOS"},
		{"no byte, no unknown", spm(), func(v *Vocab) { v.Tokens[3] = "x"; v.Types[3], v.Types[0] = TypeNormal, TypeNormal }, ErrVocab, "<0x00>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.edit(&c.v)
			_, err := New(c.v)
			var ve *VocabError
			if !errors.Is(err, c.kind) || !errors.As(err, &ve) || !strings.Contains(err.Error(), c.text) || !strings.HasPrefix(err.Error(), "tokenizer: ") {
				t.Fatalf("got %v, want %v that says %q", err, c.kind, c.text)
			}
		})
	}
}

func TestErrorsStayShort(t *testing.T) {
	v := smallBytes("gpt-2", []string{"ab"}, nil, nil)
	v.Tokens[7] = strings.Repeat("z", 1<<20)
	v.Types[7] = TypeByte
	if _, err := New(v); err == nil || len(err.Error()) > 300 {
		t.Fatalf("error of %d bytes", len(err.Error()))
	}
}

// The unknown token stands in for bytes without one.
func TestUnknownStandsIn(t *testing.T) {
	v := smallSPM([]string{"▁", "a"}, nil, nil)
	v.Tokens[3+'z'], v.Types[3+'z'] = "unrelated", TypeNormal
	tok := mustNew(t, v)
	if got := tok.Encode("az", false, false); len(got) != 3 || got[2] != 0 {
		t.Errorf("got %v, want it to end with 0", got)
	}
}

// A byte-level vocabulary lacking bytes says which, and encodes the rest.
func TestMissingBytes(t *testing.T) {
	v := smallBytes("gpt-2", []string{"ab"}, nil, nil)
	v.Tokens[0xF2] = "[unused]"
	v.UNK = 0
	tok := mustNew(t, v)
	if got := tok.MissingBytes(); !slices.Equal(got, []byte{0xF2}) {
		t.Errorf("missing %x", got)
	}
	if got := tok.Encode("x\xF2y", false, false); !slices.Equal(got, []int32{'x', 'y'}) {
		t.Errorf("got %v", got)
	}
}

func TestEOG(t *testing.T) {
	make := func(edit func(*Vocab), names ...string) []string {
		v := smallBytes("qwen2", []string{"ab"}, names, nil)
		if edit != nil {
			edit(&v)
		}
		tok := mustNew(t, v)
		var got []string
		for _, id := range tok.EOG() {
			if !tok.IsEOG(id) {
				t.Errorf("%d is in EOG and IsEOG says no", id)
			}
			got = append(got, tok.Text(id))
		}
		return got
	}
	for _, c := range []struct {
		edit  func(*Vocab)
		names []string
		want  []string
	}{
		{nil, []string{"<|im_start|>", "<|im_end|>", "<|endoftext|>"}, []string{"<|im_end|>", "<|endoftext|>"}},
		{func(v *Vocab) { v.EOS = 257 }, []string{"stop", "<|eot_id|>"}, []string{"stop", "<|eot_id|>"}},
		{func(v *Vocab) { v.EOT = 'x' }, []string{"<|user|>"}, []string{"x"}},
		// Of the names of a fill-in-the-middle role the first counts, and none beside the file's own.
		{nil, []string{"<PAD>", "<|fim_pad|>"}, []string{"<|fim_pad|>"}},
		{func(v *Vocab) { v.FIMPad = 257 }, []string{"<PAD>", "<|fim_pad|>"}, []string{"<PAD>"}},
		// <|end|> ends a generation, but only a message where <|return|> does.
		{nil, []string{"<|end|>"}, []string{"<|end|>"}},
		{nil, []string{"<|end|>", "<|return|>", "<|call|>"}, []string{"<|return|>", "<|call|>"}},
		{nil, []string{"</s>", "<|tool_response>"}, []string{"<|tool_response>"}},
	} {
		if got := make(c.edit, c.names...); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.names, got, c.want)
		}
	}
}

// An end token that a file types as text is a control token by its name.
func TestNamedControl(t *testing.T) {
	v := smallBytes("qwen2", []string{"ab"}, nil, []string{"<|im_end|>", "<keep>"})
	tok := mustNew(t, v)
	end, _ := tok.ID("<|im_end|>")
	keep, _ := tok.ID("<keep>")
	if !tok.IsControl(end) || tok.IsControl(keep) {
		t.Errorf("control: %v, %v", tok.IsControl(end), tok.IsControl(keep))
	}
	if got := tok.Encode("<|im_end|><keep>", false, false); slices.Contains(got, end) || got[len(got)-1] != keep {
		t.Errorf("got %v", got)
	}
}

// With types to be trusted, only an added token ends generations by its name, and it
// stays what it is.
func TestTrustTypes(t *testing.T) {
	v := smallBytes("qwen2", []string{"</s>"}, nil, []string{"<|im_end|>"})
	v.TrustTypes = true
	tok := mustNew(t, v)
	end, _ := tok.ID("<|im_end|>")
	text, _ := tok.ID("</s>")
	if tok.IsControl(end) || tok.IsControl(text) || !tok.IsEOG(end) || tok.IsEOG(text) {
		t.Errorf("control %v, %v; end %v, %v", tok.IsControl(end), tok.IsControl(text), tok.IsEOG(end), tok.IsEOG(text))
	}
}

func TestAddSpecial(t *testing.T) {
	v := smallSPM([]string{"▁", "a", "▁a"}, nil, nil)
	tok := mustNew(t, v)
	a, _ := tok.ID("▁a")
	if got := tok.Encode("a", true, false); !slices.Equal(got, []int32{1, a}) {
		t.Errorf("BOS by default: got %v", got)
	}
	v.AddBOS, v.AddEOS, v.AddSpacePrefix = Off, On, Off
	tok = mustNew(t, v)
	a, _ = tok.ID("a")
	if got := tok.Encode("a", true, false); !slices.Equal(got, []int32{a, 2}) {
		t.Errorf("EOS alone: got %v", got)
	}
	if got := tok.Encode("", true, false); !slices.Equal(got, []int32{2}) {
		t.Errorf("empty text: got %v", got)
	}
}

// New keeps nothing of what it was given.
func TestNewCopies(t *testing.T) {
	v := smallBytes("gpt-2", []string{"ab"}, nil, nil)
	buf := []byte("changes")
	tok := mustNew(t, v)
	before := tok.Encode("ab changes", false, false)
	for i := range v.Tokens {
		v.Tokens[i] = string(buf)
		v.Types[i] = TypeControl
	}
	clear(v.Merges)
	if got := tok.Encode("ab changes", false, false); !slices.Equal(got, before) || tok.Text(0) == string(buf) {
		t.Errorf("got %v, want %v", got, before)
	}
}

func TestConcurrentUse(t *testing.T) {
	for name, tok := range smallTokenizers(t) {
		text := prose(1<<12) + strings.Repeat("abc", 100) + "<tool><|a|>"
		want := tok.Encode(text, true, true)
		decoded := tok.Decode(want, false)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 4 {
					if got := tok.Encode(text, true, true); !slices.Equal(got, want) {
						t.Errorf("%s: tokens differ under concurrency", name)
					}
					if got := tok.Decode(want, false); got != decoded {
						t.Errorf("%s: text differs under concurrency", name)
					}
				}
			})
		}
		wg.Wait()
	}
}
