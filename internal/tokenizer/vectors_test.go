package tokenizer

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/paddock-go/paddock/internal/golden"
)

// qwen3Vocab reads the vocabulary that a tokenizer.json of the byte-level kind holds.
func qwen3Vocab(t *testing.T, path string) Vocab {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		AddedTokens []struct {
			ID      int32
			Content string
			Special bool
		} `json:"added_tokens"`
		Model struct {
			Vocab  map[string]int32
			Merges [][2]string
		}
	}
	if err := json.NewDecoder(z).Decode(&file); err != nil {
		t.Fatal(err)
	}
	v := Vocab{Model: "gpt2", Pre: "qwen2", Specials: NoSpecials(), TrustTypes: true}
	n := len(file.Model.Vocab) + len(file.AddedTokens)
	v.Tokens, v.Types = make([]string, n), make([]int32, n)
	for text, id := range file.Model.Vocab {
		v.Tokens[id], v.Types[id] = text, TypeNormal
	}
	for _, a := range file.AddedTokens {
		v.Tokens[a.ID], v.Types[a.ID] = a.Content, TypeUserDefined
		if a.Special {
			v.Types[a.ID] = TypeControl
		}
	}
	for _, m := range file.Model.Merges {
		v.Merges = append(v.Merges, m[0]+" "+m[1])
	}
	return v
}

// The vectors of a second, unrelated reference through the same vocabulary: they ask
// for what the first one's do not, added tokens of both kinds and torn decoding.
func TestQwen3Vectors(t *testing.T) {
	dir := filepath.Join(golden.Dir(t), "tokenizers", "qwen3")
	tok := mustNew(t, qwen3Vocab(t, filepath.Join(dir, "tokenizer.json.gz")))
	type row struct {
		ID, Text     string
		IDs          []int32 `json:"ids"`
		IDsNospecial []int32 `json:"ids_nospecial"`
		IDsSpecial   []int32 `json:"ids_special"`
		Decoded      string
		DecodedSkip  string `json:"decoded_skip"`
	}
	read := func(name string) (rows []row) {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		s := bufio.NewScanner(f)
		s.Buffer(nil, 1<<24)
		for s.Scan() {
			var r row
			if err := json.Unmarshal(s.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, r)
		}
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
		return rows
	}
	c := &tally{t: t}
	normalised := 0
	for _, r := range read("vectors.jsonl") {
		if r.Decoded != r.Text {
			// The reference normalises to NFC first, which a GGUF file can't ask for.
			normalised++
			continue
		}
		c.equal("ids "+r.ID, r.Text, tok.Encode(r.Text, false, true), r.IDs)
		c.equal("ids_special "+r.ID, r.Text, tok.Encode(r.Text, true, true), r.IDsSpecial)
		c.equal("ids_nospecial "+r.ID, r.Text, tok.Encode(r.Text, false, false), r.IDsNospecial)
		c.equal("decoded "+r.ID, r.Text, tok.Decode(r.IDs, false), r.Decoded)
		c.equal("decoded_skip "+r.ID, r.Text, tok.Decode(r.IDs, true), r.DecodedSkip)
	}
	for _, r := range read("decode.jsonl") {
		c.equal("decoded "+r.ID, "", tok.Decode(r.IDs, false), r.Decoded)
		c.equal("decoded_skip "+r.ID, "", tok.Decode(r.IDs, true), r.DecodedSkip)
		c.equal("streamed "+r.ID, "", streamed(tok, r.IDs, false), r.Decoded)
	}
	t.Logf("qwen3: %d of %d passed; %d texts need NFC", c.passed, c.present, normalised)
}
