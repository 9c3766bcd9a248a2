package tokenizer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/golden"
)

// goldenVocabs are the vocabularies of the golden data that must pass whole.
var goldenVocabs = []struct {
	name string
	file string // beside the golden folder's root; "": the vocabulary file of that name
}{
	{name: "llama-spm"},
	{name: "phi-3"},
	{name: "llama-bpe"},
	{name: "gpt-2"},
	{name: "qwen2"},
	{name: "qwen35"},
	{name: "mpt"},
	{name: "starcoder"},
	{name: "refact"},
	{name: "falcon"},
	{name: "gemma-4"},
	{name: "deepseek-coder"},
	{name: "deepseek-llm"},
	{name: "tiny-llama", file: "models/llama.gguf"},
	{name: "tiny-qwen2", file: "models/qwen2.gguf"},
	{name: "bert-bge"},
	{name: "nomic-bert-moe"},
	{name: "tiny-bert", file: "models/bert.gguf"},
}

type goldenCases struct {
	NVocab int   `json:"n_vocab"`
	BOS    int32 `json:"bos"`
	EOS    int32 `json:"eos"`
	AddBOS int   `json:"add_bos"`
	AddEOS int   `json:"add_eos"`
	Cases  []struct {
		Text       string
		IDs        []int32
		IDsSpecial []int32 `json:"ids_add_special"`
		IDsParse   []int32 `json:"ids_parse_special"`
		Detok      string
	}
}

func goldenTokenizer(t testing.TB, dir, name, file string) *Tokenizer {
	t.Helper()
	if file == "" {
		file = "vocab/ggml-vocab-" + name + ".gguf.gz"
	}
	tok, err := New(readVocab(t, filepath.Join(dir, file)))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// tally counts what passed, so that the log shows it against what is present.
type tally struct {
	t               *testing.T
	passed, present int
}

func (c *tally) equal(what, text string, got, want any) {
	c.t.Helper()
	c.present++
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		c.t.Errorf("%s of %q:\n got %s\nwant %s", what, text, g, w)
		return
	}
	c.passed++
}

func TestGolden(t *testing.T) {
	dir := golden.Dir(t)
	for _, g := range goldenVocabs {
		t.Run(g.name, func(t *testing.T) {
			tok := goldenTokenizer(t, dir, g.name, g.file)
			c := &tally{t: t}
			shippedVectors(c, tok, filepath.Join(dir, "vocab", "ggml-vocab-"+g.name+".gguf"))
			ownCases(c, tok, filepath.Join(dir, "vocab", "cases", g.name+".json"))
			t.Logf("%s: %d of %d passed", g.name, c.passed, c.present)
		})
	}
}

// shippedVectors compares the vectors that come with a vocabulary, where there are any.
func shippedVectors(c *tally, tok *Tokenizer, base string) {
	in, err := os.ReadFile(base + ".inp")
	if os.IsNotExist(err) {
		return
	}
	out, err := os.ReadFile(base + ".out")
	if err != nil {
		c.t.Fatal(err)
	}
	texts := strings.Split(string(in), "\n__ggml_vocab_test__\n")
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(texts) < len(lines) {
		c.t.Fatalf("%d inputs for %d lines of output", len(texts), len(lines))
	}
	for i, line := range lines {
		want := []int32{}
		for f := range strings.FieldsSeq(line) {
			id, err := strconv.Atoi(f)
			if err != nil {
				c.t.Fatal(err)
			}
			want = append(want, int32(id))
		}
		c.equal("ids", texts[i], tok.Encode(texts[i], false, false), want)
	}
}

func ownCases(c *tally, tok *Tokenizer, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	var g goldenCases
	if err := json.Unmarshal(data, &g); err != nil {
		c.t.Fatal(err)
	}
	sp := tok.Specials()
	c.equal("facts", "vocabulary",
		[]any{tok.VocabSize(), sp.BOS, sp.EOS, tok.AddsBOS(), tok.AddsEOS()},
		[]any{g.NVocab, g.BOS, g.EOS, g.AddBOS == 1, g.AddEOS == 1})
	for _, x := range g.Cases {
		ids := tok.Encode(x.Text, false, false)
		c.equal("ids", x.Text, ids, x.IDs)
		c.equal("ids_add_special", x.Text, tok.Encode(x.Text, true, false), x.IDsSpecial)
		c.equal("ids_parse_special", x.Text, tok.Encode(x.Text, false, true), x.IDsParse)
		c.equal("detok", x.Text, tok.Decode(x.IDs, false), x.Detok)
		if !tok.clean { // what a whole text is cleaned of, a stream can't be
			c.equal("stream", x.Text, streamed(tok, x.IDs, false), x.Detok)
		}
		if !slices.Equal(ids, tok.AppendEncode([]int32{7}, x.Text, false, false)[1:]) {
			c.t.Errorf("AppendEncode of %q differs from Encode", x.Text)
		}
	}
}

// streamed decodes through a Detokenizer, id by id.
func streamed(tok *Tokenizer, ids []int32, skip bool) string {
	var b strings.Builder
	d := tok.Detokenizer(skip, false)
	for _, id := range ids {
		b.Write(d.Push(id))
	}
	b.Write(d.Flush())
	return b.String()
}
