package golden

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TokenizerJSON returns the tokenizer.json of a folder of the golden tokenizers, held
// against its sum: the folder's own, or, where its licence keeps it out, the one that
// .ci/tokenizers fetched into the folder that the variable PADDOCK_TOKENIZERS names
// (without it: paddock/tokenizers in the user's cache). Where it is not there the test
// is skipped, or fails as with Dir. Safe for concurrent use.
func TokenizerJSON(t testing.TB, name string) []byte {
	t.Helper()
	data, ok := tokenizerFile(t, name, "tokenizer.json")
	if !ok {
		t.Skipf("%s is not there (run .ci/tokenizers): skipped", name)
	}
	return data
}

// FetchedTemplate returns the chat template that stands in the tokenizer_config.json
// of a folder of the golden tokenizers, found as TokenizerJSON finds its file. ok is
// false where it was not fetched; where it has to be there the test fails. Safe for
// concurrent use.
func FetchedTemplate(t testing.TB, name string) (source string, ok bool) {
	t.Helper()
	data, ok := tokenizerFile(t, name, "tokenizer_config.json")
	if !ok {
		return "", false
	}
	var config struct {
		Template string `json:"chat_template"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return config.Template, true
}

// tokenizerFile reads a file of a golden tokenizer; ok is false where it was not
// fetched and need not be there.
func tokenizerFile(t testing.TB, name, file string) (data []byte, ok bool) {
	t.Helper()
	dir := filepath.Join(Dir(t), "tokenizers", name)
	var source struct {
		Sums   map[string]string `json:"sha256"`
		Stored bool              `json:"stored_here"`
	}
	b, err := os.ReadFile(filepath.Join(dir, "source.json"))
	if err == nil {
		err = json.Unmarshal(b, &source)
	}
	if err != nil {
		t.Fatal(err)
	}
	if source.Stored {
		data, err = gunzip(filepath.Join(dir, file+".gz"))
	} else {
		fetched := os.Getenv("PADDOCK_TOKENIZERS")
		if fetched == "" {
			cache, err := os.UserCacheDir()
			if err != nil {
				t.Fatal(err)
			}
			fetched = filepath.Join(cache, "paddock", "tokenizers")
		}
		data, err = os.ReadFile(filepath.Join(fetched, name, file))
		if os.IsNotExist(err) && os.Getenv("PADDOCK_GOLDEN") != "required" {
			return nil, false
		}
	}
	if err != nil {
		t.Fatalf("%s: %v (run .ci/tokenizers)", name, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != source.Sums[file] {
		t.Fatalf("%s: sha256 of %s is %x, must be %s", name, file, sum, source.Sums[file])
	}
	return data, true
}

func gunzip(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return io.ReadAll(z)
}
