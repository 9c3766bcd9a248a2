package tokenizer

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
)

// readVocab reads the vocabulary of a GGUF file, gzip-compressed or not.
func readVocab(t testing.TB, path string) Vocab {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vocabOf(g)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// vocabOf maps the tokenizer's keys of a GGUF file to a Vocab.
func vocabOf(f *gguf.File) (v Vocab, err error) {
	v.Specials = NoSpecials()
	var errs []error
	get := func(key string, read func(key string) error) {
		if f.Has(key) {
			if err := read(key); err != nil {
				errs = append(errs, err)
			}
		}
	}
	str := func(key string, to *string) {
		get(key, func(key string) (err error) { *to, err = f.String(key); return })
	}
	id := func(key string, to *int32) {
		get("tokenizer.ggml."+key+"_token_id", func(key string) (err error) { *to, err = f.Int32(key); return })
	}
	flag := func(key string, to *Setting) {
		get("tokenizer.ggml."+key, func(key string) error {
			b, err := f.Bool(key)
			*to = Set(b)
			return err
		})
	}
	str("tokenizer.ggml.model", &v.Model)
	str("tokenizer.ggml.pre", &v.Pre)
	str("general.name", &v.Name)
	get("tokenizer.ggml.tokens", func(key string) (err error) { v.Tokens, err = f.Strings(key); return })
	get("tokenizer.ggml.scores", func(key string) (err error) { v.Scores, err = f.Float32s(key); return })
	get("tokenizer.ggml.token_type", func(key string) (err error) { v.Types, err = f.Ints(key); return })
	get("tokenizer.ggml.merges", func(key string) (err error) { v.Merges, err = f.Strings(key); return })
	id("bos", &v.BOS)
	id("eos", &v.EOS)
	id("eot", &v.EOT)
	id("eom", &v.EOM)
	id("unknown", &v.UNK)
	id("seperator", &v.SEP)
	id("padding", &v.PAD)
	id("mask", &v.Mask)
	id("fim_pad", &v.FIMPad)
	id("fim_rep", &v.FIMRep)
	id("fim_sep", &v.FIMSep)
	flag("add_bos_token", &v.AddBOS)
	flag("add_eos_token", &v.AddEOS)
	flag("add_space_prefix", &v.AddSpacePrefix)
	flag("treat_whitespace_as_suffix", &v.SpaceSuffix)
	flag("remove_extra_whitespaces", &v.MergeSpaces)
	get("tokenizer.ggml.precompiled_charsmap", func(key string) error {
		list, err := f.Ints(key)
		for _, x := range list {
			v.Charsmap = append(v.Charsmap, byte(x))
		}
		return err
	})
	return v, errors.Join(errs...)
}
