package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
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

// TestGoldenTokenizers holds every tokenizer.json against the vectors of another
// library, through the door. The table says rows passed of rows present.
func TestGoldenTokenizers(t *testing.T) {
	dir := filepath.Join(golden.Dir(t), "tokenizers")
	folders, err := filepath.Glob(filepath.Join(dir, "*", "source.json"))
	if err != nil || len(folders) != len(tokenizers) {
		t.Fatalf("%d tokenizers present, %d listed here (%v)", len(folders), len(tokenizers), err)
	}
	for _, name := range tokenizers {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "tokenizer.json")
			if err := os.WriteFile(file, golden.TokenizerJSON(t, name), 0o600); err != nil {
				t.Fatal(err)
			}
			d := openDoor(t)
			passed, present := 0, 0
			encode := func(v vector, add, parse bool, want []int32) {
				var got struct{ IDs []int32 }
				present++
				if msg := d.ask(map[string]any{"op": "tokenize", "model": file, "text": v.Text, "add_special": add, "parse_special": parse}, &got); msg != "" {
					t.Fatal(msg)
				}
				if !slices.Equal(got.IDs, want) {
					t.Errorf("%s: %q (add %v, parse %v):\n got %v\nwant %v", v.ID, v.Text, add, parse, got.IDs, want)
					return
				}
				passed++
			}
			decode := func(v vector, ids []int32, skip bool, want string) {
				var got struct{ Text string }
				present++
				if msg := d.ask(map[string]any{"op": "detokenize", "model": file, "ids": ids, "skip_special": skip}, &got); msg != "" {
					t.Fatal(msg)
				}
				if got.Text != want {
					t.Errorf("%s: %v (skip %v):\n got %q\nwant %q", v.ID, ids, skip, got.Text, want)
					return
				}
				passed++
			}
			for _, v := range readVectors(t, filepath.Join(dir, name, "vectors.jsonl")) {
				encode(v, false, true, v.IDs)
				encode(v, true, true, v.Special)
				encode(v, false, false, v.NoSpecial)
				decode(v, v.IDs, false, v.Decoded)
				decode(v, v.Special, true, v.DecodedSkip)
			}
			for _, v := range readVectors(t, filepath.Join(dir, name, "decode.jsonl")) {
				decode(v, v.IDs, false, v.Decoded)
				decode(v, v.IDs, true, v.DecodedSkip)
			}
			t.Logf("%-12s %d of %d rows passed", name, passed, present)
		})
	}
}
