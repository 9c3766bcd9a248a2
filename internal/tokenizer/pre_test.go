package tokenizer

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/golden"
)

// TestPreTokenizersAgainstPeer: pre-tokenizers that no vocabulary of the golden data
// names, put into one of them. testdata/pre.jsonl has what the engine that made the
// golden data, of the same release, makes of texts with the qwen2 vocabulary whose
// file was told another name.
func TestPreTokenizersAgainstPeer(t *testing.T) {
	v := readVocab(t, filepath.Join(golden.Dir(t), "vocab", "ggml-vocab-qwen2.gguf.gz"))
	b, err := os.ReadFile("testdata/pre.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var tok *Tokenizer
	passed, present := 0, 0
	for line := range bytes.Lines(b) {
		var r struct {
			Pre, Text string
			IDs       []int32
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if v.Pre != r.Pre {
			v.Pre, v.AddBOS = r.Pre, Off
			tok = mustNew(t, v)
		}
		present++
		if got := tok.Encode(r.Text, false, false); slices.Equal(got, r.IDs) {
			passed++
		} else {
			t.Errorf("%s: %+q:\n got %v\nwant %v", r.Pre, r.Text, got, r.IDs)
		}
	}
	if present < 500 {
		t.Errorf("only %d rows found", present)
	}
	t.Logf("%d of %d rows passed", passed, present)
}
