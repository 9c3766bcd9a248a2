package vocab

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/tokenizer"
)

// small are the files of testdata: each a small tokenizer.json of a kind of its own,
// with what the library that such files are made for, release 0.23.2, makes of texts.
func small(t testing.TB) (names []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files in testdata (%v)", len(files), err)
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f, "l"))
	}
	return names
}

func load(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func open(t testing.TB, data []byte) *tokenizer.Tokenizer {
	t.Helper()
	v, err := FromJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.New(v)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestSmallFiles(t *testing.T) {
	for _, path := range small(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			tok := open(t, load(t, path))
			passed, present := 0, 0
			equal := func(what, text string, got, want any, ok bool) {
				t.Helper()
				present++
				if ok {
					passed++
				} else {
					t.Errorf("%s of %+q:\n got %+q\nwant %+q", what, text, got, want)
				}
			}
			for line := range bytes.Lines(load(t, path+"l")) {
				var r struct {
					Text        *string
					IDs         []int32 `json:"ids"`
					Special     []int32 `json:"ids_special"`
					Decoded     string
					DecodedSkip string `json:"decoded_skip"`
				}
				if err := json.Unmarshal(line, &r); err != nil {
					t.Fatal(err)
				}
				text, back := "", r.IDs
				if r.Text != nil {
					text, back = *r.Text, r.Special
					got := tok.Encode(text, false, true)
					equal("ids", text, got, r.IDs, slices.Equal(got, r.IDs))
					got = tok.Encode(text, true, true)
					equal("ids_special", text, got, r.Special, slices.Equal(got, r.Special))
				}
				got := tok.Decode(r.IDs, false)
				equal("decoded", text, got, r.Decoded, got == r.Decoded)
				got = tok.Decode(back, true)
				equal("decoded_skip", text, got, r.DecodedSkip, got == r.DecodedSkip)
			}
			t.Logf("%d of %d rows passed", passed, present)
		})
	}
}
