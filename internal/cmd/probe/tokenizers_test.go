package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/golden"
)

// tokenizers are the folders of golden tokenizers: all must pass whole.
var tokenizers = []string{"deepseek_v3", "gemma3", "gpt4o", "gptoss", "llama2", "llama3", "llama3_1", "qwen3"}

// vector is a line of vectors.jsonl or decode.jsonl.
type vector struct {
	ID          string  `json:"id"`
	Text        string  `json:"text"`
	IDs         []int32 `json:"ids"`
	Special     []int32 `json:"ids_special"`
	NoSpecial   []int32 `json:"ids_nospecial"`
	Decoded     string  `json:"decoded"`
	DecodedSkip string  `json:"decoded_skip"`
}

func readVectors(t testing.TB, path string) (list []vector) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var v vector
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// vocabRows counts what passed of what is present, all of it asked for through the door.
type vocabRows struct {
	d               *door
	model           string
	passed, present int
}

func (r *vocabRows) encode(text string, add, parse bool, want []int32) {
	r.d.t.Helper()
	var got struct{ IDs []int32 }
	r.present++
	if msg := r.d.ask(map[string]any{"op": "tokenize", "model": r.model, "text": text, "add_special": add, "parse_special": parse}, &got); msg != "" {
		r.d.t.Fatal(msg)
	}
	if !slices.Equal(got.IDs, want) {
		r.d.t.Errorf("%q (add %v, parse %v):\n got %v\nwant %v", text, add, parse, got.IDs, want)
		return
	}
	r.passed++
}

func (r *vocabRows) decode(ids []int32, skip bool, want string) {
	r.d.t.Helper()
	var got struct{ Text string }
	r.present++
	if msg := r.d.ask(map[string]any{"op": "detokenize", "model": r.model, "ids": ids, "skip_special": skip}, &got); msg != "" {
		r.d.t.Fatal(msg)
	}
	if got.Text != want {
		r.d.t.Errorf("%v (skip %v):\n got %q\nwant %q", ids, skip, got.Text, want)
		return
	}
	r.passed++
}

// vocabularies are those of the golden data: all must pass whole.
var vocabularies = []string{
	"llama-spm", "phi-3", "llama-bpe", "gpt-2", "mpt", "falcon", "starcoder", "refact", "qwen2", "qwen35", "deepseek-llm", "deepseek-coder",
	"gemma-4", "bert-bge", "nomic-bert-moe", "tiny-llama", "tiny-qwen2", "tiny-bert",
}

// some is all of a list, or every fourth where tests are to be short, as under the race
// detector, which slows the reading of these files down many times.
func some(list []string) []string {
	if !testing.Short() {
		return list
	}
	var few []string
	for i := 0; i < len(list); i += 4 {
		few = append(few, list[i])
	}
	return few
}

// TestGoldenVocabularies holds every vocabulary of a GGUF file against its vectors. The
// table says rows passed of rows present.
func TestGoldenVocabularies(t *testing.T) {
	dir := golden.Dir(t)
	cases, err := filepath.Glob(filepath.Join(dir, "vocab", "cases", "*.json"))
	if err != nil || len(cases) != len(vocabularies) {
		t.Fatalf("%d vocabularies present, %d listed here (%v)", len(cases), len(vocabularies), err)
	}
	for _, name := range some(vocabularies) {
		t.Run(name, func(t *testing.T) {
			model := filepath.Join(dir, "models", strings.TrimPrefix(name, "tiny-")+".gguf")
			if !strings.HasPrefix(name, "tiny-") {
				model = filepath.Join(t.TempDir(), name+".gguf")
				gunzip(t, filepath.Join(dir, "vocab", "ggml-vocab-"+name+".gguf.gz"), model)
			}
			r := &vocabRows{d: openDoor(t), model: model}
			var f struct {
				Cases []struct {
					Text    string  `json:"text"`
					IDs     []int32 `json:"ids"`
					Special []int32 `json:"ids_add_special"`
					Parsed  []int32 `json:"ids_parse_special"`
					Detok   string  `json:"detok"`
				} `json:"cases"`
			}
			readJSON(t, filepath.Join(dir, "vocab", "cases", name+".json"), &f)
			if len(f.Cases) == 0 {
				t.Fatal("no cases")
			}
			for _, c := range f.Cases {
				r.encode(c.Text, false, false, c.IDs)
				r.encode(c.Text, true, false, c.Special)
				r.encode(c.Text, false, true, c.Parsed)
				r.decode(c.IDs, false, c.Detok)
			}
			t.Logf("%-14s %d of %d rows passed", name, r.passed, r.present)
		})
	}
}

// TestGoldenTokenizers holds every tokenizer.json against the vectors of another
// library, through the door. The table says rows passed of rows present.
func TestGoldenTokenizers(t *testing.T) {
	dir := filepath.Join(golden.Dir(t), "tokenizers")
	folders, err := filepath.Glob(filepath.Join(dir, "*", "source.json"))
	if err != nil || len(folders) != len(tokenizers) {
		t.Fatalf("%d tokenizers present, %d listed here (%v)", len(folders), len(tokenizers), err)
	}
	for _, name := range some(tokenizers) {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "tokenizer.json")
			if err := os.WriteFile(file, golden.TokenizerJSON(t, name), 0o600); err != nil {
				t.Fatal(err)
			}
			r := &vocabRows{d: openDoor(t), model: file}
			for _, v := range readVectors(t, filepath.Join(dir, name, "vectors.jsonl")) {
				r.encode(v.Text, false, true, v.IDs)
				r.encode(v.Text, true, true, v.Special)
				r.encode(v.Text, false, false, v.NoSpecial)
				r.decode(v.IDs, false, v.Decoded)
				r.decode(v.Special, true, v.DecodedSkip)
			}
			for _, v := range readVectors(t, filepath.Join(dir, name, "decode.jsonl")) {
				r.decode(v.IDs, false, v.Decoded)
				r.decode(v.IDs, true, v.DecodedSkip)
			}
			t.Logf("%-14s %d of %d rows passed", name, r.passed, r.present)
		})
	}
}
