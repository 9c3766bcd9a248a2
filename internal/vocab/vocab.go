// Package vocab reads a tokenizer's vocabulary and the chat template from the
// metadata of a GGUF file.
package vocab

import (
	"errors"
	"strconv"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/tokenizer"
)

// ErrNone says that a file has no tokenizer.
var ErrNone = errors.New("vocab: the file has no tokenizer (key tokenizer.ggml.model)")

// templateKey is where a file keeps its chat template.
const templateKey = "tokenizer.chat_template"

// FromGGUF reads the vocabulary of f: ErrNone where there is none, else an error
// of the reader that names the key. Safe for concurrent use.
func FromGGUF(f *gguf.File) (tokenizer.Vocab, error) {
	if !f.Has("tokenizer.ggml.model") {
		return tokenizer.Vocab{}, ErrNone
	}
	r := reader{f: f}
	v := tokenizer.Vocab{Specials: tokenizer.NoSpecials()}
	v.Model = read(&r, "tokenizer.ggml.model", f.String)
	v.Pre = read(&r, "tokenizer.ggml.pre", f.String)
	v.Name = read(&r, "general.name", f.String)
	v.Tokens = read(&r, "tokenizer.ggml.tokens", f.Strings)
	v.Scores = read(&r, "tokenizer.ggml.scores", f.Float32s)
	v.Types = read(&r, "tokenizer.ggml.token_type", f.Ints)
	v.Merges = read(&r, "tokenizer.ggml.merges", f.Strings)
	for _, s := range []struct {
		key string
		id  *int32
	}{
		{"bos_token_id", &v.BOS}, {"eos_token_id", &v.EOS}, {"eot_token_id", &v.EOT}, {"eom_token_id", &v.EOM},
		{"unknown_token_id", &v.UNK}, {"seperator_token_id", &v.SEP}, {"padding_token_id", &v.PAD}, {"mask_token_id", &v.Mask},
		{"fim_pad_token_id", &v.FIMPad}, {"fim_rep_token_id", &v.FIMRep}, {"fim_sep_token_id", &v.FIMSep},
	} {
		r.id("tokenizer.ggml."+s.key, s.id, len(v.Tokens))
	}
	if v.BOS < 0 {
		r.id("tokenizer.ggml.cls_token_id", &v.BOS, len(v.Tokens)) // what encoders begin with
	}
	for _, s := range []struct {
		key string
		to  *tokenizer.Setting
	}{
		{"add_bos_token", &v.AddBOS}, {"add_eos_token", &v.AddEOS}, {"add_space_prefix", &v.AddSpacePrefix},
		{"treat_whitespace_as_suffix", &v.SpaceSuffix}, {"remove_extra_whitespaces", &v.MergeSpaces},
		{"normalizer.lowercase", &v.Lowercase}, {"normalizer.strip_accents", &v.StripAccents},
	} {
		if key := "tokenizer.ggml." + s.key; f.Has(key) {
			*s.to = tokenizer.Set(read(&r, key, f.Bool))
		}
	}
	const charsmap = "tokenizer.ggml.precompiled_charsmap"
	for i, x := range read(&r, charsmap, f.Ints) {
		if x < -128 || x > 255 {
			r.err = &gguf.FormatError{Err: gguf.ErrInvalid, What: "byte", Name: charsmap, Text: strconv.Itoa(i), Bound: 256, Detail: "must fit 8 bits,"}
			break
		}
		v.Charsmap = append(v.Charsmap, byte(x))
	}
	if r.err != nil {
		return tokenizer.Vocab{}, r.err
	}
	return v, nil
}

// Template returns the file's chat template, "" where it has none.
func Template(f *gguf.File) (string, error) {
	if !f.Has(templateKey) {
		return "", nil
	}
	return f.String(templateKey)
}

// reader keeps the first error, so that the list of keys above reads as one.
type reader struct {
	f   *gguf.File
	err error
}

// read reads a key that may be absent.
func read[T any](r *reader, key string, get func(string) (T, error)) T {
	var v T
	if r.err == nil && r.f.Has(key) {
		v, r.err = get(key)
	}
	return v
}

// id reads the id of a token with a role. Files say -1 or 2^32-1 for none.
func (r *reader) id(key string, to *int32, tokens int) {
	if r.err != nil || !r.f.Has(key) {
		return
	}
	id, err := r.f.Int32(key)
	if err != nil {
		if u, uerr := r.f.Uint32(key); uerr == nil && u == 1<<32-1 {
			return
		}
		r.err = err
		return
	}
	if id < -1 || int(id) >= tokens {
		r.err = &gguf.FormatError{Err: gguf.ErrInvalid, What: "token id", Name: key, Text: strconv.Itoa(int(id)), Bound: uint64(tokens), Detail: "must be below the number of tokens,"}
		return
	}
	*to = id
}
